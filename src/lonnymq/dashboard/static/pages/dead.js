// Dead messages grouped by error, and the messages of one group.
import { html, useState } from "../lib/html.js";
import { ActionButton } from "../components/action_dialog.js";
import { PURGE, REDRIVE, SelectionBar, useSelection } from "../components/selection.js";
import { Empty, Loaded, Notice } from "../components/status.js";
import { Pager, Table } from "../components/table.js";
import { Count, Name, PageTitle, RelativeTime } from "../components/values.js";
import { formatBytes, formatCount, NONE, pluralize } from "../lib/format.js";
import { useQueue, useQueueResource } from "../lib/queue.js";

export function Dead() {
  const { search, link } = useQueue();
  const filter = { channel: search.get("channel") ?? "", kind: search.get("kind") ?? "" };
  const found = useQueueResource("dead/groups", filter);
  const some = found.data?.groups.length > 0;
  const filtered = Boolean(filter.channel || filter.kind);
  const body = filtered ? { channel: filter.channel || null, kind: filter.kind || null } : { all: true };
  const words = filtered ? "found messages" : "all";
  return html`<${PageTitle} title="Dead" over="Messages without attempts left">
      ${some && html`<${ActionButton} label=${`Redrive ${words}`} action="redrive" body=${body} title=${`Queue ${words} again?`} verb="Redrive" onDone=${found.reload} />
        <${ActionButton} grave label=${`Purge ${words}`} action="purge_dead" body=${body} title=${`Delete ${words}?`} verb="Delete" onDone=${found.reload} />`}
    <//>
    <section class="card flush">
      <${DeadFilter} ...${filter} onFilter=${(next) => { location.hash = link("dead", [], next); }} />
      <${Loaded} of=${found}>${(data) => (data.groups.length ? html`
        ${!data.complete && html`<div class="within"><${Notice} title=${`Groups of the newest ${formatCount(data.looked_at)} of ${formatCount(data.total.value)}.`} /></div>`}
        <${DeadGroups} groups=${data.groups} filter=${filter} onDone=${found.reload} />`
        : filtered ? html`<${Empty} title="No dead message matches"><p>Remove the filter to see all dead messages.</p><//>`
          : html`<${Empty} title="No dead messages"><p>A message is dead after its last attempt failed. You can redrive or purge dead messages here.</p><//>`)}<//>
    </section>`;
}

function DeadFilter({ channel, kind, onFilter }) {
  const [fields, setFields] = useState({ channel, kind });
  const type = (key) => (event) => setFields({ ...fields, [key]: event.target.value });
  const submit = (event) => {
    event.preventDefault();
    onFilter(fields);
  };
  return html`<form class="toolbar" role="search" onSubmit=${submit}>
    <label class="field wide"><span>Channel</span><input class="input" type="search" value=${fields.channel} onInput=${type("channel")} placeholder="all" autocomplete="off" /></label>
    <label class="field"><span>Kind</span><input class="input" type="search" value=${fields.kind} onInput=${type("kind")} placeholder="all" autocomplete="off" /></label>
    <button class="button">Filter</button></form>`;
}

function DeadGroups({ groups, filter, onDone }) {
  const { link } = useQueue();
  const body = (group) => ({ group: group.group, channel: filter.channel || null, kind: filter.kind || null });
  const columns = [
    { key: "error", label: "Error", what: true, cell: (group) => html`<a class="cut-2" href=${link("dead_group", [group.group], filter)}><code dir="auto">${group.error || "no error text"}</code></a>` },
    { key: "count", label: "Messages", number: true, cell: (group) => html`<${Count} of=${{ value: group.count }} />` },
    { key: "channels", label: "Channels", cell: (group) => html`${group.example_channels.slice(0, 2).map((name, i) => html`${i > 0 && ", "}<a href=${link("channel", [name])}><${Name} of=${short(name)} /></a>`)}${group.channels > Math.min(2, group.example_channels.length) && html`<span class="soft"> and ${pluralize(group.channels - Math.min(2, group.example_channels.length), "other")}</span>`}` },
    { key: "kinds", label: "Kinds", cell: (group) => group.kinds.map((kind, i) => html`${i > 0 && ", "}<${Name} of=${kind ?? "none"} />`) },
    { key: "last", label: "Latest", number: true, cell: (group) => html`<${RelativeTime} at=${group.last_at} />` },
    { key: "acts", label: "Actions", acts: true, hideLabel: true, cell: (group) => html`
      <${ActionButton} small label="Redrive" action="redrive" body=${body(group)} title="Queue these messages again?" verb="Redrive" onDone=${onDone} />
      <${ActionButton} small grave label="Purge" action="purge_dead" body=${body(group)} title="Delete these dead messages?" verb="Delete" onDone=${onDone} />` },
  ];
  return html`<${Table} caption="Dead messages by error" columns=${columns} rows=${groups} rowKey=${(group) => group.group} />`;
}

const short = (name) => (name.length > 40 ? `${name.slice(0, 40)}…` : name);

export function DeadGroup({ rest }) {
  const [group] = rest;
  const { link, search } = useQueue();
  const cursor = search.get("cursor") ?? "";
  const go = (to) => { location.hash = link("dead_group", [group], { ...filter, cursor: to }); };
  const filter = { channel: search.get("channel"), kind: search.get("kind") };
  const found = useQueueResource("dead", { group, ...filter, cursor, limit: 50 }, { every: 2 });
  const some = found.data?.messages.length > 0;
  const selection = useSelection(found.data?.messages ?? [], [REDRIVE, PURGE]);
  const body = { group, channel: filter.channel || null, kind: filter.kind || null };
  return html`<${PageTitle} over=${html`<a href=${link("dead", [], filter)}>Dead</a>`} title=${some ? html`<code class="cut-2" dir="auto">${found.data.messages[0].summary || "No error text"}</code>` : "Dead messages with this error"}>
      ${some && html`<${ActionButton} main label="Redrive these" action="redrive" body=${body} title="Queue these messages again?" verb="Redrive" onDone=${found.reload} />
        <${ActionButton} grave label="Purge these" action="purge_dead" body=${body} title="Delete these dead messages?" verb="Delete" onDone=${found.reload} />`}
    <//>
    <section class="card flush"><${Loaded} of=${found}>${(data) => (data.messages.length || cursor
      ? html`<${SelectionBar} selection=${selection} onDone=${found.reload} />
        <${DeadTable} rows=${data.messages} selection=${selection} />
        <${Pager} text=${`${pluralize(data.messages.length, "message")} shown, newest first`} first=${cursor !== ""} next=${data.next} onFirst=${() => go("")} onNext=${() => go(data.next)} />`
      : html`<${Empty} title="No messages with this error are left"><p><a href=${link("dead")}>Back to all dead messages</a></p><//>`)}<//></section>`;
}

function DeadTable({ rows, selection }) {
  const { link } = useQueue();
  const columns = [
    selection.column,
    { key: "id", label: "Message", cell: (row) => html`<a href=${link("message", [row.id])}>${row.id}</a>` },
    { key: "channel", label: "Channel", what: true, cell: (row) => html`<a class="cut" href=${link("channel", [row.channel])}><${Name} of=${row.channel} /></a>` },
    { key: "kind", label: "Kind", cell: (row) => (row.kind == null ? NONE : html`<span class="brief"><${Name} of=${row.kind} /></span>`) },
    { key: "attempts", label: "Attempts", number: true, cell: (row) => row.attempt },
    { key: "died", label: "Died", number: true, cell: (row) => html`<${RelativeTime} at=${row.died_at} />` },
    { key: "size", label: "Size", number: true, cell: (row) => formatBytes(row.size) },
    { key: "summary", label: "Error", what: true, cell: (row) => html`<code class="cut" dir="auto" title=${row.summary}>${row.summary}</code>` },
  ].filter(Boolean);
  return html`<${Table} caption="Dead messages" columns=${columns} rows=${rows} rowKey=${(row) => row.id} />`;
}
