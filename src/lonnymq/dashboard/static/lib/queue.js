// The queue that the page shows, and hooks that fetch documents of the API and keep them while they reload.
import { createContext, useCallback, useContext, useEffect, useRef, useState } from "./html.js";
import { getJson, queuePath } from "./api.js";
import { syncClock } from "./clock.js";

/** `{data, error, reload}` of a GET, fetched again when path, query or `beat` change. Without a path nothing is fetched. */
export function useResource(path, query = {}, beat = 0) {
  const key = path === null ? null : JSON.stringify([path, query]);
  const [held, setHeld] = useState({ key: null, data: null, error: null });
  const [wanted, setWanted] = useState(0);
  const busy = useRef(null);

  useEffect(() => {
    if (key === null) return;
    if (busy.current?.key === key) { // one request at a time, then the next
      busy.current.again = true;
      return;
    }
    busy.current?.abort.abort();
    const mine = { key, abort: new AbortController(), again: false };
    busy.current = mine;
    const settle = (next) => {
      if (busy.current !== mine) return;
      busy.current = null;
      setHeld((before) => ({ key, data: before.key === key ? before.data : null, error: null, ...next }));
      if (mine.again) setWanted((n) => n + 1);
    };
    getJson(path, query, mine.abort.signal).then(
      (data) => {
        if (data.now_at) syncClock(data.now_at);
        settle({ data });
      },
      (error) => error.name !== "AbortError" && settle(error.status === 404 ? { error, data: null } : { error }),
    );
  }, [key, beat, wanted]);
  useEffect(() => () => busy.current?.abort.abort(), []);

  const reload = useCallback(() => setWanted((n) => n + 1), []);
  return held.key === key ? { ...held, reload } : { key, data: null, error: null, reload };
}

export const QueueContext = createContext(null);
export const useQueue = () => useContext(QueueContext);

/** A document of the current queue, fetched again with every `every`-th live event. */
export function useQueueResource(path, query = {}, { every = 1 } = {}) {
  const { queue, beat } = useQueue();
  return useResource(path === null ? null : queuePath(queue, path), query, Math.floor(beat / every)); // Infinity: never again
}
