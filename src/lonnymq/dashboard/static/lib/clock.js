// What time it is: by the database, whose clock may differ from the reader's, once a second for all that ticks.
import { useEffect, useState } from "./html.js";

let ahead = 0; // how far the database's clock is ahead of ours
const listeners = new Set();
let timer = null;

export const now = () => Date.now() + ahead;

/** Told by whatever answer says what the database's time is. */
export function heard(nowAt) {
  const off = nowAt - Date.now();
  if (Math.abs(off - ahead) > 1_500) ahead = off; // less is the time that the answer took
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
