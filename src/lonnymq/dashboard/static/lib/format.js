// Formats numbers, durations, sizes and times in the language and time zone of the reader.

const whole = new Intl.NumberFormat();
const short = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });
const exact = new Intl.DateTimeFormat(undefined, {
  year: "numeric", month: "short", day: "numeric",
  hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3,
  timeZoneName: "short",
});
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const clockSeconds = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });

export const NONE = "–";

export const formatCount = (n) => (n == null ? NONE : whole.format(n));
export const formatCompact = (n) => (n == null ? NONE : Math.abs(n) < 10_000 ? whole.format(n) : short.format(n));

/** A number that may be an estimate, or the point where counting stopped. */
export function formatEstimate(n, { estimated = false, more = false } = {}) {
  if (n == null) return NONE;
  return `${estimated ? "≈ " : ""}${formatCompact(n)}${more ? "+" : ""}`;
}

/** A rate per second, or per minute or hour for small rates. */
export function formatRate(perSecond) {
  if (perSecond == null) return NONE;
  if (perSecond === 0) return "0/s";
  if (perSecond < 0.1 / 60) return `${formatDecimal(perSecond * 3_600)}/h`;
  if (perSecond < 0.1) return `${formatDecimal(perSecond * 60)}/min`;
  return `${perSecond >= 10_000 ? short.format(perSecond) : formatDecimal(perSecond)}/s`;
}

export function formatDecimal(n) {
  return n.toLocaleString(undefined, { maximumFractionDigits: n < 10 ? 1 : 0 });
}

const UNITS = [["d", 86_400_000], ["h", 3_600_000], ["min", 60_000], ["s", 1_000]];

/** A duration in one or two units: 1 h 4 min, 12 s, 250 ms. */
export function formatDuration(ms, { units = 2 } = {}) {
  if (ms == null) return NONE;
  const all = Math.abs(ms);
  if (all < 1_000) return `${Math.round(all)} ms`;
  if (all < 10_000) return `${formatDecimal(all / 1_000)} s`;
  const first = UNITS.findIndex(([, size]) => all >= size);
  const [unit, size] = UNITS[first];
  const many = Math.floor(all / size);
  const rest = UNITS[first + 1];
  const left = rest ? Math.floor((all % size) / rest[1]) : 0;
  return left && many < 10 && units > 1 ? `${many} ${unit} ${left} ${rest[0]}` : `${many} ${unit}`;
}

/** The distance from now in whole seconds: 5 s ago, in 3 min. */
export function formatRelative(at, now) {
  const ms = at - now;
  if (Math.abs(ms) < 1_000) return "now";
  const size = formatDuration(Math.floor(Math.abs(ms) / 1_000) * 1_000);
  return ms < 0 ? `${size} ago` : `in ${size}`;
}

const MAX_DATE = 8.64e15; // the maximum of Date: the dequeue_at of a message may be larger
export const isValidTime = (at) => at != null && Math.abs(at) <= MAX_DATE;
export const formatExactTime = (at) => (isValidTime(at) ? exact.format(at) : `${at} ms since 1970`);
export const formatIsoTime = (at) => new Date(at).toISOString();
export const formatClock = (at, seconds = false) => (seconds ? clockSeconds : clock).format(at);
export const formatDayTime = (at) => `${day.format(at)}, ${clock.format(at)}`;

const SIZES = ["bytes", "KiB", "MiB", "GiB"];

export function formatBytes(n) {
  if (n == null) return NONE;
  if (n === 1) return "1 byte";
  let size = n;
  let unit = 0;
  for (; size >= 1024 && unit < SIZES.length - 1; unit += 1) size /= 1024;
  return `${unit ? formatDecimal(size) : whole.format(size)} ${SIZES[unit]}`;
}

export const pluralize = (n, one, many = `${one}s`) => `${formatCount(n)} ${n === 1 ? one : many}`;
