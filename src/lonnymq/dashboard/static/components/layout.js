// The sidebar around every page: navigation, queue, connection, theme and user.
import { html, useEffect, useId, useState } from "../lib/html.js";
import { Logo } from "./status.js";
import { signOut } from "../lib/api.js";
import { useNow } from "../lib/clock.js";
import { formatClock, formatCompact, formatDuration } from "../lib/format.js";
import { useQueue } from "../lib/queue.js";
import { buildHash } from "../lib/router.js";
import { chooseTheme, useTheme } from "../lib/theme.js";
import { findParent, NAV } from "../pages/index.js";

const CONNECTION_TEXTS = { connecting: "Connecting", live: "Live", trouble: "No database", lost: "Connection lost" };

function ConnectionState({ live }) {
  const words = live.trouble?.code === "not_installed" ? "Not installed" : CONNECTION_TEXTS[live.state];
  const { isPaused } = useQueue();
  if (live.state === "live" && isPaused) return html`<span class="link-state">Updates stopped</span>`;
  if (live.state === "live" && live.isHeld) return html`<span class="link-state live">Live, held while you read</span>`;
  const look = { live: "live", lost: "lost", trouble: "lost" }[live.state] ?? "";
  return html`<span class=${`link-state ${look}`}>${words}</span>`;
}

export function ConnectionBanner({ live }) {
  const now = useNow();
  if (live.state === "lost") {
    const from = live.overview && ` This data is from ${formatClock(live.overview.now_at, true)}.`;
    const since = now && Math.floor((Date.now() - live.since) / 1_000);
    return html`<div class="lost-bar"><span role="alert">The live connection is lost.${from} The page tries again automatically.</span>${since > 4 && html`<span> ${formatDuration(since * 1_000)} so far.</span>`}</div>`;
  }
  if (live.state === "trouble" && live.trouble.code !== "not_installed") return html`<div class="lost-bar" role="alert">${live.trouble.message} ${live.trouble.advice}</div>`;
  return null;
}

function QueueSelect() {
  const { queue, session } = useQueue();
  const label = useId();
  if (session.queues.length < 2) return html`<p class="switcher soft">${session.queues[0]?.label}</p>`;
  return html`<div class="switcher field"><label for=${label}>Queue</label>
    <select id=${label} class="input" value=${queue} onChange=${(event) => { location.hash = buildHash(event.target.value); }}>
      ${session.queues.map((one) => html`<option key=${one.key} value=${one.key}>${one.label}</option>`)}
    </select></div>`;
}

function GoToMessage() {
  const { link } = useQueue();
  const go = (event) => {
    event.preventDefault();
    const id = new FormData(event.target).get("id").trim();
    if (!/^\d{1,18}$/.test(id)) return;
    location.hash = link("message", [id]);
    event.target.reset();
  };
  return html`<form class="switcher goto" role="search" aria-label="Go to a message" onSubmit=${go}>
    <input class="input" name="id" inputmode="numeric" pattern="\\s*[0-9]{1,18}\\s*" required placeholder="Message id" aria-label="Message id" title="digits only" autocomplete="off" />
    <button class="button small">Go</button></form>`;
}

function ThemePicker() {
  const theme = useTheme();
  return html`<div class="themes" role="radiogroup" aria-label="Theme">
    ${["light", "dark", "system"].map((one) => html`<label key=${one}>
      <input type="radio" name="theme" value=${one} checked=${theme === one} onChange=${() => chooseTheme(one)} />${{ light: "Light", dark: "Dark", system: "Auto" }[one]}</label>`)}
  </div>`;
}

function Nav({ page }) {
  const { link, live, access } = useQueue();
  const current = findParent(page);
  const many = { dead: live.overview?.dead.value, workers: live.overview?.workers.alive };
  return html`<nav class="nav" aria-label="Pages"><ul>
    ${NAV.filter((one) => !one.isWhole || !access?.channels).map((one) => html`<li key=${one.page}>
      <a href=${link(one.page)} aria-current=${current === one.page ? "page" : undefined}>${one.title}
        ${many[one.page] > 0 && html`<span class=${`many ${one.page === "dead" ? "grave" : ""}`}>${formatCompact(many[one.page])}</span>`}</a></li>`)}
  </ul></nav>`;
}

function PauseButton() {
  const { isPaused, setPaused } = useQueue();
  return html`<button type="button" class="button small" aria-pressed=${isPaused} onClick=${() => setPaused(!isPaused)}>${isPaused ? "Start updates" : "Stop updates"}</button>`;
}

function UserInfo({ session, onSession }) {
  if (session.login !== "token" && session.login !== "oidc") return session.user && html`<p class="soft">Signed in as <bdi>${session.user}</bdi></p>`;
  return html`<div class="who"><p class="soft brief"><span class="unseen">Signed in as </span><bdi>${session.user ?? "token"}</bdi></p>
    <button type="button" class="button small" onClick=${() => signOut().then(onSession)}>Sign out</button></div>`;
}

export function Sidebar({ page, onSession }) {
  const { link, live, session, queue, shortcuts } = useQueue();
  const [open, setOpen] = useState(false);
  useEffect(() => setOpen(false), [page, queue]);
  return html`<header class="rail">
    <div class="rail-top">
      <a class="brand" href=${link("overview")}><${Logo} />LonnyMQ</a>
      <${ConnectionState} live=${live} />
      <button type="button" class="button small menu-button" aria-expanded=${open} aria-controls="panel" onClick=${() => setOpen(!open)}>Menu</button>
    </div>
    <div id="panel" class=${`panel ${open ? "open" : ""}`}>
      <${QueueSelect} />
      <${Nav} page=${page} />
      <${GoToMessage} />
      <div class="foot">
        <${ConnectionState} live=${live} />
        <${PauseButton} />
        <button type="button" class="button small bare" onClick=${() => shortcuts.setHelp(true)}>Keys</button>
        <${ThemePicker} />
        <${UserInfo} session=${session} onSession=${onSession} />
      </div>
    </div>
  </header>`;
}
