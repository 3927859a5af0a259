// Fair turns as a picture: whose messages wait beside whose are served, tenant by tenant in the same colours.
import { html } from "../lib/html.js";
import { decimal } from "../lib/format.js";
import { useHere } from "../lib/here.js";
import { Figure, Name } from "./marks.js";

const COLOURS = [1, 2, 3, 4, 5, 6, 7, 8].map((n) => `var(--series-${n})`);
const REST = "var(--series-rest)";

function Bar({ parts, label }) {
  return html`<div class="bar" role="img" aria-label=${label}>
    ${parts.filter((part) => part.size > 0).map((part) => html`<i key=${part.key} title=${part.key} style=${{ flexGrow: part.size, flexBasis: 0, background: part.colour }}></i>`)}
  </div>`;
}

/** By how much waits. A colour stays with its name while the order changes; those past the eighth share a grey. */
export function coloured(channels) {
  const order = [...channels].sort((a, b) => b.waiting.value - a.waiting.value || (b.out_per_s ?? 0) - (a.out_per_s ?? 0));
  const names = order.slice(0, COLOURS.length).map((row) => row.channel).sort();
  return order.map((row) => ({ ...row, colour: COLOURS[names.indexOf(row.channel)] ?? REST }));
}

const percent = (part, whole) => (whole > 0 ? `${decimal((100 * part) / whole)} %` : "–");

export function Shares({ channels }) {
  const { link } = useHere();
  const rows = coloured(channels);
  const waiting = rows.reduce((sum, row) => sum + row.waiting.value, 0);
  const served = rows.reduce((sum, row) => sum + (row.out_per_s ?? 0), 0);
  const say = (what, of, whole) => `${what}: ${rows.filter((row) => of(row) > 0).map((row) => `${row.channel} ${percent(of(row), whole)}`).join(", ") || "nothing"}`;
  const bar = (of) => rows.map((row) => ({ key: row.channel, size: of(row), colour: row.colour }));
  return html`<div class="shares">
    <span class="label">who waits</span>
    <${Bar} parts=${bar((row) => row.waiting.value)} label=${say("Who waits", (row) => row.waiting.value, waiting)} />
    <span class="label">who is served</span>
    <${Bar} parts=${bar((row) => row.out_per_s ?? 0)} label=${say("Who is served", (row) => row.out_per_s ?? 0, served)} />
    <ul class="legend">${rows.map((row) => html`<li key=${row.channel}><i style=${{ background: row.colour }}></i>
      <a class="name" href=${link("channel", [row.channel])}><${Name} of=${row.channel} /></a>
      <span><${Figure} of=${row.waiting} /> ${row.waiting.value === 1 ? "waits" : "wait"}, ${percent(row.out_per_s ?? 0, served)} of the turns</span></li>`)}</ul>
  </div>`;
}
