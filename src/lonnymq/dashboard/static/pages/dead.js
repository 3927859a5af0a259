// What is out of attempts, by error, to be queued again or deleted after a look at how many.
import { html, useState } from "../lib/html.js";
import { count, plural } from "../lib/format.js";
import { useHere, useQueueResource } from "../lib/here.js";
import { replaceAddress } from "../lib/router.js";
import { Act } from "../parts/dialog.js";
import { Figure, Name } from "../parts/marks.js";
import { Empty, Notice, Shown } from "../parts/states.js";
import { Table } from "../parts/table.js";
import { Ago } from "../parts/time.js";
import { Title } from "../parts/title.js";

export function Dead() {
  const { search, link } = useHere();
  const filter = { channel: search.get("channel") ?? "", kind: search.get("kind") ?? "" };
  const found = useQueueResource("dead/groups", filter);
  const some = found.data?.groups.length > 0;
  const filtered = Boolean(filter.channel || filter.kind);
  const body = filtered ? { channel: filter.channel || null, kind: filter.kind || null } : { all: true };
  const words = filtered ? "those found" : "all";
  return html`<${Title} title="Dead" over="Messages that are out of attempts">
      ${some && html`<${Act} label=${`Redrive ${words}`} action="redrive" body=${body} title=${`Queue ${words} again?`} verb="Redrive" onDone=${found.reload} />
        <${Act} grave label=${`Purge ${words}`} action="purge_dead" body=${body} title=${`Delete ${words}?`} verb="Delete them" onDone=${found.reload} />`}
    <//>
    <section class="card flush">
      <${Filter} ...${filter} onFilter=${(next) => replaceAddress(link("dead", [], next))} />
      <${Shown} of=${found}>${(data) => (data.groups.length ? html`
        ${!data.complete && html`<div class="within"><${Notice} title=${`Grouped from the newest ${count(data.looked_at)} of ${count(data.total.value)}.`} /></div>`}
        <${Groups} groups=${data.groups} filter=${filter} onDone=${found.reload} />`
        : filtered ? html`<${Empty} title="No dead message of that sort"><p>Take the filter away to see all.</p><//>`
          : html`<${Empty} title="Nothing is dead"><p>A message that fails as often as its channel allows comes here, with its error, until somebody redrives or purges it.</p><//>`)}<//>
    </section>`;
}

function Filter({ channel, kind, onFilter }) {
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

function Groups({ groups, filter, onDone }) {
  const { link } = useHere();
  const body = (group) => ({ group: group.group, channel: filter.channel || null, kind: filter.kind || null });
  const columns = [
    { key: "error", label: "Error", what: true, cell: (group) => html`<a class="cut-2" href=${link("dead_group", [group.group], filter)}><code dir="auto">${group.error || "no error was given"}</code></a>` },
    { key: "count", label: "Messages", number: true, cell: (group) => html`<${Figure} of=${{ value: group.count }} />` },
    { key: "channels", label: "Channels", cell: (group) => html`${group.example_channels.slice(0, 2).map((name, i) => html`${i > 0 && ", "}<a href=${link("channel", [name])}><${Name} of=${short(name)} /></a>`)}${group.channels > Math.min(2, group.example_channels.length) && html`<span class="soft"> and ${plural(group.channels - Math.min(2, group.example_channels.length), "other")}</span>`}` },
    { key: "kinds", label: "Kinds", cell: (group) => group.kinds.map((kind, i) => html`${i > 0 && ", "}<${Name} of=${kind ?? "none"} />`) },
    { key: "last", label: "Last", number: true, cell: (group) => html`<${Ago} at=${group.last_at} />` },
    { key: "acts", label: "Actions", acts: true, hideLabel: true, cell: (group) => html`
      <${Act} small label="Redrive" action="redrive" body=${body(group)} title="Queue these messages again?" verb="Redrive" onDone=${onDone} />
      <${Act} small grave label="Purge" action="purge_dead" body=${body(group)} title="Delete these dead messages?" verb="Delete them" onDone=${onDone} />` },
  ];
  return html`<${Table} caption="Dead messages by error" columns=${columns} rows=${groups} rowKey=${(group) => group.group} />`;
}

const short = (name) => (name.length > 40 ? `${name.slice(0, 40)}…` : name);
