// Icons, and what the page shows instead of data: loading, empty, error, notice.
import { html } from "../lib/html.js";

const draw = (body) => () => html`<svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="1.8"
  stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">${body}</svg>`;

const Info = draw(html`<circle cx="12" cy="12" r="9" /><path d="M12 11v5M12 7.6v.1" />`);
const Check = draw(html`<circle cx="12" cy="12" r="9" /><path d="m8 12.4 2.7 2.7L16 9.6" />`);
const Warning = draw(html`<path d="M12 4 2.8 19.5h18.4L12 4Z" /><path d="M12 10.5v4M12 17v.1" />`);
const BrokenLink = draw(html`<path d="m9 15-2 2a3.5 3.5 0 0 1-5-5l3-3M15 9l2-2a3.5 3.5 0 0 1 5 5l-3 3M3 3l18 18" />`);
const Tray = draw(html`<path d="M3 13h5l1.5 3h5L16 13h5M3 13l3-8h12l3 8v6H3v-6Z" />`);

/** The logo: four tenants on a ring. */
export const Logo = () => html`<svg viewBox="0 0 32 32" fill="none" stroke-width="5" aria-hidden="true">
  <path d="M17.8 5.2a11 11 0 0 1 9 9" style=${{ stroke: "var(--series-1)" }} />
  <path d="M26.8 17.8a11 11 0 0 1-9 9" style=${{ stroke: "var(--series-2)" }} />
  <path d="M14.2 26.8a11 11 0 0 1-9-9" style=${{ stroke: "var(--series-3)" }} />
  <path d="M5.2 14.2a11 11 0 0 1 9-9" style=${{ stroke: "var(--series-4)" }} />
</svg>`;

const ICONS = { good: Check, warn: Warning, bad: Warning, calm: Info };

export function Notice({ tone = "calm", title, children }) {
  return html`<div class=${`notice ${tone}`}><${ICONS[tone]} /><strong>${title}</strong>${children}</div>`;
}

export function Empty({ title, children }) {
  return html`<div class="empty"><${Tray} /><strong>${title}</strong>${children}</div>`;
}

export const Loading = () => html`<div class="waiting" aria-busy="true"><span class="unseen">Loading</span><i></i><i></i><i></i></div>`;

const TITLES = {
  unavailable: "The database does not answer",
  not_installed: "The queue is not installed",
  not_found: "Not found",
  unreachable: "The dashboard server does not answer",
  unauthorized: "Please sign in",
};

export function ErrorMessage({ error }) {
  return html`<div class="empty" role="alert"><${BrokenLink} />
    <strong>${TITLES[error.code] ?? "Something went wrong"}</strong>
    <p>${error.message}</p>
    ${error.advice && html`<p>${error.advice}</p>`}
  </div>`;
}

/** The data of a resource, or its error. An error of a later fetch is shown above the old data. */
export function Loaded({ of, children }) {
  if (of.data) return html`${of.error && html`<${Notice} tone="bad" title=${of.error.message}><p>${of.error.advice ?? "This data may be old."}</p><//>`}${children(of.data)}`;
  return of.error ? html`<${ErrorMessage} error=${of.error} />` : html`<${Loading} />`;
}
