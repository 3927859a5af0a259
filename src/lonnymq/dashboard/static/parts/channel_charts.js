// A channel's last attempts, by the minute: how many ended how, how long they waited and ran.
import { html, useMemo } from "../lib/html.js";
import { decimal, duration } from "../lib/format.js";
import { Chart } from "./chart.js";
import { onSteps } from "./queue_charts.js";

export function ChannelCharts({ recent, nowAt }) {
  const { from_at: from, step_ms: step, points } = recent;
  const { times, of } = useMemo(() => onSteps(points, from, nowAt, step), [recent]);
  const zero = (key) => of((point) => point[key]).map((value) => value ?? 0);
  const common = { times, from, to: nowAt, height: 140 };
  return html`<div class="columns charts">
    <div><h3>Attempts that ended, a minute</h3>
    <${Chart} title="Attempts that ended, a minute" ...${common} format=${(n) => decimal(n ?? 0)} series=${[
      { name: "completed", colour: "var(--series-4)", filled: true, values: zero("completed") },
      { name: "failed", colour: "var(--series-2)", values: of((point) => point.failed + point.expired + point.died).map((n) => n ?? 0) },
    ]} /></div>
    <div><h3>Mean wait and run</h3>
    <${Chart} title="Mean time waiting and running" ...${common} isDuration format=${(ms) => (ms === 0 ? "0" : duration(ms))} series=${[
      { name: "waited", colour: "var(--series-3)", values: of((point) => point.wait_ms) },
      { name: "ran", colour: "var(--series-5)", values: of((point) => point.run_ms) },
    ]} /></div>
  </div>`;
}
