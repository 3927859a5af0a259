// What needs attention now: a row per tenant with the reason, and what to do about it.
import { html } from "../lib/html.js";
import { ActionButton } from "./action_dialog.js";
import { Loaded } from "./status.js";
import { Table } from "./table.js";
import { Name, StateBadge } from "./values.js";
import { useQueue, useQueueResource } from "../lib/queue.js";

const REASONS = {
  no_workers: ["no workers", "bad"], failing: ["failing", "bad"], dying: ["new dead", "bad"], paused: ["paused", "warn"],
  saturated: ["at limit", "warn"], throttled: ["throttled", "warn"], old: ["late", "warn"],
};

export function Attention() {
  const { link } = useQueue();
  const found = useQueueResource("attention", {}, { every: 5 });
  const channel = (row) => (row.channel == null ? html`<a href=${link("workers")}>the whole queue</a>` : html`<a class="cut-2" href=${link("channel", [row.channel])}><${Name} of=${row.channel} /></a>`);
  const columns = [
    { key: "channel", label: "Channel", what: true, cell: channel },
    { key: "reason", label: "Reason", hideLabel: true, cell: (row) => html`<${StateBadge} of=${REASONS[row.reason][0]} tone=${REASONS[row.reason][1]} />` },
    { key: "wrong", label: "What is wrong", what: true, cell: (row) => row.explanation },
    { key: "advice", label: "What to do", what: true, cell: (row) => html`<span class="soft">${row.advice}</span>` },
    { key: "acts", label: "Actions", acts: true, hideLabel: true, cell: (row) => html`<${NextStep} row=${row} onDone=${found.reload} />` },
  ];
  return html`<section class="card flush attention" aria-labelledby="attention"><header><h2 id="attention">Needs attention</h2>
      ${found.data?.rows.length === 0 && html`<p>Nothing. No channel fails, is paused with messages, or waits for longer than 5 minutes.</p>`}
      ${found.data && !found.data.complete && html`<p>the gravest ${found.data.rows.length}</p>`}</header>
    ${(!found.data || found.data.rows.length > 0) && html`<${Loaded} of=${found}>${({ rows }) => html`<${Table} caption="What needs attention" columns=${columns} rows=${rows} rowKey=${(row) => `${row.reason} ${row.channel}`} />`}<//>`}
  </section>`;
}

function NextStep({ row, onDone }) {
  const { link } = useQueue();
  if (row.channel == null) return html`<code>lonnymq worker jobs:worker</code>`;
  if (row.reason === "paused") return html`<${ActionButton} small label="Resume" action="resume" body=${{ channel: row.channel }} title=${html`Resume <${Name} of=${row.channel} />?`} onDone=${onDone} />`;
  if (row.reason === "dying") return html`<a class="button small" href=${link("dead", [], { channel: row.channel })}>Show errors</a>`;
  return html`<a class="button small" href=${link("channel", [row.channel])}>Show channel</a>`;
}
