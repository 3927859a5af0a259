// A chart over time with lines, a readout under the pointer or the arrow keys, and a table.
import { html, useEffect, useId, useMemo, useRef, useState } from "../lib/html.js";
import { formatClock, formatDayTime } from "../lib/format.js";

const RIGHT = 10, TOP = 10, BOTTOM = 24;
const MIN_ZOOM = 120_000; // milliseconds
const LETTER = 6.2; // the approximate width of a letter

function useWidth(ref) {
  const [width, setWidth] = useState(560);
  useEffect(() => {
    const watcher = new ResizeObserver(([entry]) => setWidth(Math.max(220, Math.round(entry.contentRect.width))));
    watcher.observe(ref.current);
    return () => watcher.disconnect();
  }, []);
  return width;
}

function linePath(run, x, y) {
  if (run.length === 1) return `M${x(run[0][0]) - 1},${y(run[0][1])}h2`;
  return run.map(([at, value], i) => `${i ? "L" : "M"}${x(at).toFixed(1)},${y(value).toFixed(1)}`).join("");
}

function areaPath(run, x, y) {
  const floor = y(0).toFixed(1);
  return `${linePath(run, x, y)}L${x(run.at(-1)[0]).toFixed(1)},${floor}L${x(run[0][0]).toFixed(1)},${floor}Z`;
}

function Line({ values, times, colour, filled, x, y }) {
  return splitAtGaps(times, values).map((run, i) => html`
    ${filled && html`<path key=${`a${i}`} class="area" style=${{ fill: colour }} d=${areaPath(run, x, y)} />`}
    <path key=${`l${i}`} class="line" style=${{ stroke: colour }} d=${linePath(run, x, y)} />`);
}

function Axes({ x, y, ticks, times, left, width, height, format }) {
  return html`<g class="axes" aria-hidden="true">
    ${ticks.map((value) => html`<line class=${value ? "rule" : "floor"} x1=${left} x2=${width - RIGHT} y1=${y(value)} y2=${y(value)} />
      <text class="value" x=${left - 8} y=${y(value) + 4}>${format(value)}</text>`)}
    ${times.map((at) => html`<text class="at" x=${x(at)} y=${height - 6}>${formatClock(at)}</text>`)}
  </g>`;
}

/** The chart in words, for screen readers: the latest and the highest values. */
function summarize(title, times, series, format) {
  const parts = series.map(({ name, values }) => {
    const known = values.map((value, i) => [value, times[i]]).filter(([value]) => value != null);
    if (!known.length) return `${name}: no data`;
    const [most, when] = known.reduce((a, b) => (b[0] > a[0] ? b : a));
    return `${name} ${format(known.at(-1)[0])} now, highest ${format(most)} at ${formatClock(when)}`;
  });
  return `${title}. ${parts.join(", ")}.`;
}

function ChartTable({ title, times, series, format }) {
  const step = Math.max(1, Math.ceil(times.length / 60));
  const rows = times.map((at, i) => i).filter((i) => (times.length - 1 - i) % step === 0).reverse();
  return html`<details class="as-table"><summary>Show as table</summary>
    <div class="scroll" tabindex="0" role="region" aria-label=${`${title} as a table`}><table>
      <thead><tr><th scope="col">time</th>${series.map((one) => html`<th scope="col" class="number">${one.name}</th>`)}</tr></thead>
      <tbody>${rows.map((i) => html`<tr key=${times[i]}><th scope="row">${formatDayTime(times[i])}</th>
        ${series.map((one) => html`<td class="number">${format(one.values[i])}</td>`)}</tr>`)}</tbody>
    </table></div></details>`;
}

/** `onZoom(from, to)` gets the range that the reader drags over, or that + and - choose. */
export function Chart({ title, times, series, from, to, format, isDuration = false, height = 190, onZoom }) {
  const box = useRef();
  const width = useWidth(box);
  const [chosen, setChosen] = useState(null);
  const label = useId();
  const ticks = useMemo(() => {
    const highest = Math.max(0, ...series.flatMap((one) => one.values.filter((value) => value != null)));
    return (isDuration ? durationTicks : valueTicks)(highest);
  }, [series]);
  const left = Math.max(46, 14 + LETTER * Math.max(...ticks.map((value) => format(value).length)));
  const x = (at) => left + ((at - from) / (to - from)) * (width - left - RIGHT);
  const y = (value) => height - BOTTOM - (value / ticks.at(-1)) * (height - TOP - BOTTOM);
  const last = times.length - 1;
  const index = chosen == null || last < 0 ? null : Math.min(chosen, last);

  const [dragged, setDragged] = useState(null); // the time at which the reader pressed the button
  const timeAt = (event) => {
    const share = (event.clientX - box.current.getBoundingClientRect().left - left) / (width - left - RIGHT);
    return from + Math.max(0, Math.min(1, share)) * (to - from);
  };
  const drag = (event) => {
    if (!onZoom || event.pointerType !== "mouse" || event.button !== 0 || last < 0) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    setDragged({ from: timeAt(event), to: timeAt(event) });
  };
  const drop = (event) => {
    if (!dragged) return;
    const [first, second] = [dragged.from, timeAt(event)].sort((a, b) => a - b);
    setDragged(null);
    if (second - first >= MIN_ZOOM) onZoom(first, second);
  };
  const zoomBy = (factor) => {
    const at = index == null ? to : times[index];
    const half = Math.max(MIN_ZOOM, (to - from) * factor) / 2;
    onZoom(at - half, at + half);
  };
  const point = (event) => {
    const at = timeAt(event);
    if (dragged) setDragged({ ...dragged, to: at });
    let best = 0;
    times.forEach((each, i) => { if (Math.abs(each - at) < Math.abs(times[best] - at)) best = i; });
    setChosen(last < 0 ? null : best);
  };
  const key = (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity }[event.key];
    if (event.key === "Escape") setChosen(null);
    if (onZoom && event.key === "+") zoomBy(0.5);
    if (onZoom && event.key === "-") zoomBy(2);
    if (step === undefined || last < 0) return;
    event.preventDefault();
    setChosen(Math.max(0, Math.min(last, (index ?? last) + step)));
  };
  const latest = (values) => values.findLast((value) => value != null);
  const read = (one) => format(index == null ? latest(one.values) : one.values[index]);
  return html`<figure class="chart">
    <figcaption id=${label} class="unseen">${summarize(title, times, series, format)}</figcaption>
    <ul class="legend" aria-hidden="true">
      ${series.map((one) => html`<li><i style=${{ background: one.colour }}></i>${one.name} <strong>${read(one)}</strong></li>`)}
      <li class="at">${index == null ? "latest" : formatDayTime(times[index])}</li>
    </ul>
    <div ref=${box} class="plot" tabindex="0" role="img" aria-labelledby=${label}
      onPointerDown=${drag} onPointerUp=${drop} onPointerMove=${point} onPointerLeave=${() => setChosen(null)} onKeyDown=${key} onBlur=${() => setChosen(null)}>
      <svg width=${width} height=${height} viewBox=${`0 0 ${width} ${height}`}>
        <${Axes} ...${{ x, y, ticks, left, width, height, format, times: timeTicks(from, to, Math.max(2, Math.floor(width / 90))) }} />
        ${series.map((one) => html`<${Line} key=${one.name} ...${one} times=${times} x=${x} y=${y} />`)}
        ${dragged && html`<rect class="range" x=${Math.min(x(dragged.from), x(dragged.to))} y=${TOP} width=${Math.abs(x(dragged.to) - x(dragged.from))} height=${height - TOP - BOTTOM} />`}
        ${index != null && html`<line class="cursor" x1=${x(times[index])} x2=${x(times[index])} y1=${TOP} y2=${height - BOTTOM} />
          ${series.map((one) => one.values[index] != null && html`<circle r="3.5" cx=${x(times[index])} cy=${y(one.values[index])} style=${{ fill: one.colour }} />`)}`}
      </svg>
      ${last < 0 && html`<p class="nothing">No data yet.</p>`}
    </div>
    <${ChartTable} ...${{ title, times, series, format }} />
  </figure>`;
}

function valueTicks(highest, wanted = 4) {
  if (highest <= 0) return [0, 1];
  const rough = highest / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough);
  const many = Math.max(1, Math.ceil(highest / step - 1e-9));
  return Array.from({ length: many + 1 }, (_, n) => n * step);
}

const MINUTE = 60_000;
const ROUND = [1, 10, 100, 1_000, 2_000, 5_000, 10_000, 20_000, 30_000, ...[1, 2, 5, 10, 20, 30, 60, 120, 300, 720, 1_440].map((n) => n * MINUTE)];

/** Ticks for durations in milliseconds, on seconds, minutes and hours. */
function durationTicks(highest, wanted = 4) {
  if (highest <= 0) return [0, 1_000];
  const step = ROUND.find((size) => highest / size <= wanted) ?? Math.ceil(highest / wanted / ROUND.at(-1)) * ROUND.at(-1);
  return Array.from({ length: Math.max(1, Math.ceil(highest / step)) + 1 }, (_, n) => n * step);
}

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 180, 240, 360, 720, 1_440].map((n) => n * MINUTE);

function timeTicks(from, to, wanted) {
  const step = STEPS.find((size) => (to - from) / size <= wanted) ?? STEPS.at(-1);
  const zone = new Date(from).getTimezoneOffset() * MINUTE; // ticks on full hours of the time zone
  const ticks = [];
  for (let at = Math.ceil((from - zone) / step) * step + zone; at <= to; at += step) ticks.push(at);
  return ticks;
}

/** Split a series at missing values, which are gaps in the line. */
function splitAtGaps(times, values) {
  const all = [];
  let run = [];
  times.forEach((at, i) => {
    if (values[i] == null) {
      if (run.length) all.push(run);
      run = [];
    } else run.push([at, values[i]]);
  });
  if (run.length) all.push(run);
  return all;
}

export function Sparkline({ values, colour }) {
  const known = values.filter((value) => value != null);
  if (known.length < 2) return null;
  const most = Math.max(...known, 1e-9);
  const lines = splitAtGaps(values.map((_, i) => i), values)
    .map((run) => run.map(([i, value], n) => `${n ? "L" : "M"}${((100 * i) / (values.length - 1)).toFixed(1)},${(19 - (18 * value) / most).toFixed(1)}`).join(""))
    .join("");
  return html`<svg class="spark" viewBox="0 0 100 20" preserveAspectRatio="none" aria-hidden="true"><path d=${lines} style=${{ stroke: colour }} /></svg>`;
}
