// What is around every page: where one may go, which queue, whether it is live, how it looks, who one is.
import { html, useEffect, useId, useState } from "../lib/html.js";
import { signOut } from "../lib/api.js";
import { useNow } from "../lib/clock.js";
import { clockTime, compact, duration } from "../lib/format.js";
import { useHere } from "../lib/here.js";
import { address } from "../lib/router.js";
import { chooseTheme, useTheme } from "../lib/theme.js";
import { NAV, parentOf } from "../pages/all.js";
import { Ring } from "./icons.js";

const LINK_WORDS = { connecting: "Connecting", live: "Live", trouble: "Database away", lost: "Connection lost" };

function LinkState({ live }) {
  const words = live.trouble?.code === "not_installed" ? "Not installed" : LINK_WORDS[live.state];
  const look = { live: "live", lost: "lost", trouble: "lost" }[live.state] ?? "";
  return html`<span class=${`link-state ${look}`}>${words}</span>`;
}

export function LostBar({ live }) {
  const now = useNow();
  if (live.state === "lost") {
    const from = live.overview && ` What you see is from ${clockTime(live.overview.now_at, true)}.`;
    const since = now && Math.floor((Date.now() - live.since) / 1_000);
    return html`<div class="lost-bar"><span role="alert">The live connection is lost.${from} Trying again by itself.</span>${since > 4 && html`<span> ${duration(since * 1_000)} so far.</span>`}</div>`;
  }
  if (live.state === "trouble" && live.trouble.code !== "not_installed") return html`<div class="lost-bar" role="alert">${live.trouble.message} ${live.trouble.advice}</div>`;
  return null;
}

function Switcher() {
  const { queue, session } = useHere();
  const label = useId();
  if (session.queues.length < 2) return html`<p class="switcher soft">${session.queues[0]?.label}</p>`;
  return html`<div class="switcher field"><label for=${label}>Queue</label>
    <select id=${label} class="input" value=${queue} onChange=${(event) => { location.hash = address(event.target.value); }}>
      ${session.queues.map((one) => html`<option key=${one.key} value=${one.key}>${one.label}</option>`)}
    </select></div>`;
}

function Themes() {
  const theme = useTheme();
  return html`<div class="themes" role="radiogroup" aria-label="Colours">
    ${["light", "dark", "system"].map((one) => html`<label key=${one}>
      <input type="radio" name="theme" value=${one} checked=${theme === one} onChange=${() => chooseTheme(one)} />${{ light: "Light", dark: "Dark", system: "Auto" }[one]}</label>`)}
  </div>`;
}

function Nav({ page }) {
  const { link, live } = useHere();
  const current = parentOf(page);
  const many = { dead: live.overview?.dead.value, workers: live.overview?.workers.alive };
  return html`<nav class="nav" aria-label="Pages of the queue"><ul>
    ${NAV.map((one) => html`<li key=${one.page}>
      <a href=${link(one.page)} aria-current=${current === one.page ? "page" : undefined}>${one.title}
        ${many[one.page] > 0 && html`<span class=${`many ${one.page === "dead" ? "grave" : ""}`}>${compact(many[one.page])}</span>`}</a></li>`)}
  </ul></nav>`;
}

function Who({ session, onSession }) {
  if (session.login !== "token") return session.user && html`<p class="soft">Signed in as <bdi>${session.user}</bdi></p>`;
  return html`<div class="who"><p class="soft brief"><span class="unseen">Signed in as </span><bdi>${session.user ?? "token"}</bdi></p>
    <button type="button" class="button small" onClick=${() => signOut().then(onSession)}>Sign out</button></div>`;
}

export function Rail({ page, onSession }) {
  const { link, live, session, queue } = useHere();
  const [open, setOpen] = useState(false);
  useEffect(() => setOpen(false), [page, queue]);
  return html`<header class="rail">
    <div class="rail-top">
      <a class="brand" href=${link("overview")}><${Ring} />LonnyMQ</a>
      <${LinkState} live=${live} />
      <button type="button" class="button small menu-button" aria-expanded=${open} aria-controls="panel" onClick=${() => setOpen(!open)}>Menu</button>
    </div>
    <div id="panel" class=${`panel ${open ? "open" : ""}`}>
      <${Switcher} />
      <${Nav} page=${page} />
      <div class="foot">
        <${LinkState} live=${live} />
        <${Themes} />
        <${Who} session=${session} onSession=${onSession} />
      </div>
    </div>
  </header>`;
}
