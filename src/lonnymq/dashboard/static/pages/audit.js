// The audit log, newest first.
import { html, useState } from "../lib/html.js";
import { Empty, Loaded } from "../components/status.js";
import { Pager, Table } from "../components/table.js";
import { Name, PageTitle, RelativeTime } from "../components/values.js";
import { formatCount, NONE, pluralize } from "../lib/format.js";
import { useQueue, useQueueResource } from "../lib/queue.js";

const formatValue = (value) => (typeof value === "string" ? value : JSON.stringify(value));
const formatChange = ([key, value], before) => (before && key in before ? `${key} ${formatValue(before[key])} → ${formatValue(value)}` : `${key} ${formatValue(value)}`);
const formatParameters = ({ options, before, ...rest }) => [...Object.entries(rest).map((one) => formatChange(one)), ...Object.entries(options ?? {}).map((one) => formatChange(one, before))].join(", ") || NONE;
const formatResult = ({ answer, count: many }) => (many == null || many === 1 ? formatValue(answer ?? NONE) : `${formatValue(answer)}, ${formatCount(many)}`);

const COLUMNS = [
  { key: "what", label: "Action", cell: (row) => String(row.action).replaceAll("_", " ") },
  { key: "at", label: "When", cell: (row) => html`<${RelativeTime} at=${row.at} />` },
  { key: "who", label: "User", cell: (row) => (row.who == null ? NONE : html`<${Name} of=${row.who} />`) },
  { key: "subject", label: "Subject", what: true, cell: (row) => (row.subject == null ? NONE : html`<span class="cut-2"><${Name} of=${row.subject} /></span>`) },
  { key: "with", label: "Parameters", what: true, cell: (row) => html`<code class="cut-2" dir="auto">${formatParameters(row.parameters ?? {})}</code>` },
  { key: "answer", label: "Result", what: true, cell: (row) => html`<code class="cut-2" dir="auto">${formatResult(row.answer ?? {})}</code>` },
];

const ACTIONS = [
  "pause", "resume", "set_limits", "cancel", "cancel_many", "edit_dead", "purge", "redrive", "purge_dead",
  "run_schedule", "pause_schedule", "resume_schedule",
];

function AuditFilter({ user, action, subject, onFilter }) {
  const [fields, setFields] = useState({ user, action, subject });
  const type = (name) => (event) => setFields({ ...fields, [name]: event.target.value });
  const submit = (event) => {
    event.preventDefault();
    onFilter(fields);
  };
  return html`<form class="toolbar" role="search" aria-label="Filter the audit log" onSubmit=${submit}>
    <label class="field"><span>User</span><input class="input" type="search" value=${fields.user} onInput=${type("user")} placeholder="all" autocomplete="off" /></label>
    <label class="field"><span>Action</span><select class="input" value=${fields.action} onChange=${(event) => onFilter({ ...fields, action: event.target.value })}>
      <option value="">all</option>${ACTIONS.map((one) => html`<option key=${one} value=${one}>${one.replaceAll("_", " ")}</option>`)}</select></label>
    <label class="field"><span>Subject</span><input class="input" type="search" value=${fields.subject} onInput=${type("subject")} placeholder="acme" autocomplete="off" /></label>
    <button class="button">Filter</button></form>`;
}

export function Audit() {
  const { link, search } = useQueue();
  const cursor = search.get("cursor") ?? "";
  const filter = { user: search.get("user") ?? "", action: search.get("action") ?? "", subject: search.get("subject") ?? "" };
  const isFiltered = Boolean(filter.user || filter.action || filter.subject);
  const go = (to) => { location.hash = link("audit", [], { ...filter, cursor: to }); };
  const found = useQueueResource("audit", { ...filter, cursor, limit: 50 }, { every: 2 });
  return html`<${PageTitle} title="Audit" over="Actions of all users" />
    <section class="card flush">
    <${AuditFilter} key=${JSON.stringify(filter)} ...${filter} onFilter=${(next) => { location.hash = link("audit", [], next); }} />
    <${Loaded} of=${found}>${(data) => (data.entries.length || cursor
      ? html`<${Table} caption="Audit log" columns=${COLUMNS} rows=${data.entries} rowKey=${(row) => row.id} />
        <${Pager} text=${`${pluralize(data.entries.length, "entry", "entries")} shown, newest first`} first=${cursor !== ""} next=${data.next} onFirst=${() => go("")} onNext=${() => go(data.next)} />`
      : isFiltered ? html`<${Empty} title="No entry matches"><p>${data.next ? "The newest 10,000 entries were searched." : "Remove the filter to see all entries."}</p><//>`
      : html`<${Empty} title="No actions yet"><p>The log gets an entry for every action: the user, the action, the channel and the result.</p><//>`)}<//></section>`;
}
