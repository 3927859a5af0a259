// The share of each channel in waiting and in served messages, in the same colours.
import { html } from "../lib/html.js";
import { Count, Name } from "./values.js";
import { formatDecimal } from "../lib/format.js";
import { useQueue } from "../lib/queue.js";

const COLOURS = [1, 2, 3, 4, 5, 6, 7, 8].map((n) => `var(--series-${n})`);
const REST = "var(--series-rest)";

function Bar({ parts, label }) {
  return html`<div class="bar" role="img" aria-label=${label}>
    ${parts.filter((part) => part.size > 0).map((part) => html`<i key=${part.key} title=${part.key} style=${{ flexGrow: part.size, flexBasis: 0, background: part.colour }}></i>`)}
  </div>`;
}

/** Channels by backlog. A channel keeps its colour while the order changes, and all after the eighth are grey. */
function assignColours(channels) {
  const order = [...channels].sort((a, b) => b.waiting.value - a.waiting.value || (b.out_per_s ?? 0) - (a.out_per_s ?? 0));
  const names = order.slice(0, COLOURS.length).map((row) => row.channel).sort();
  return order.map((row) => ({ ...row, colour: COLOURS[names.indexOf(row.channel)] ?? REST }));
}

const percent = (part, whole) => (whole > 0 ? `${formatDecimal((100 * part) / whole)} %` : "–");

/** `total` are the waiting messages of all channels, those that are not listed too. */
export function Shares({ channels, total }) {
  const { link } = useQueue();
  const rows = assignColours(channels);
  const listed = rows.reduce((sum, row) => sum + row.waiting.value, 0);
  const waiting = Math.max(listed, total ?? 0);
  const turns = (row) => row.turns_share ?? 0;
  const others = { waiting: waiting - listed, turns: Math.max(0, 1 - rows.reduce((sum, row) => sum + turns(row), 0)) };
  const served = rows.some((row) => row.turns_share != null);
  const describe = (what, of, whole) => `${what}: ${rows.filter((row) => of(row) > 0).map((row) => `${row.channel} ${percent(of(row), whole)}`).join(", ") || "nothing"}`;
  const bar = (of, rest) => [...rows.map((row) => ({ key: row.channel, size: of(row), colour: row.colour })), { key: "all other channels", size: rest, colour: "var(--line-strong)" }];
  return html`<div class="shares">
    <span class="label">waiting</span>
    <${Bar} parts=${bar((row) => row.waiting.value, others.waiting)} label=${describe("Waiting", (row) => row.waiting.value, waiting)} />
    <span class="label">turns</span>
    <${Bar} parts=${bar(turns, served ? others.turns : 0)} label=${describe("Turns", turns, 1)} />
    <ul class="legend">${rows.map((row) => html`<li key=${row.channel}><i style=${{ background: row.colour }}></i>
      <a class="name" href=${link("channel", [row.channel])}><${Name} of=${row.channel} /></a>
      <span><${Count} of=${row.waiting} /> waiting, ${percent(turns(row), served ? 1 : 0)} of all turns</span></li>`)}</ul>
  </div>`;
}
