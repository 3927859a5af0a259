// The few drawings of the page; all are beside words that say the same.
import { html } from "../lib/html.js";

const draw = (body) => () => html`<svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="1.8"
  stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">${body}</svg>`;

export const Info = draw(html`<circle cx="12" cy="12" r="9" /><path d="M12 11v5M12 7.6v.1" />`);
export const Check = draw(html`<circle cx="12" cy="12" r="9" /><path d="m8 12.4 2.7 2.7L16 9.6" />`);
export const Warning = draw(html`<path d="M12 4 2.8 19.5h18.4L12 4Z" /><path d="M12 10.5v4M12 17v.1" />`);
export const Broken = draw(html`<path d="m9 15-2 2a3.5 3.5 0 0 1-5-5l3-3M15 9l2-2a3.5 3.5 0 0 1 5 5l-3 3M3 3l18 18" />`);
export const Tray = draw(html`<path d="M3 13h5l1.5 3h5L16 13h5M3 13l3-8h12l3 8v6H3v-6Z" />`);

/** The mark: four tenants on a ring, each with its turn. */
export const Ring = () => html`<svg viewBox="0 0 32 32" fill="none" stroke-width="5" aria-hidden="true">
  <path d="M17.8 5.2a11 11 0 0 1 9 9" style=${{ stroke: "var(--series-1)" }} />
  <path d="M26.8 17.8a11 11 0 0 1-9 9" style=${{ stroke: "var(--series-2)" }} />
  <path d="M14.2 26.8a11 11 0 0 1-9-9" style=${{ stroke: "var(--series-3)" }} />
  <path d="M5.2 14.2a11 11 0 0 1 9-9" style=${{ stroke: "var(--series-4)" }} />
</svg>`;
