// Pages of channels from the server. A search by name continues while the server has searched only some names.
import { useEffect, useState } from "./html.js";
import { getJson, queuePath } from "./api.js";
import { syncClock } from "./clock.js";

const ROUNDS = 12; // of 10,000 names each, then the next page continues

/** `{data, error, searching}`: `data.channels` grows while `searching`. */
export function useChannelSearch(queue, query, beat) {
  const key = JSON.stringify([queue, query]);
  const [held, setHeld] = useState({ key: null, data: null, error: null, searching: true });
  const isSearch = Boolean(query.search); // live events do not repeat a search
  useEffect(() => {
    const abort = new AbortController();
    const keep = (next) => setHeld((before) => ({ key, data: before.key === key ? before.data : null, error: null, ...next }));
    (async () => {
      let found = null;
      let cursor = query.cursor;
      for (let round = 0; round < ROUNDS; round += 1) {
        const data = await getJson(queuePath(queue, "channels"), { ...query, cursor }, abort.signal);
        syncClock(data.now_at);
        found = { ...data, channels: [...(found?.channels ?? []), ...data.channels], searched: (found?.searched ?? 0) + (data.searched ?? 0) };
        const enough = data.complete || !data.next || found.channels.length >= query.limit;
        if (enough || round) keep({ data: found, searching: !enough });
        if (enough) return;
        cursor = data.next;
      }
      keep({ data: found, searching: false });
    })().catch((error) => error.name !== "AbortError" && keep({ error, searching: false }));
    return () => abort.abort();
  }, [key, isSearch ? 0 : beat]);
  return held.key === key ? held : { key, data: null, error: null, searching: true };
}

// The server ranks channels by estimates and then counts those of a page: within a page the counts decide.
const SORT_KEYS = {
  waiting: (row) => -row.waiting.value,
  running: (row) => -row.running,
  oldest: (row) => row.oldest_at ?? Infinity,
  rate: (row) => -(row.out_per_s ?? 0),
  failing: (row) => -(row.recent_failed ?? 0),
  dead: (row) => -row.dead.value,
};

export function sortChannels(channels, sort) {
  const by = SORT_KEYS[sort];
  return by ? [...channels].sort((a, b) => by(a) - by(b) || 0) : channels;
}
