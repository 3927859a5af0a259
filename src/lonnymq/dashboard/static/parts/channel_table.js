// Channels as rows: what waits, what runs of how many, how fast of how fast, since when, what comes next, why it is held.
import { html } from "../lib/html.js";
import { duration } from "../lib/format.js";
import { useHere } from "../lib/here.js";
import { Figure, Name, OfLimit, RateOf, State } from "./marks.js";
import { Table } from "./table.js";
import { Age, Ago } from "./time.js";

function NextTurn({ row }) {
  if (row.next_at != null) return html`<${Ago} at=${row.next_at} />`;
  if (row.state === "ready") return "in turn";
  if (row.state === "saturated") return "when one ends";
  if (row.state === "paused") return "when resumed";
  return "–";
}

/** Why it is held, without what its state says already. */
export function heldBecause(row) {
  if (row.state === "throttled") return `one every ${duration(row.release_interval_ms)}`;
  const why = row.held.replace(/^It is [^:]*: /, "").replace(/\.$/, "");
  return why.charAt(0).toLowerCase() + why.slice(1);
}

export function ChannelTable({ caption, rows, sorted, onSort }) {
  const { link } = useHere();
  const columns = [
    { key: "channel", label: "Channel", sort: onSort && "name", what: true, cell: (row) => html`<a class="cut-2" href=${link("channel", [row.channel])}><${Name} of=${row.channel} /></a>` },
    { key: "state", label: "State", what: true, hideLabel: true, cell: (row) => html`<${State} of=${row.state} />${row.held && html` <span class="soft held" title=${row.held}>${heldBecause(row)}</span>`}` },
    { key: "waiting", label: "Waiting", sort: onSort && "waiting", number: true, cell: (row) => html`<${Figure} of=${row.waiting} />${row.scheduled?.value > 0 && html`<span class="soft" title="scheduled for later"> + <${Figure} of=${row.scheduled} /> later</span>`}` },
    { key: "running", label: "Running", sort: onSort && "running", number: true, cell: (row) => html`<${OfLimit} used=${row.running} limit=${row.max_concurrency} what="running" />` },
    { key: "rate", label: "Rate", sort: onSort && "rate", number: true, cell: (row) => html`<${RateOf} perSecond=${row.out_per_s} limit=${row.rate_limit_per_s} />` },
    { key: "oldest", label: "Oldest", sort: onSort && "oldest", number: true, cell: (row) => html`<${Age} since=${row.oldest_at} />` },
    { key: "next", label: "Next turn", number: true, cell: (row) => html`<${NextTurn} row=${row} />` },
    { key: "dead", label: "Dead", sort: onSort && "dead", number: true, cell: (row) => html`<${Figure} of=${row.dead} />` },
  ];
  return html`<${Table} ...${{ caption, columns, rows, sorted, onSort }} rowKey=${(row) => row.channel} />`;
}
