// The time of the database, which may differ from the browser's, once per second.
import { useEffect, useState } from "./html.js";

let ahead = 0; // milliseconds by which the clock of the database is ahead of the browser's
const listeners = new Set();
let timer = null;

const now = () => Date.now() + ahead;

/** Learn the time of the database from an answer. */
export function syncClock(nowAt) {
  const off = nowAt - Date.now();
  if (Math.abs(off - ahead) > 1_500) ahead = off; // smaller differences are network delay
}

export function useNow() {
  const [at, setAt] = useState(now);
  useEffect(() => {
    const tick = () => setAt(now());
    listeners.add(tick);
    timer ??= setInterval(() => listeners.forEach((listener) => listener()), 1_000);
    return () => {
      listeners.delete(tick);
      if (listeners.size === 0) timer = clearInterval(timer) ?? null;
    };
  }, []);
  return Math.max(at, now() - 1_000);
}
