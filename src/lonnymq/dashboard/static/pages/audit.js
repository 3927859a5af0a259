// Who did what, newest first.
import { html, useState } from "../lib/html.js";
import { count, NONE, plural } from "../lib/format.js";
import { useQueueResource } from "../lib/here.js";
import { Name } from "../parts/marks.js";
import { Empty, Shown } from "../parts/states.js";
import { Pager, Table } from "../parts/table.js";
import { Ago } from "../parts/time.js";
import { Title } from "../parts/title.js";

const word = (value) => (typeof value === "string" ? value : JSON.stringify(value));
const asked = ({ options, ...rest }) => Object.entries({ ...rest, ...options }).map(([key, value]) => `${key} ${word(value)}`).join(", ") || NONE;
const answered = ({ answer, count: many }) => (many == null || many === 1 ? word(answer ?? NONE) : `${word(answer)}, ${count(many)}`);

const COLUMNS = [
  { key: "what", label: "Action", cell: (row) => String(row.action).replaceAll("_", " ") },
  { key: "at", label: "When", cell: (row) => html`<${Ago} at=${row.at} />` },
  { key: "who", label: "Who", cell: (row) => (row.who == null ? NONE : html`<${Name} of=${row.who} />`) },
  { key: "subject", label: "On", what: true, cell: (row) => (row.subject == null ? NONE : html`<span class="cut-2"><${Name} of=${row.subject} /></span>`) },
  { key: "with", label: "With", what: true, cell: (row) => html`<code class="cut-2" dir="auto">${asked(row.parameters ?? {})}</code>` },
  { key: "answer", label: "Answer", what: true, cell: (row) => html`<code class="cut-2" dir="auto">${answered(row.answer ?? {})}</code>` },
];

export function Audit() {
  const [cursor, setCursor] = useState("");
  const found = useQueueResource("audit", { cursor, limit: 50 }, { every: 2 });
  return html`<${Title} title="Audit" over="What was done from this page, and by whom" />
    <section class="card flush"><${Shown} of=${found}>${(data) => (data.entries.length || cursor
      ? html`<${Table} caption="Audit log" columns=${COLUMNS} rows=${data.entries} rowKey=${(row) => row.id} />
        <${Pager} said=${`${plural(data.entries.length, "entry", "entries")} shown, newest first`} first=${cursor !== ""} next=${data.next} onFirst=${() => setCursor("")} onNext=${() => setCursor(data.next)} />`
      : html`<${Empty} title="Nothing was done from here yet"><p>Every action leaves an entry: who, what, on which channel, and what came of it.</p><//>`)}<//></section>`;
}
