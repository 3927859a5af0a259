// A table of channels, and a note if a ranking contains only some channels.
import { html } from "../lib/html.js";
import { Table } from "./table.js";
import { Count, Elapsed, FailedShare, Name, RateOfLimit, RelativeTime, StateBadge, UsageBar } from "./values.js";
import { formatCount, formatDuration, NONE } from "../lib/format.js";
import { useQueue } from "../lib/queue.js";

function NextTurn({ row }) {
  if (row.next_at != null) return html`<${RelativeTime} at=${row.next_at} />`;
  if (row.state === "ready") return "soon";
  return "–";
}

/** The reason why a channel is held, without the state. */
export function formatHold(row) {
  if (row.state === "throttled") return `one message every ${formatDuration(row.min_interval_ms)}`;
  return row.held.replace(/^[^:]*: /, "").replace(/\.$/, "");
}

export function ChannelTable({ caption, rows, sorted, onSort }) {
  const { link } = useQueue();
  const columns = [
    { key: "channel", label: "Channel", sort: onSort && "name", what: true, cell: (row) => html`<a class="cut-2" href=${link("channel", [row.channel])}><${Name} of=${row.channel} /></a>` },
    { key: "state", label: "State", what: true, hideLabel: true, cell: (row) => html`<${StateBadge} of=${row.state} />${row.held && html` <span class="soft held" title=${row.held}>${formatHold(row)}</span>`}` },
    { key: "waiting", label: "Waiting", sort: onSort && "waiting", number: true, cell: (row) => html`<${Count} of=${row.waiting} />${row.scheduled?.value > 0 && html`<span class="soft" title="scheduled for later"> + <${Count} of=${row.scheduled} /> later</span>`}` },
    { key: "running", label: "Running", sort: onSort && "running", number: true, cell: (row) => html`<${UsageBar} used=${row.running} limit=${row.max_concurrency} what="running" />` },
    { key: "rate", label: "Rate", sort: onSort && "rate", number: true, cell: (row) => html`<${RateOfLimit} perSecond=${row.out_per_s} limit=${row.rate_limit_per_s} />` },
    { key: "failed", label: "Failed", sort: onSort && "failing", number: true, cell: (row) => (row.recent_failed == null ? NONE : html`<span title="attempts of the last 5 to 10 minutes">${formatCount(row.recent_failed)} <${FailedShare} share=${row.failed_share} /></span>`) },
    { key: "oldest", label: "Oldest", sort: onSort && "oldest", number: true, cell: (row) => html`<${Elapsed} since=${row.oldest_at} />` },
    { key: "next", label: "Next", number: true, cell: (row) => html`<${NextTurn} row=${row} />` },
    { key: "dead", label: "Dead", sort: onSort && "dead", number: true, cell: (row) => html`<${Count} of=${row.dead} />` },
  ];
  return html`<${Table} ...${{ caption, columns, rows, sorted, onSort }} rowKey=${(row) => row.channel} />`;
}

const RANKED = {
  waiting: "channels that are held, and channels in a sample of 300 pages of messages",
  running: "channels of the latest 2,000 leases",
  oldest: "channels with the longest wait, out of up to 4,400",
  rate: "channels of the latest 5,000 attempts, by completed messages",
  dead: "channels of the newest 10,000 dead messages",
};

export function isPartial({ ranked, searched, total }) {
  return ranked === "estimated" && searched < total.value;
}

export function RankingNote({ data, query, onAll }) {
  if (query.search || !isPartial(data)) return null;
  const which = query.state ? "the first 1,000 channels in this state" : RANKED[query.sort];
  return html`<p class="ranking"><span aria-hidden="true">≈</span> <span>${formatCount(data.searched)} of ${data.total.exact ? "" : "about "}${formatCount(data.total.value)} channels are ranked: ${which}.</span>
    <button type="button" class="button small" onClick=${onAll}>List all by name</button></p>`;
}
