// What is shown in place of figures: that they are coming, that there are none, that something is wrong.
import { html } from "../lib/html.js";
import { Broken, Check, Info, Tray, Warning } from "./icons.js";

const SIGNS = { good: Check, warn: Warning, bad: Warning, calm: Info };

export function Notice({ tone = "calm", title, children }) {
  return html`<div class=${`notice ${tone}`}><${SIGNS[tone]} /><strong>${title}</strong>${children}</div>`;
}

export function Empty({ title, children }) {
  return html`<div class="empty"><${Tray} /><strong>${title}</strong>${children}</div>`;
}

export const Waiting = () => html`<div class="waiting" aria-busy="true"><span class="unseen">Loading</span><i></i><i></i><i></i></div>`;

const TITLES = {
  unavailable: "The database does not answer",
  not_installed: "There is no queue here yet",
  not_found: "Not here",
  unreachable: "The dashboard's server does not answer",
  unauthorized: "Please sign in",
};

export function Failed({ error }) {
  return html`<div class="empty" role="alert"><${Broken} />
    <strong>${TITLES[error.code] ?? "That did not work"}</strong>
    <p>${error.message}</p>
    ${error.advice && html`<p>${error.advice}</p>`}
  </div>`;
}

/** A resource: what it gave, else why not. Trouble on a later fetch is said above what is known. */
export function Shown({ of, children }) {
  if (of.data) return html`${of.error && html`<${Notice} tone="bad" title=${of.error.message}><p>${of.error.advice ?? "What you see may be old."}</p><//>`}${children(of.data)}`;
  return of.error ? html`<${Failed} error=${of.error} />` : html`<${Waiting} />`;
}
