// The page: who is reading, which queue, where; the rest are pages and parts.
import { html, render, useCallback, useEffect, useRef, useState } from "./lib/html.js";
import { getSession, SIGNED_OUT } from "./lib/api.js";
import { Here } from "./lib/here.js";
import { useLive } from "./lib/live.js";
import { address, replaceAddress, useRoute } from "./lib/router.js";
import { Acting, Ask, Toasts } from "./parts/dialog.js";
import { LostBar, Rail } from "./parts/shell.js";
import { Empty, Failed, Waiting } from "./parts/states.js";
import { pageOf } from "./pages/all.js";
import { SignIn } from "./pages/sign_in.js";

const AGAIN = 3_000;

function useSession() {
  const [session, setSession] = useState(null);
  const [error, setError] = useState(null);
  const look = useCallback(() => getSession().then((seen) => {
    setSession(seen);
    setError(null);
  }, setError), []);
  useEffect(() => {
    look();
    addEventListener(SIGNED_OUT, look);
    return () => removeEventListener(SIGNED_OUT, look);
  }, []);
  useEffect(() => {
    if (!error || session) return undefined;
    const timer = setTimeout(look, AGAIN);
    return () => clearTimeout(timer);
  }, [error, session]);
  return { session, error, look, setSession };
}

function App() {
  const { session, error, look, setSession } = useSession();
  if (!session) return html`<main id="main">${error ? html`<${Failed} error=${error} />` : html`<${Waiting} />`}</main>`;
  if (!session.signed_in) return html`<${SignIn} session=${session} onSession=${setSession} />`;
  return html`<${Reading} session=${session} onSession=${setSession} look=${look} />`;
}

function Reading({ session, onSession, look }) {
  const route = useRoute();
  const known = session.queues.some((one) => one.key === route.queue);
  const queue = known ? route.queue : session.queues[0]?.key;
  const live = useLive(queue, { onSignedOut: look });
  const page = pageOf(route.page);
  const acting = useActs(session.actions);
  const where = `${queue} ${route.page} ${route.rest.join("/")}`;
  const first = useRef(true);

  useEffect(() => {
    if (queue && !known) replaceAddress(address(queue));
  }, [queue, known]);
  useEffect(() => {
    document.title = `${page.title} · LonnyMQ`;
    if (!first.current) {
      acting.forget();
      scrollTo(0, 0);
      document.querySelector("main h1")?.focus({ preventScroll: true });
    }
    first.current = false;
  }, [where]);

  const link = (to, rest, search) => address(queue, to, rest, search);
  const here = { queue, live, session, link, search: route.search, beat: live.beat };
  return html`<${Here.Provider} value=${here}><${Acting.Provider} value=${acting}>
    <a class="skip" href="#main" onClick=${skip}>Skip to the content</a>
    <div class="shell">
      <${Rail} page=${route.page} onSession=${onSession} />
      <div>
        <${LostBar} live=${live} />
        <main id="main" tabindex="-1">
          ${queue ? html`<${page.view} key=${where} rest=${route.rest} />`
            : html`<h1>LonnyMQ</h1><div class="card"><${Empty} title="No queue is configured"><p>Start the dashboard with a DSN: <code>lonnymq dashboard --dsn …</code></p><//></div>`}
        </main>
      </div>
    </div>
    ${acting.asked && html`<${Ask} key=${acting.asked.key} queue=${queue} asked=${acting.asked} onClose=${acting.leave} onSaid=${acting.say} />`}
    <${Toasts} said=${acting.said} onDismiss=${acting.dismiss} />
  <//><//>`;
}

function skip(event) {
  event.preventDefault(); // the address after '#' says where the reader is, and stays
  document.getElementById("main").focus();
}

let number = 0;

function useActs(allowed) {
  const [asked, setAsked] = useState(null);
  const [said, setSaid] = useState([]);
  return {
    allowed, asked, said,
    ask: (what) => setAsked({ ...what, key: number += 1 }),
    leave: () => setAsked(null),
    say: (one) => setSaid((before) => [...before, { ...one, id: number += 1 }].slice(-3)),
    forget: () => setSaid([]),
    dismiss: (id) => setSaid((before) => before.filter((one) => one.id !== id)),
  };
}

render(html`<${App} />`, document.getElementById("app"));
