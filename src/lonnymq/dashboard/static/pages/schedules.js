// Schedules: the next run, the last message, and actions.
import { html } from "../lib/html.js";
import { ActionButton } from "../components/action_dialog.js";
import { Empty, Loaded } from "../components/status.js";
import { Table } from "../components/table.js";
import { Name, PageTitle, RelativeTime, StateBadge } from "../components/values.js";
import { formatDuration, NONE } from "../lib/format.js";
import { useQueue, useQueueResource } from "../lib/queue.js";

const MISSED = { skip: "skipped", once: "run once", all: "all run" };

export function Schedules() {
  const { link } = useQueue();
  const found = useQueueResource("schedules");
  const body = (row) => ({ name: row.name });
  const columns = [
    { key: "name", label: "Schedule", what: true, cell: (row) => html`<span class="cut-2"><${Name} of=${row.name} /></span>` },
    { key: "when", label: "When", cell: (row) => (row.cron ? html`<code>${row.cron}</code> <span class="soft">${row.timezone}</span>` : `every ${formatDuration(row.every_ms)}`) },
    { key: "into", label: "Creates", cell: (row) => html`${row.kind != null && html`<${Name} of=${row.kind} /> in `}<a href=${link("channel", [row.channel])}><${Name} of=${row.channel} /></a>` },
    { key: "next", label: "Next", number: true, cell: (row) => (row.paused ? html`<${StateBadge} of="paused" />` : row.next_at == null ? "when a worker runs" : html`<${RelativeTime} at=${row.next_at} />`) },
    { key: "last", label: "Last message", number: true, cell: (row) => (row.message_id == null ? row.answer ?? NONE : html`<a href=${link("message", [row.message_id])}>${row.message_id}</a>`) },
    { key: "misfire", label: "Misfire runs are", cell: (row) => MISSED[row.misfire] ?? row.misfire },
    { key: "acts", label: "Actions", acts: true, hideLabel: true, cell: (row) => html`
      <${ActionButton} small label="Run now" action="run_schedule" body=${body(row)} title=${html`Run <${Name} of=${row.name} /> now?`} verb="Run now" onDone=${found.reload} />
      ${row.paused
        ? html`<${ActionButton} small label="Resume" action="resume_schedule" body=${body(row)} title=${html`Resume <${Name} of=${row.name} />?`} onDone=${found.reload} />`
        : html`<${ActionButton} small label="Pause" action="pause_schedule" body=${body(row)} title=${html`Pause <${Name} of=${row.name} />?`} onDone=${found.reload} />`}` },
  ];
  return html`<${PageTitle} title="Schedules" over="Workers create these messages when they are due" />
    <section class="card flush"><${Loaded} of=${found}>${({ schedules }) => (schedules.length
      ? html`<${Table} caption="Schedules" columns=${columns} rows=${schedules} rowKey=${(row) => row.name} />`
      : html`<${Empty} title="No schedule yet"><p>Declare a schedule in a worker, <code>worker.schedule(…)</code>, or run <code>lonnymq schedule set</code></p><//>`)}<//></section>`;
}
