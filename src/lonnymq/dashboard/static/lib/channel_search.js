// Channels as the server pages them; a search for names goes on by itself while the server has looked at only some.
import { useEffect, useState } from "./html.js";
import { get, queuePath } from "./api.js";
import { heard } from "./clock.js";

const ROUNDS = 12; // of 10,000 names each; who wants to look further asks for the next page

/** `{data, error, looking}`; `data.channels` grows while `looking`. */
export function useChannelSearch(queue, query, beat) {
  const key = JSON.stringify([queue, query]);
  const [held, setHeld] = useState({ key: null, data: null, error: null, looking: true });
  const goesOn = Boolean(query.search); // what was searched for is not searched for again with every event
  useEffect(() => {
    const abort = new AbortController();
    const keep = (next) => setHeld((before) => ({ key, data: before.key === key ? before.data : null, error: null, ...next }));
    (async () => {
      let found = null;
      let cursor = query.cursor;
      for (let round = 0; round < ROUNDS; round += 1) {
        const data = await get(queuePath(queue, "channels"), { ...query, cursor }, abort.signal);
        heard(data.now_at);
        found = { ...data, channels: [...(found?.channels ?? []), ...data.channels], searched: (found?.searched ?? 0) + (data.searched ?? 0) };
        const enough = data.complete || !data.next || found.channels.length >= query.limit;
        if (enough || round) keep({ data: found, looking: !enough });
        if (enough) return;
        cursor = data.next;
      }
      keep({ data: found, looking: false });
    })().catch((error) => error.name !== "AbortError" && keep({ error, looking: false }));
    return () => abort.abort();
  }, [key, goesOn ? 0 : beat]);
  return held.key === key ? held : { key, data: null, error: null, looking: true };
}
