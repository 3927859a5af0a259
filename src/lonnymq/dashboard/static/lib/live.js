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
    return listen(url(queuePath(queue, "events")), {
      onOverview: (overview) => setLive((before) => ({
        ...before, state: "live", overview, trouble: null, beat: before.beat + 1,
        since: before.state === "live" ? before.since : Date.now(),
      })),
      onTrouble: (trouble) => setLive((before) => ({ ...before, state: "trouble", trouble })),
      onLost: () => {
        setLive((before) => ({ ...before, state: "lost", since: before.state === "lost" ? before.since : Date.now() }));
        onSignedOut();
      },
    });
  }, [queue]);
  return live.queue === queue ? live : fresh;
}

/** Listen until the function that is given back is called. A window that nobody sees listens to nothing:
    browsers open six connections to a server at once, and more windows than that may be open. */
function listen(address, { onOverview, onTrouble, onLost }) {
  let source = null, again = null, silence = null;
  const close = () => {
    source?.close();
    clearTimeout(again);
    clearTimeout(silence);
  };
  const lose = () => {
    close();
    again = setTimeout(open, AGAIN);
    onLost();
  };
  const wait = () => {
    clearTimeout(silence);
    silence = setTimeout(lose, SILENCE);
  };
  function open() {
    source = new EventSource(address);
    source.addEventListener("overview", (event) => {
      const overview = JSON.parse(event.data);
      heard(overview.now_at);
      wait();
      onOverview(overview);
    });
    source.addEventListener("trouble", (event) => {
      wait();
      onTrouble(JSON.parse(event.data).error);
    });
    source.onerror = lose;
    wait();
  }
  const turn = () => {
    close();
    if (!document.hidden) open();
  };
  document.addEventListener("visibilitychange", turn);
  turn();
  return () => {
    document.removeEventListener("visibilitychange", turn);
    close();
  };
}
