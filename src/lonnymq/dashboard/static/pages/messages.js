// Messages of all channels: by state, and found by channel, kind, key, worker or a field of the content.
import { html, useEffect, useState } from "../lib/html.js";
import { CANCEL, PURGE, REDRIVE, SelectionBar, useSelection } from "../components/selection.js";
import { Empty, Loaded } from "../components/status.js";
import { Pager, Table } from "../components/table.js";
import { Name, PageTitle, RelativeTime, StateBadge } from "../components/values.js";
import { formatCount, formatDuration, NONE, pluralize } from "../lib/format.js";
import { useQueue, useQueueResource } from "../lib/queue.js";

const STATES = [
  ["live", "all live"], ["running", "running"], ["waiting", "waiting"], ["scheduled", "scheduled"], ["retrying", "retrying"],
  ["dead", "dead"], ["completed", "recently completed"],
];
const FIELDS = ["channel", "kind", "key", "worker", "field", "value"];
const ACTIONS = { dead: [REDRIVE, PURGE], completed: [] };
const LIMIT = 50;

export function Messages() {
  const { link, search } = useQueue();
  const query = { state: search.get("state") ?? "live", ...Object.fromEntries(FIELDS.map((name) => [name, search.get(name) ?? ""])) };
  const cursor = search.get("cursor") ?? "";
  const found = useQueueResource("find", { ...query, cursor, limit: LIMIT }, { every: 3 });
  const go = (changes) => { location.hash = link("messages", [], { ...query, cursor: "", ...changes }); };
  return html`<${PageTitle} title="Messages" over="Of all channels, newest first" />
    <section class="card flush">
      <${SearchForm} key=${JSON.stringify(query)} query=${query} onSearch=${go} />
      <${Loaded} of=${found}>${(data) => html`<${Results} ...${{ data, query, cursor, go }} reload=${found.reload} />`}<//>
    </section>`;
}

function SearchForm({ query, onSearch }) {
  const { access } = useQueue();
  const [fields, setFields] = useState(query);
  const type = (name) => (event) => setFields({ ...fields, [name]: event.target.value });
  const submit = (event) => {
    event.preventDefault();
    onSearch(fields);
  };
  const input = (name, label, hint) => html`<label class="field"><span>${label}</span>
    <input class="input" type="search" name=${name} value=${fields[name]} onInput=${type(name)} placeholder=${hint} autocomplete="off" spellcheck=${false} /></label>`;
  return html`<form class="toolbar find" role="search" aria-label="Search messages" onSubmit=${submit}>
    <label class="field"><span>State</span><select class="input" name="state" value=${fields.state} onChange=${(event) => onSearch({ ...fields, state: event.target.value })}>
      ${STATES.map(([key, words]) => html`<option key=${key} value=${key}>${words}</option>`)}</select></label>
    ${input("channel", "Channel", "all")}${input("kind", "Kind", "all")}${input("key", "Key", "any")}${input("worker", "Worker", "any")}
    ${access?.shows_payloads && html`${input("field", "Content field", "user.id")}${input("value", "Value", "7")}`}
    <button class="button main">Search</button></form>`;
}

function Results({ data, query, cursor, go, reload }) {
  const selection = useSelection(data.messages, ACTIONS[query.state] ?? [CANCEL]);
  useEffect(selection.clear, [cursor, JSON.stringify(query)]);
  const looked = query.state === "completed" ? `of the latest ${pluralize(data.looked_at, "completion")}` : `${pluralize(data.looked_at, "message")} looked at`;
  const more = data.next ? ", there are more" : "";
  const text = `${formatCount(data.messages.length)} shown, ${looked}${more}`;
  return html`
    ${data.messages.length > 0 && html`<${SelectionBar} selection=${selection} onDone=${reload} />`}
    ${data.messages.length ? html`<${FoundTable} rows=${data.messages} state=${query.state} selection=${selection} />`
      : html`<${Empty} title="No message matches"><p>${formatCount(data.looked_at)} messages were looked at.${data.next ? " There are more: search further with “Next page”." : ""}</p><//>`}
    <${Pager} text=${text} first=${cursor !== ""} next=${data.next} onFirst=${() => go({})} onNext=${() => go({ cursor: data.next })} />`;
}

const TIMES = {
  running: ["Running since", (row) => row.dequeued_at], completed: ["Completed", (row) => row.finished_at], dead: ["Died", (row) => row.finished_at],
};

function FoundTable({ rows, state, selection }) {
  const { link } = useQueue();
  const [label, at] = TIMES[state] ?? ["Due", (row) => row.dequeue_at];
  const columns = [
    selection.column,
    { key: "id", label: "Message", cell: (row) => html`<a href=${link("message", [row.id])}>${row.id}</a>` },
    { key: "state", label: "State", hideLabel: true, cell: (row) => html`<${StateBadge} of=${row.state} />${row.progress != null && html` <span class="soft">${Math.round(100 * row.progress)} %</span>`}` },
    { key: "channel", label: "Channel", what: true, cell: (row) => html`<a class="cut" href=${link("channel", [row.channel])}><${Name} of=${row.channel} /></a>` },
    { key: "kind", label: "Kind", cell: (row) => (row.kind == null ? NONE : html`<span class="brief"><${Name} of=${row.kind} /></span>`) },
    { key: "key", label: "Key", cell: (row) => (row.key == null ? NONE : html`<span class="brief"><${Name} of=${row.key} /></span>`) },
    { key: "at", label, number: true, cell: (row) => html`<${RelativeTime} at=${at(row)} />` },
    { key: "attempts", label: "Attempts", number: true, cell: (row) => row.attempt },
    ["running", "completed"].includes(state) && { key: "worker", label: "Worker", cell: (row) => (row.worker == null ? NONE : html`<span class="brief"><${Name} of=${row.worker} /></span>`) },
    state === "completed" && { key: "ran", label: "Ran", number: true, cell: (row) => formatDuration(row.finished_at - row.dequeued_at) },
    { key: "content", label: ["dead", "retrying"].includes(state) ? "Error" : "Content", what: true, cell: (row) => html`<code class="cut short" dir="auto">${["dead", "retrying"].includes(state) ? row.error : row.preview}</code>` },
  ].filter(Boolean);
  return html`<${Table} caption="Messages found" columns=${columns} rows=${rows} rowKey=${(row) => `${row.id} ${row.attempt}`} />`;
}
