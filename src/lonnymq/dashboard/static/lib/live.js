// The live connection to a queue: events with the overview, and the state of the connection.
import { useEffect, useRef, useState } from "./html.js";
import { buildUrl, queuePath } from "./api.js";
import { syncClock } from "./clock.js";

const SILENCE_MS = 20_000; // without events for this long, the stream counts as lost
const RETRY_MS = 2_000;
const READING_PX = 200;

/** `{state: 'connecting' | 'live' | 'trouble' | 'lost', overview, trouble, beat, since}`; `beat` counts the events. */
export function useLiveOverview(queue, { onSignedOut, isPaused }) {
  const paused = useRef(isPaused);
  paused.current = isPaused;
  const fresh = { isHeld: false, queue, state: "connecting", overview: null, trouble: null, beat: 0, since: Date.now() };
  const [live, setLive] = useState(fresh);
  useEffect(() => {
    setLive(fresh);
    if (!queue) return undefined;
    return listen(buildUrl(queuePath(queue, "events")), {
      onOverview: (overview) => setLive((before) => (before.overview && (paused.current || isReading()) ? {
        ...before, state: "live", trouble: null, isHeld: true, since: before.state === "live" ? before.since : Date.now(),
      } : {
        ...before, state: "live", isHeld: false, overview, trouble: null, beat: before.beat + 1,
        since: before.state === "live" ? before.since : Date.now(),
      })),
      onTime: () => setLive((before) => ({
        ...before, state: "live", trouble: null, isHeld: paused.current || isReading(),
        beat: before.beat + (paused.current || isReading() ? 0 : 1), since: before.state === "live" ? before.since : Date.now(),
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

/** Whether the reader has scrolled down: then nothing moves until the reader is back at the top. */
const isReading = () => scrollY > READING_PX;

/** Listen until the returned function is called. A hidden window does not listen: browsers open at most six
    connections to a server, and more windows than that may be open. */
function listen(address, { onOverview, onTime, onTrouble, onLost }) {
  let source = null, again = null, silence = null;
  const close = () => {
    source?.close();
    clearTimeout(again);
    clearTimeout(silence);
  };
  const lose = () => {
    close();
    again = setTimeout(open, RETRY_MS);
    onLost();
  };
  const wait = () => {
    clearTimeout(silence);
    silence = setTimeout(lose, SILENCE_MS);
  };
  function open() {
    source = new EventSource(address);
    source.addEventListener("overview", (event) => {
      const overview = JSON.parse(event.data);
      syncClock(overview.now_at);
      wait();
      onOverview(overview);
    });
    source.addEventListener("time", (event) => { // for users who may see only some channels
      syncClock(JSON.parse(event.data).now_at);
      wait();
      onTime();
    });
    source.addEventListener("trouble", (event) => {
      wait();
      onTrouble(JSON.parse(event.data).error);
    });
    source.onerror = lose;
    wait();
  }
  const restart = () => {
    close();
    if (!document.hidden) open();
  };
  document.addEventListener("visibilitychange", restart);
  restart();
  return () => {
    document.removeEventListener("visibilitychange", restart);
    close();
  };
}
