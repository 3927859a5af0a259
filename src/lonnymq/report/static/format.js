// Numbers, lengths of time, shares and moments, as people read them.
const NONE = "–";
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const UNITS = [[86400000, "d"], [3600000, "h"], [60000, "min"], [1000, "s"]];

const isThere = (value) => value !== null && value !== undefined;
const count = (value) => (isThere(value) ? whole.format(value) : NONE);
const many = (value, one, more = `${one}s`) => `${count(value)} ${value === 1 ? one : more}`;
const briefly = (value) => (isThere(value) ? (Math.abs(value) < 10000 ? whole.format(value) : compact.format(value)) : NONE);
const share = (value) => (isThere(value) ? (100 * value).toFixed(value > 0 && value < 0.1 ? 1 : 0) + "%" : NONE);
const mean = (value) => (isThere(value) ? (value < 10 ? value.toFixed(value < 1 ? 2 : 1).replace(/\.?0+$/, "") : whole.format(value)) : NONE);

function span(ms) {
  if (!isThere(ms)) return NONE;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 10000 && Math.round(ms / 100) % 10) return `${(ms / 1000).toFixed(1)} s`;
  let left = Math.round(ms / 1000) * 1000;
  const said = [];
  for (const [size, unit] of UNITS) {
    const number = Math.floor(left / size);
    left -= number * size;
    if (number || said.length) said.push(number ? `${number} ${unit}` : "");
    if (said.length === 2) break;
  }
  return said.filter(Boolean).join(" ");
}

function bytes(value) {
  if (!isThere(value)) return NONE;
  const units = ["B", "kB", "MB", "GB", "TB"];
  let place = 0;
  while (value >= 1000 && place < units.length - 1) { value /= 1000; place += 1; }
  return `${value < 10 && place ? value.toFixed(1) : Math.round(value)} ${units[place]}`;
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const two = (value) => String(value).padStart(2, "0");
const dayOf = (ms) => { const at = new Date(ms); return `${at.getUTCDate()} ${MONTHS[at.getUTCMonth()]}`; };
function clock(ms, seconds) {
  const at = new Date(ms);
  return `${two(at.getUTCHours())}:${two(at.getUTCMinutes())}${seconds ? ":" + two(at.getUTCSeconds()) : ""}`;
}
const moment = (ms, seconds = false) => `${dayOf(ms)} ${new Date(ms).getUTCFullYear()}, ${clock(ms, seconds)}`;

const STEPS = { 1000: "second", 60000: "minute", 3600000: "hour", 86400000: "day" };
const step = (every) => STEPS[every] ?? span(every);
const aStep = (every) => (every === 3600000 ? "an hour" : STEPS[every] ? `a ${STEPS[every]}` : span(every));
const steps = (every) => (STEPS[every] ? `${STEPS[every]}s` : `intervals of ${span(every)}`);
