// The queue's last hour or day from its samples.
import { html, useMemo } from "../lib/html.js";
import { compact, duration, rate } from "../lib/format.js";
import { Chart } from "./chart.js";
import { Notice } from "./states.js";

/** Points on their steps, with null where nobody has measured; a step that is not over yet would look like a fall. */
export function onSteps(points, from, to, step) {
  const by = new Map(points.map((point) => [Math.floor(point.at / step), point]));
  const times = [];
  const rows = [];
  for (let n = Math.ceil(from / step); (n + 1) * step <= to; n += 1) {
    times.push(n * step);
    rows.push(by.get(n) ?? null);
  }
  return { times, of: (pick) => rows.map((row) => (row === null ? null : pick(row))) };
}

export function QueueCharts({ data }) {
  const { from_at: from, now_at: to, step_ms: step, points } = data;
  const { times, of } = useMemo(() => onSteps(points, from, to, step), [data]);
  const perSecond = (key) => of((point) => (point[key] == null ? null : (point[key] * 1_000) / step));
  if (!data.sampled) return html`<${Notice} title="Charts begin when a worker runs."><p>A worker takes a sample of the queue every few seconds; this queue has had none yet.</p><//>`;
  const common = { times, from, to };
  return html`<div class="columns charts">
    <div><h3>Throughput</h3><${Chart} title="Messages in and out" ...${common} format=${rate} series=${[
      { name: "in", colour: "var(--series-1)", values: perSecond("created") },
      { name: "out", colour: "var(--series-4)", filled: true, values: perSecond("completed") },
      { name: "failed", colour: "var(--series-2)", values: perSecond("failed") },
    ]} /></div>
    <div><h3>Backlog</h3><${Chart} title="Messages that wait" ...${common} format=${compact} series=${[
      { name: "waiting", colour: "var(--series-3)", filled: true, values: of((point) => point.waiting) },
    ]} /></div>
    <div><h3>Oldest waiting</h3><${Chart} title="How long the oldest has waited" ...${common} height=${150} isDuration format=${(ms) => (ms === 0 ? "0" : duration(ms))} series=${[
      { name: "oldest", colour: "var(--series-6)", filled: true, values: of((point) => point.oldest_ms ?? 0) },
    ]} /></div>
    <div><h3>Running and workers</h3><${Chart} title="Messages that run, and workers alive" ...${common} height=${150} format=${compact} series=${[
      { name: "running", colour: "var(--series-5)", filled: true, values: of((point) => point.running) },
      { name: "workers", colour: "var(--series-1)", values: of((point) => point.workers) },
    ]} /></div>
  </div>`;
}
