// Small marks: states in words and colours, figures that may be estimates, how much of a limit is used.
import { html } from "../lib/html.js";
import { count, counted, decimal, rate } from "../lib/format.js";

const TONES = {
  ready: "good", running: "good", completed: "good", alive: "good", leased: "good", redriven: "good",
  scheduled: "calm", deferred: "calm", releasing: "calm", created: "calm",
  saturated: "warn", throttled: "warn", paused: "warn", stopping: "warn", failed: "warn", expired: "warn", retrying: "warn",
  dead: "bad", gone: "bad", silent: "bad",
};
const WORDS = { leased: "running", saturated: "at its limit", throttled: "throttled" };

export function State({ of, tone }) {
  return html`<span class=${`mark ${tone ?? TONES[of] ?? ""}`}>${WORDS[of] ?? of}</span>`;
}

/** `{value, exact, at_least}` as the API gives it. */
export function Figure({ of }) {
  if (of == null) return "–";
  const text = counted(of.value, { estimated: of.exact === false && !of.at_least, more: of.at_least });
  const title = of.at_least ? `${count(of.value)} or more: counting stopped there`
    : of.exact === false ? `about ${count(of.value)}, an estimate` : count(of.value);
  return html`<span title=${title}>${text}</span>`;
}

export function OfLimit({ used, limit, what }) {
  if (limit == null) return html`<span>${count(used)}</span>`;
  const share = `${Math.min(100, Math.round((100 * used) / limit))}%`;
  return html`<span class="gauge" title=${what}><span class=${`track ${used >= limit ? "full" : ""}`} aria-hidden="true"><i style=${{ width: share }}></i></span>
    <span>${count(used)} of ${count(limit)}</span></span>`;
}

export function RateOf({ perSecond, limit }) {
  if (limit == null) return html`<span>${rate(perSecond)}</span>`;
  return html`<span>${perSecond == null ? "–" : decimal(perSecond)} of ${rate(limit)}</span>`;
}

/** A name that others chose: its own direction of writing, and all of it on hover. */
export function Name({ of }) {
  return html`<bdi title=${of}>${of === "" ? "(empty)" : of}</bdi>`;
}
