// The page: it finds the user, the queue and the page to show.
import { html, render, useCallback, useEffect, useRef, useState } from "./lib/html.js";
import { ActionContext, ActionDialog, Toasts } from "./components/action_dialog.js";
import { ConnectionBanner, Sidebar } from "./components/layout.js";
import { ShortcutHelp } from "./components/shortcut_help.js";
import { Empty, ErrorMessage, Loading } from "./components/status.js";
import { getSession, SIGNED_OUT } from "./lib/api.js";
import { useLiveOverview } from "./lib/live.js";
import { QueueContext } from "./lib/queue.js";
import { useShortcuts } from "./lib/shortcuts.js";
import { buildHash, replaceHash, useRoute } from "./lib/router.js";
import { findPage } from "./pages/index.js";
import { SignIn } from "./pages/sign_in.js";

const RETRY_MS = 3_000;

function useSession() {
  const [session, setSession] = useState(null);
  const [error, setError] = useState(null);
  const load = useCallback(() => getSession().then((seen) => {
    setSession(seen);
    setError(null);
  }, setError), []);
  useEffect(() => {
    load();
    addEventListener(SIGNED_OUT, load);
    return () => removeEventListener(SIGNED_OUT, load);
  }, []);
  useEffect(() => {
    if (!error || session) return undefined;
    const timer = setTimeout(load, RETRY_MS);
    return () => clearTimeout(timer);
  }, [error, session]);
  return { session, error, load, setSession };
}

function App() {
  const { session, error, load, setSession } = useSession();
  if (!session) return html`<main id="main">${error ? html`<${ErrorMessage} error=${error} />` : html`<${Loading} />`}</main>`;
  if (!session.signed_in) return html`<${SignIn} session=${session} onSession=${setSession} />`;
  return html`<${SignedIn} session=${session} onSession=${setSession} reload=${load} />`;
}

function SignedIn({ session, onSession, reload }) {
  const route = useRoute();
  const known = session.queues.some((one) => one.key === route.queue);
  const queue = known ? route.queue : session.queues[0]?.key;
  const [isPaused, setPaused] = useState(false);
  const live = useLiveOverview(queue, { onSignedOut: reload, isPaused });
  const page = findPage(route.page);
  const access = session.queues.find((one) => one.key === queue);
  const actions = useActionState(access?.actions ?? []);
  const where = `${queue} ${route.page} ${route.rest.join("/")}`;
  const first = useRef(true);

  useEffect(() => {
    if (queue && !known) replaceHash(buildHash(queue));
  }, [queue, known]);
  useEffect(() => {
    document.title = `${page.title} · LonnyMQ`;
    if (!first.current) {
      actions.clear();
      scrollTo(0, 0);
      document.querySelector("main h1")?.focus({ preventScroll: true });
    }
    first.current = false;
  }, [where]);

  const link = (to, rest, search) => buildHash(queue, to, rest, search);
  const shortcuts = useShortcuts({ go: (to) => { location.hash = link(to); }, togglePaused: () => setPaused((before) => !before) });
  const here = { queue, shortcuts, live, session, link, access, search: route.search, beat: live.beat, isPaused, setPaused };
  return html`<${QueueContext.Provider} value=${here}><${ActionContext.Provider} value=${actions}>
    <a class="skip" href="#main" onClick=${skipToContent}>Skip to content</a>
    <div class="shell">
      <${Sidebar} page=${route.page} onSession=${onSession} />
      <div>
        <${ConnectionBanner} live=${live} />
        <main id="main" tabindex="-1">
          ${queue ? html`<${page.view} key=${where} rest=${route.rest} />`
            : html`<h1>LonnyMQ</h1><div class="card"><${Empty} title="You have no access to a queue"><p>You are signed in as <bdi>${session.user}</bdi>. Ask somebody who administers the dashboard: the access file has the roles.</p><//></div>`}
        </main>
      </div>
    </div>
    ${actions.pending && html`<${ActionDialog} key=${actions.pending.key} queue=${queue} pending=${actions.pending} onClose=${actions.close} onResult=${actions.notify} />`}
    ${shortcuts.isHelp && html`<${ShortcutHelp} shortcuts=${shortcuts} />`}
    <${Toasts} toasts=${actions.toasts} onDismiss=${actions.dismiss} />
  <//><//>`;
}

function skipToContent(event) {
  event.preventDefault(); // the address after '#' is the current page
  document.getElementById("main").focus();
}

let number = 0;

function useActionState(allowed) {
  const [pending, setPending] = useState(null);
  const [toasts, setToasts] = useState([]);
  return {
    pending, toasts,
    may: (action) => allowed.includes(action),
    ask: (action) => setPending({ ...action, key: number += 1 }),
    close: () => setPending(null),
    notify: (toast) => setToasts((before) => [...before, { ...toast, id: number += 1 }].slice(-3)),
    clear: () => setToasts([]),
    dismiss: (id) => setToasts((before) => before.filter((toast) => toast.id !== id)),
  };
}

render(html`<${App} />`, document.getElementById("app"));
