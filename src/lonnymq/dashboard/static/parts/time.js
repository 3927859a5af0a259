// Moments: how long ago or how soon, ticking, with the exact value in the reader's zone on hover.
import { html } from "../lib/html.js";
import { useNow } from "../lib/clock.js";
import { away, clockTime, dayTime, duration, exactTime, isMoment, isoTime, NONE } from "../lib/format.js";

function Moment({ at, children }) {
  if (!isMoment(at)) return html`<span title=${exactTime(at)}>${children}</span>`;
  return html`<time dateTime=${isoTime(at)} title=${`${exactTime(at)} · ${at}`}>${children}</time>`;
}

/** 5 s ago, in 3 min. */
export function Ago({ at }) {
  const now = useNow();
  if (at == null) return NONE;
  if (at < 0) return html`<${Moment} at=${at}>urgent<//>`;
  return html`<${Moment} at=${at}>${isMoment(at) ? away(at, now) : "in the far future"}<//>`;
}

/** How long something has lasted since then. */
export function Age({ since, units }) {
  const now = useNow();
  if (since == null) return NONE;
  if (since < 0) return html`<${Moment} at=${since}>urgent<//>`;
  return html`<${Moment} at=${since}>${duration(Math.max(0, Math.floor((now - since) / 1_000) * 1_000), { units })}<//>`;
}

/** The moment itself, as a date and a time of day. */
export function At({ at, seconds = false }) {
  if (at == null) return NONE;
  if (!isMoment(at)) return html`<${Moment} at=${at}>${String(at)}<//>`;
  return html`<${Moment} at=${at}>${seconds ? clockTime(at, true) : dayTime(at)}<//>`;
}
