// Messages that are created again and again: when next, what became of the last, and now if need be.
import { html } from "../lib/html.js";
import { duration, NONE } from "../lib/format.js";
import { useHere, useQueueResource } from "../lib/here.js";
import { Act } from "../parts/dialog.js";
import { Name, State } from "../parts/marks.js";
import { Empty, Shown } from "../parts/states.js";
import { Table } from "../parts/table.js";
import { Ago } from "../parts/time.js";
import { Title } from "../parts/title.js";

const MISSED = { skip: "let be", once: "made up for once", all: "made up for" };

export function Schedules() {
  const { link } = useHere();
  const found = useQueueResource("schedules");
  const body = (row) => ({ name: row.name });
  const columns = [
    { key: "name", label: "Schedule", what: true, cell: (row) => html`<span class="cut-2"><${Name} of=${row.name} /></span>` },
    { key: "when", label: "When", cell: (row) => (row.cron ? html`<code>${row.cron}</code> <span class="soft">${row.zone}</span>` : `every ${duration(row.every_ms)}`) },
    { key: "into", label: "Creates", cell: (row) => html`${row.kind != null && html`<${Name} of=${row.kind} /> in `}<a href=${link("channel", [row.channel])}><${Name} of=${row.channel} /></a>` },
    { key: "next", label: "Next", number: true, cell: (row) => (row.paused ? html`<${State} of="paused" />` : row.next_at == null ? "when a worker looks" : html`<${Ago} at=${row.next_at} />`) },
    { key: "last", label: "Last", number: true, cell: (row) => (row.message_id == null ? row.answer ?? NONE : html`<a href=${link("message", [row.message_id])}>${row.message_id}</a>`) },
    { key: "missed", label: "Missed ones are", cell: (row) => MISSED[row.missed] ?? row.missed },
    { key: "acts", label: "Actions", acts: true, hideLabel: true, cell: (row) => html`
      <${Act} small label="Run now" action="run_schedule" body=${body(row)} title=${html`Run <${Name} of=${row.name} /> now?`} verb="Run it now" onDone=${found.reload} />
      ${row.paused
        ? html`<${Act} small label="Resume" action="resume_schedule" body=${body(row)} title=${html`Resume <${Name} of=${row.name} />?`} onDone=${found.reload} />`
        : html`<${Act} small label="Pause" action="pause_schedule" body=${body(row)} title=${html`Pause <${Name} of=${row.name} />?`} onDone=${found.reload} />`}` },
  ];
  return html`<${Title} title="Schedules" over="Workers create these messages when their time comes" />
    <section class="card flush"><${Shown} of=${found}>${({ schedules }) => (schedules.length
      ? html`<${Table} caption="Schedules" columns=${columns} rows=${schedules} rowKey=${(row) => row.name} />`
      : html`<${Empty} title="No schedule yet"><p>Declare one in a worker, <code>worker.schedule(…)</code>, or set one from a shell: <code>lonnymq schedule set</code></p><//>`)}<//></section>`;
}
