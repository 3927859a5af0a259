// Who is at work, and who has fallen silent.
import { html } from "../lib/html.js";
import { count, NONE } from "../lib/format.js";
import { useQueueResource } from "../lib/here.js";
import { Name, OfLimit, State } from "../parts/marks.js";
import { Empty, Shown } from "../parts/states.js";
import { Table } from "../parts/table.js";
import { Age, Ago } from "../parts/time.js";
import { Title } from "../parts/title.js";

const stateOf = (worker) => (!worker.alive ? "silent" : worker.stopping ? "stopping" : "alive");
const known = (value) => (value == null ? NONE : value);

const COLUMNS = [
  { key: "name", label: "Worker", what: true, cell: (row) => html`<span class="cut-2"><${Name} of=${row.name} /></span>` },
  { key: "state", label: "State", hideLabel: true, cell: (row) => html`<${State} of=${stateOf(row)} />` },
  { key: "running", label: "Running", number: true, cell: (row) => html`<${OfLimit} used=${row.running} limit=${row.concurrency} what="slots busy" />` },
  { key: "done", label: "Done, failed", number: true, cell: (row) => (row.about.completed == null ? NONE : `${count(row.about.completed)}, ${count((row.about.retrying ?? 0) + (row.about.dead ?? 0))}`) },
  { key: "kinds", label: "Kinds", what: true, cell: (row) => html`<span class="cut-2">${(row.about.kinds ?? []).map((kind, i) => html`${i > 0 && ", "}<${Name} of=${String(kind)} />`)}</span>` },
  { key: "where", label: "Where", cell: (row) => html`<span class="brief"><${Name} of=${`${known(row.about.host)}, ${known(row.about.pid)}`} /></span>` },
  { key: "up", label: "Up for", number: true, cell: (row) => html`<${Age} since=${row.started_at} />` },
  { key: "seen", label: "Seen", number: true, cell: (row) => html`<${Ago} at=${row.seen_at} />` },
];

export function Workers() {
  const found = useQueueResource("workers");
  return html`<${Title} title="Workers" over="A worker says every 10 s that it is there" />
    <section class="card flush"><${Shown} of=${found}>${({ workers }) => (workers.length
      ? html`<${Table} caption="Workers" columns=${COLUMNS} rows=${workers} rowKey=${(row) => row.name} />`
      : html`<${Empty} title="No worker is there"><p>Start one where your handlers are: <code>lonnymq worker jobs:worker</code></p><p>Messages wait meanwhile; none is lost.</p><//>`)}<//></section>`;
}
