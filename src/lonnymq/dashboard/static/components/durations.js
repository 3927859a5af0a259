// Outcomes and durations of attempts: percentiles beside means, of a channel or by kind.
import { html } from "../lib/html.js";
import { Table } from "./table.js";
import { FailedShare, Name } from "./values.js";
import { formatCount, formatDuration, NONE } from "../lib/format.js";

const duration = (ms) => (ms == null ? NONE : formatDuration(ms));
const HINT = "p50, p95 and p99: half, 95 % and 99 % of the attempts were not longer. Estimated within 1, 2, 5, 10 … ms";

export function ChannelDurations({ stats }) {
  const line = (name, of) => html`<div><dt>${name}</dt><dd title=${HINT}>mean ${duration(stats[`${of}_mean_ms`])} <span class="soft">· p50 ${duration(stats[`${of}_p50_ms`])} · p95 ${duration(stats[`${of}_p95_ms`])} · p99 ${duration(stats[`${of}_p99_ms`])}</span></dd></div>`;
  const bad = stats.failed + stats.expired + stats.died;
  return html`<section class="card"><header><h2>Attempts of the last hour</h2></header><dl class="values wide">
    <div><dt>Completed</dt><dd>${formatCount(stats.completed)}</dd></div>
    <div><dt>Failed</dt><dd>${formatCount(bad)} <${FailedShare} share=${stats.failed_share} /></dd></div>
    ${line("Waited", "wait")}${line("Ran", "run")}
  </dl></section>`;
}

export function KindTable({ kinds }) {
  const columns = [
    { key: "name", label: "Kind", what: true, cell: (row) => (row.name === "" ? html`<span class="soft">without a kind</span>` : html`<span class="cut-2"><${Name} of=${row.name} /></span>`) },
    { key: "completed", label: "Completed", number: true, cell: (row) => formatCount(row.completed) },
    { key: "failed", label: "Failed", number: true, cell: (row) => html`${formatCount(row.failed + row.expired + row.died)} <${FailedShare} share=${row.failed_share} />` },
    ...["wait", "run"].flatMap((of) => ["p50", "p95", "p99"].map((p) => ({
      key: `${of}_${p}`, label: `${of === "wait" ? "Waited" : "Ran"} ${p}`, number: true, cell: (row) => duration(row[`${of}_${p}_ms`]),
    }))),
  ];
  return html`<${Table} caption="Kinds of the last hour" columns=${columns} rows=${kinds} rowKey=${(row) => row.name} />`;
}
