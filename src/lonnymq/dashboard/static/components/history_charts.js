// Charts of the last hour or day, of a queue and of a channel.
import { html, useMemo, useState } from "../lib/html.js";
import { Chart } from "./chart.js";
import { Notice } from "./status.js";
import { RadioGroup } from "./values.js";
import { formatCompact, formatDayTime, formatDecimal, formatDuration, formatRate } from "../lib/format.js";

const DAY = 86_400_000;

/** Points by step, with null for missing samples. The step that is not over yet is left out. */
function fillSteps(points, from, to, step) {
  const by = new Map(points.map((point) => [Math.floor(point.at / step), point]));
  const times = [];
  const rows = [];
  for (let n = Math.ceil(from / step); (n + 1) * step <= to; n += 1) {
    times.push(n * step);
    rows.push(by.get(n) ?? null);
  }
  return { times, of: (pick) => rows.map((row) => (row === null ? null : pick(row))) };
}

const RANGES = [["quarter", "15 min"], ["hour", "Hour"], ["six_hours", "6 hours"], ["day", "Day"]];
const TITLES = { quarter: "The last 15 minutes", hour: "The last hour", six_hours: "The last 6 hours", day: "The last day" };

/** The range of charts: a span before now, or two times after a zoom. `query` is for the API. */
export function useRange() {
  const [span, setSpan] = useState("hour");
  const [zoom, setZoom] = useState(null);
  return {
    query: zoom ? { start: zoom.from, end: zoom.to } : { span },
    isLive: zoom === null,
    isHour: zoom === null && span === "hour",
    title: zoom ? `${formatDayTime(zoom.from)} to ${formatDayTime(zoom.to)}` : TITLES[span],
    span,
    setSpan: (next) => { setZoom(null); setSpan(next); },
    onZoom: (from, to) => setZoom({ from: Math.round(from), to: Math.round(Math.min(to, from + DAY)) }),
    reset: () => setZoom(null),
  };
}

/** The choice of a range, and the way back from a zoom. */
export function RangePicker({ range }) {
  return html`<div class="ranges">${!range.isLive && html`<button type="button" class="button small" onClick=${range.reset}>Reset zoom</button>`}
    <${RadioGroup} label="Time span of the charts" options=${RANGES} value=${range.isLive ? range.span : ""} onChange=${range.setSpan} /></div>`;
}

export function QueueCharts({ data, onZoom }) {
  const { from_at: from, to_at: to, step_ms: step, points } = data;
  const { times, of } = useMemo(() => fillSteps(points, from, to, step), [data]);
  const perSecond = (key) => of((point) => (point[key] == null ? null : (point[key] * 1_000) / step));
  if (!data.sampled) return html`<${Notice} title="Start a worker to see charts."><p>Workers sample the queue every few seconds. This queue has no samples yet.</p><//>`;
  const common = { times, from, to, onZoom };
  return html`<div class="columns charts">
    <div><h3>Throughput</h3><${Chart} title="Messages in and out" ...${common} format=${formatRate} series=${[
      { name: "in", colour: "var(--series-1)", values: perSecond("created") },
      { name: "out", colour: "var(--series-4)", filled: true, values: perSecond("completed") },
      { name: "failed", colour: "var(--series-2)", values: of((point) => ((point.failed + point.expired + point.died) * 1_000) / step) },
    ]} /></div>
    <div><h3>Backlog</h3><${Chart} title="Waiting messages" ...${common} format=${formatCompact} series=${[
      { name: "waiting", colour: "var(--series-3)", filled: true, values: of((point) => point.waiting) },
    ]} /></div>
    <div><h3>Oldest waiting</h3><${Chart} title="Waiting time of the oldest message" ...${common} height=${150} isDuration format=${(ms) => (ms === 0 ? "0" : formatDuration(ms))} series=${[
      { name: "oldest", colour: "var(--series-6)", filled: true, values: of((point) => point.oldest_ms ?? 0) },
    ]} /></div>
    <div><h3>Running and workers</h3><${Chart} title="Running messages and live workers" ...${common} height=${150} format=${formatCompact} series=${[
      { name: "running", colour: "var(--series-5)", filled: true, values: of((point) => point.running) },
      { name: "workers", colour: "var(--series-1)", values: of((point) => point.workers) },
    ]} /></div>
  </div>`;
}

export function ChannelCharts({ data, onZoom }) {
  const { start_at: from, to_at: to, step_ms: step, points } = data;
  const { times, of } = useMemo(() => fillSteps(points, Math.max(from, data.from_at ?? to), to, step), [data]);
  const perMinute = (pick) => of(pick).map((many) => ((many ?? 0) * 60_000) / step); // no row means no attempts
  const common = { times, from, to, height: 140, onZoom };
  return html`<div class="columns charts">
    <div><h3>Finished attempts per minute</h3>
    <${Chart} title="Finished attempts per minute" ...${common} format=${(n) => formatDecimal(n ?? 0)} series=${[
      { name: "completed", colour: "var(--series-4)", filled: true, values: perMinute((point) => point.completed) },
      { name: "failed", colour: "var(--series-2)", values: perMinute((point) => point.failed + point.expired + point.died) },
    ]} /></div>
    <div><h3>Mean waiting and running time</h3>
    <${Chart} title="Mean waiting and running time" ...${common} isDuration format=${(ms) => (ms === 0 ? "0" : formatDuration(ms))} series=${[
      { name: "waited", colour: "var(--series-3)", values: of((point) => point.wait_ms) },
      { name: "ran", colour: "var(--series-5)", values: of((point) => point.run_ms) },
    ]} /></div>
  </div>`;
}
