// A channel's attempts of the last hour or day: how many ended how, how long they waited and ran.
import { html, useMemo } from "../lib/html.js";
import { decimal, duration } from "../lib/format.js";
import { Chart } from "./chart.js";
import { onSteps } from "./queue_charts.js";

const SPANS = { hour: 3_600_000, day: 86_400_000 };

export function ChannelCharts({ data, span }) {
  const { now_at: to, step_ms: step, points } = data;
  const from = to - SPANS[span];
  const { times, of } = useMemo(() => onSteps(points, Math.max(from, data.from_at ?? to), to, step), [data]);
  const aMinute = (pick) => of(pick).map((many) => ((many ?? 0) * 60_000) / step); // no row: nothing ended
  const common = { times, from, to, height: 140 };
  return html`<div class="columns charts">
    <div><h3>Attempts that ended, a minute</h3>
    <${Chart} title="Attempts that ended, a minute" ...${common} format=${(n) => decimal(n ?? 0)} series=${[
      { name: "completed", colour: "var(--series-4)", filled: true, values: aMinute((point) => point.completed) },
      { name: "failed", colour: "var(--series-2)", values: aMinute((point) => point.failed + point.expired + point.died) },
    ]} /></div>
    <div><h3>Mean wait and run</h3>
    <${Chart} title="Mean time waiting and running" ...${common} isDuration format=${(ms) => (ms === 0 ? "0" : duration(ms))} series=${[
      { name: "waited", colour: "var(--series-3)", values: of((point) => point.wait_ms) },
      { name: "ran", colour: "var(--series-5)", values: of((point) => point.run_ms) },
    ]} /></div>
  </div>`;
}
