// What a view fetches: kept while it is fetched again, so that a page never flickers; the last answer wins.
import { useCallback, useEffect, useRef, useState } from "./html.js";
import { get } from "./api.js";
import { heard } from "./clock.js";

/** `{data, error, reload}` of a GET; fetched again when path, query or `beat` change. `null` as path: nothing yet. */
export function useResource(path, query = {}, beat = 0) {
  const key = path === null ? null : JSON.stringify([path, query]);
  const [held, setHeld] = useState({ key: null, data: null, error: null });
  const [wanted, setWanted] = useState(0);
  const busy = useRef(null);

  useEffect(() => {
    if (key === null) return;
    if (busy.current?.key === key) { // one at a time; what changed meanwhile is fetched when it is there
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
    get(path, query, mine.abort.signal).then(
      (data) => {
        if (data.now_at) heard(data.now_at);
        settle({ data });
      },
      (error) => error.name !== "AbortError" && settle(error.status === 404 ? { error, data: null } : { error }),
    );
  }, [key, beat, wanted]);
  useEffect(() => () => busy.current?.abort.abort(), []);

  const reload = useCallback(() => setWanted((n) => n + 1), []);
  return held.key === key ? { ...held, reload } : { key, data: null, error: null, reload };
}
