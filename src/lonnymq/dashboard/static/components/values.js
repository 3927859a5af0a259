// Single values: states, counts, limits, names, times. Also page titles and radio groups.
import { html, useId } from "../lib/html.js";
import { useNow } from "../lib/clock.js";
import { formatClock, formatCount, formatDayTime, formatDecimal, formatDuration, formatEstimate, formatExactTime, formatIsoTime, formatRate, formatRelative, isValidTime, NONE } from "../lib/format.js";

const TONES = {
  ready: "good", running: "good", completed: "good", alive: "good", leased: "good", redriven: "good",
  scheduled: "calm", deferred: "calm", retiring: "calm", created: "calm",
  saturated: "warn", throttled: "warn", paused: "warn", stopping: "warn", failed: "warn", expired: "warn", retrying: "warn",
  dead: "bad", gone: "bad", silent: "bad",
};
const WORDS = { leased: "running", saturated: "at limit", throttled: "throttled" };

export function StateBadge({ of, tone }) {
  return html`<span class=${`mark ${tone ?? TONES[of] ?? ""}`}>${WORDS[of] ?? of}</span>`;
}

/** A Count of the API: `{value, exact, at_least}`. */
export function Count({ of }) {
  if (of == null) return "–";
  const text = formatEstimate(of.value, { estimated: of.exact === false && !of.at_least, more: of.at_least });
  const title = of.at_least ? `${formatCount(of.value)} or more`
    : of.exact === false ? `about ${formatCount(of.value)} (estimate)` : formatCount(of.value);
  return html`<span title=${title}>${text}</span>`;
}

export function UsageBar({ used, limit, what }) {
  if (limit == null) return html`<span>${formatCount(used)}</span>`;
  const share = `${Math.min(100, Math.round((100 * used) / limit))}%`;
  return html`<span class="gauge" title=${what}><span class=${`track ${used >= limit ? "full" : ""}`} aria-hidden="true"><i style=${{ width: share }}></i></span>
    <span>${formatCount(used)} of ${formatCount(limit)}</span></span>`;
}

export function RateOfLimit({ perSecond, limit }) {
  if (limit == null) return html`<span>${formatRate(perSecond)}</span>`;
  return html`<span>${perSecond == null ? "–" : formatDecimal(perSecond)} of ${formatRate(limit)}</span>`;
}

/** The share of attempts that failed: red from a fifth on. */
export function FailedShare({ share }) {
  if (share == null || share === 0) return null;
  return html`<span class=${share >= 0.2 ? "bad-text" : "soft"}>(${share < 0.01 ? "< 1" : formatDecimal(100 * share)} %)</span>`;
}

/** A name from outside, with its own writing direction and a tooltip. */
export function Name({ of }) {
  return html`<bdi title=${of}>${of === "" ? "(empty)" : of}</bdi>`;
}

function TimeElement({ at, children }) {
  if (!isValidTime(at)) return html`<span title=${formatExactTime(at)}>${children}</span>`;
  return html`<time dateTime=${formatIsoTime(at)} title=${`${formatExactTime(at)} · ${at}`}>${children}</time>`;
}

/** 5 s ago, in 3 min. */
export function RelativeTime({ at }) {
  const now = useNow();
  if (at == null) return NONE;
  if (at < 0) return html`<${TimeElement} at=${at}>urgent<//>`;
  return html`<${TimeElement} at=${at}>${isValidTime(at) ? formatRelative(at, now) : "in the far future"}<//>`;
}

/** The time since then. */
export function Elapsed({ since, units }) {
  const now = useNow();
  if (since == null) return NONE;
  if (since < 0) return html`<${TimeElement} at=${since}>urgent<//>`;
  return html`<${TimeElement} at=${since}>${formatDuration(Math.max(0, Math.floor((now - since) / 1_000) * 1_000), { units })}<//>`;
}

/** A date and a time of day. */
export function Time({ at, seconds = false }) {
  if (at == null) return NONE;
  if (!isValidTime(at)) return html`<${TimeElement} at=${at}>${String(at)}<//>`;
  return html`<${TimeElement} at=${at}>${seconds ? formatClock(at, true) : formatDayTime(at)}<//>`;
}

export function RadioGroup({ label, options, value, onChange }) {
  const name = useId();
  return html`<div class="themes choice" role="radiogroup" aria-label=${label}>
    ${options.map(([key, words]) => html`<label key=${key}><input type="radio" name=${name} value=${key} checked=${value === key} onChange=${() => onChange(key)} />${words}</label>`)}
  </div>`;
}

export function PageTitle({ over, title, children }) {
  return html`<div class="title"><h1 tabindex="-1">${over && html`<small>${over}</small>`}${title}</h1>
    ${children && html`<div class="actions">${children}</div>`}</div>`;
}
