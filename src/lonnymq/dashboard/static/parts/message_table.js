// Live messages as rows.
import { html } from "../lib/html.js";
import { bytes, NONE } from "../lib/format.js";
import { useHere } from "../lib/here.js";
import { Name, State } from "./marks.js";
import { Table } from "./table.js";
import { Ago } from "./time.js";

export function MessageTable({ rows }) {
  const { link } = useHere();
  const columns = [
    { key: "id", label: "Message", cell: (row) => html`<a href=${link("message", [row.id])}>${row.id}</a>${row.name && html` <span class="soft cut"><${Name} of=${row.name} /></span>`}` },
    { key: "state", label: "State", hideLabel: true, what: true, cell: (row) => html`<${State} of=${row.state} />${row.worker && html` <span class="soft">by <${Name} of=${row.worker} /></span>`}${row.error && html` <span class="cut soft" title=${row.error}>${row.error}</span>`}` },
    { key: "kind", label: "Kind", cell: (row) => (row.kind == null ? NONE : html`<span class="brief"><${Name} of=${row.kind} /></span>`) },
    { key: "due", label: "Due", number: true, cell: (row) => html`<${Ago} at=${row.dequeue_at} />` },
    { key: "attempt", label: "Attempts", number: true, cell: (row) => row.attempt },
    { key: "size", label: "Size", number: true, cell: (row) => bytes(row.size) },
    { key: "preview", label: "Content", what: true, cell: (row) => html`<code class="cut">${row.preview}</code>` },
  ];
  return html`<${Table} caption="Messages" columns=${columns} rows=${rows} rowKey=${(row) => row.id} />`;
}
