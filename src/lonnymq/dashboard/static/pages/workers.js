// The workers and their heartbeats.
import { html } from "../lib/html.js";
import { Empty, Loaded } from "../components/status.js";
import { Table } from "../components/table.js";
import { Elapsed, Name, PageTitle, RelativeTime, StateBadge, UsageBar } from "../components/values.js";
import { formatCount, NONE } from "../lib/format.js";
import { useQueue, useQueueResource } from "../lib/queue.js";

const findState = (worker) => (!worker.alive ? "silent" : worker.stopping ? "stopping" : "alive");
const known = (value) => (value == null ? NONE : value);

const COLUMNS = [
  { key: "name", label: "Worker", what: true, cell: (row) => html`<span class="cut-2"><${Name} of=${row.name} /></span>` },
  { key: "state", label: "State", hideLabel: true, cell: (row) => html`<${StateBadge} of=${findState(row)} />` },
  { key: "running", label: "Running", number: true, cell: (row) => html`<${RunningLink} row=${row} />` },
  { key: "done", label: "Done, failed", number: true, cell: (row) => (row.about.completed == null ? NONE : `${formatCount(row.about.completed)}, ${formatCount((row.about.retrying ?? 0) + (row.about.dead ?? 0))}`) },
  { key: "kinds", label: "Kinds", what: true, cell: (row) => html`<span class="cut-2">${(row.about.kinds ?? []).map((kind, i) => html`${i > 0 && ", "}<${Name} of=${String(kind)} />`)}</span>` },
  { key: "where", label: "Host, process", cell: (row) => html`<span class="brief"><${Name} of=${`${known(row.about.host)}, ${known(row.about.pid)}`} /></span>` },
  { key: "up", label: "Uptime", number: true, cell: (row) => html`<${Elapsed} since=${row.started_at} />` },
  { key: "seen", label: "Last heartbeat", number: true, cell: (row) => html`<${RelativeTime} at=${row.seen_at} />` },
];

/** How many messages a worker runs, with a link to these messages. */
function RunningLink({ row }) {
  const { link } = useQueue();
  return html`<a href=${link("messages", [], { state: "running", worker: row.name })} aria-label=${`${formatCount(row.running)} of ${formatCount(row.concurrency)} running, show them`}><${UsageBar} used=${row.running} limit=${row.concurrency} what="busy slots" /></a>`;
}

export function Workers() {
  const found = useQueueResource("workers");
  return html`<${PageTitle} title="Workers" over="Every worker sends a heartbeat every 10 s" />
    <section class="card flush"><${Loaded} of=${found}>${({ workers }) => (workers.length
      ? html`<${Table} caption="Workers" columns=${COLUMNS} rows=${workers} rowKey=${(row) => row.name} />`
      : html`<${Empty} title="No workers"><p>Start a worker: <code>lonnymq worker jobs:worker</code></p><p>Messages wait until a worker runs. No message is lost.</p><//>`)}<//></section>`;
}
