// The dead messages of one error, newest first.
import { html, useState } from "../lib/html.js";
import { bytes, NONE, plural } from "../lib/format.js";
import { useHere, useQueueResource } from "../lib/here.js";
import { Act } from "../parts/dialog.js";
import { Name } from "../parts/marks.js";
import { Empty, Shown } from "../parts/states.js";
import { Pager, Table } from "../parts/table.js";
import { Ago } from "../parts/time.js";
import { Title } from "../parts/title.js";

export function DeadGroup({ rest }) {
  const [group] = rest;
  const { link, search } = useHere();
  const [cursor, setCursor] = useState("");
  const filter = { channel: search.get("channel"), kind: search.get("kind") };
  const found = useQueueResource("dead", { group, ...filter, cursor, limit: 50 }, { every: 2 });
  const some = found.data?.messages.length > 0;
  const body = { group, channel: filter.channel || null, kind: filter.kind || null };
  return html`<${Title} over=${html`<a href=${link("dead", [], filter)}>Dead</a>`} title=${some ? html`<code class="cut-2" dir="auto">${found.data.messages[0].summary || "No error was given"}</code>` : "Dead messages of one error"}>
      ${some && html`<${Act} main label="Redrive these" action="redrive" body=${body} title="Queue these messages again?" verb="Redrive" onDone=${found.reload} />
        <${Act} grave label="Purge these" action="purge_dead" body=${body} title="Delete these dead messages?" verb="Delete them" onDone=${found.reload} />`}
    <//>
    <section class="card flush"><${Shown} of=${found}>${(data) => (data.messages.length || cursor
      ? html`<${Rows} rows=${data.messages} />
        <${Pager} said=${`${plural(data.messages.length, "message")} shown, newest first`} first=${cursor !== ""} next=${data.next} onFirst=${() => setCursor("")} onNext=${() => setCursor(data.next)} />`
      : html`<${Empty} title="None is left of this sort"><p><a href=${link("dead")}>Back to all that is dead</a></p><//>`)}<//></section>`;
}

function Rows({ rows }) {
  const { link } = useHere();
  const columns = [
    { key: "id", label: "Message", cell: (row) => html`<a href=${link("message", [row.id])}>${row.id}</a>` },
    { key: "channel", label: "Channel", what: true, cell: (row) => html`<a class="cut" href=${link("channel", [row.channel])}><${Name} of=${row.channel} /></a>` },
    { key: "kind", label: "Kind", cell: (row) => (row.kind == null ? NONE : html`<span class="brief"><${Name} of=${row.kind} /></span>`) },
    { key: "attempts", label: "Attempts", number: true, cell: (row) => row.attempt },
    { key: "died", label: "Died", number: true, cell: (row) => html`<${Ago} at=${row.died_at} />` },
    { key: "size", label: "Size", number: true, cell: (row) => bytes(row.size) },
    { key: "summary", label: "Error", what: true, cell: (row) => html`<code class="cut" dir="auto" title=${row.summary}>${row.summary}</code>` },
  ];
  return html`<${Table} caption="Dead messages" columns=${columns} rows=${rows} rowKey=${(row) => row.id} />`;
}
