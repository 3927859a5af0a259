// The live connection of a queue: its overview as it comes, and whether it still comes.
import { useEffect, useState } from "./html.js";
import { queuePath, url } from "./api.js";
import { heard } from "./clock.js";

const SILENCE = 20_000; // a stream that says nothing for so long is as good as lost
const AGAIN = 2_000;

/** `{state: 'connecting' | 'live' | 'trouble' | 'lost', overview, trouble, beat, since}`; `beat` grows with each event. */
export function useLive(queue, { onSignedOut }) {
  const fresh = { queue, state: "connecting", overview: null, trouble: null, beat: 0, since: Date.now() };
  const [live, setLive] = useState(fresh);
  useEffect(() => {
    setLive(fresh);
    if (!queue) return undefined;
    let source = null, timer = null, silence = null, over = false;
    const change = (next) => setLive((before) => ({
      ...before, ...next, since: next.state === before.state ? before.since : Date.now(),
    }));
    const lose = () => {
      source?.close();
      clearTimeout(silence);
      clearTimeout(timer);
      if (over) return;
      change({ state: "lost" });
      timer = setTimeout(open, AGAIN);
      onSignedOut();
    };
    const listen = () => {
      clearTimeout(silence);
      silence = setTimeout(lose, SILENCE);
    };
    function open() {
      source = new EventSource(url(queuePath(queue, "events")));
      source.addEventListener("overview", (event) => {
        const overview = JSON.parse(event.data);
        heard(overview.now_at);
        listen();
        setLive((before) => ({
          ...before, state: "live", overview, trouble: null, beat: before.beat + 1,
          since: before.state === "live" ? before.since : Date.now(),
        }));
      });
      source.addEventListener("trouble", (event) => {
        listen();
        change({ state: "trouble", trouble: JSON.parse(event.data).error });
      });
      source.onerror = lose;
      listen();
    }
    open();
    return () => {
      over = true;
      lose();
    };
  }, [queue]);
  return live.queue === queue ? live : fresh;
}
