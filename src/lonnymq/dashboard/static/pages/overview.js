// The queue at a glance: live figures, whose turn it is, the last hour or day, the busiest channels.
import { html, useState } from "../lib/html.js";
import { Age } from "../parts/time.js";
import { count, rate } from "../lib/format.js";
import { useHere, useQueueResource } from "../lib/here.js";
import { ordered } from "../lib/order.js";
import { ChannelTable } from "../parts/channel_table.js";
import { Choice } from "../parts/choice.js";
import { Figure } from "../parts/marks.js";
import { isOfSome } from "../parts/ranking.js";
import { Shares } from "../parts/shares.js";
import { Spark } from "../parts/spark.js";
import { Empty, Failed, Notice, Shown, Waiting } from "../parts/states.js";
import { Title } from "../parts/title.js";
import { QueueCharts } from "../parts/queue_charts.js";

export function Overview() {
  const { live, session, queue } = useHere();
  const [span, setSpan] = useState("hour");
  const series = useQueueResource("series", { span }, { every: 4 });
  const busiest = useQueueResource("channels", { sort: "waiting", limit: 10 }, { every: 2 });
  const { overview } = live;
  const label = session.queues.length > 1 && session.queues.find((one) => one.key === queue)?.label;
  if (!overview) return html`<${Title} title="Overview" over=${label} /><div class="card">${live.trouble ? html`<${Failed} error=${live.trouble} />` : html`<${Waiting} />`}</div>`;
  return html`
    <${Title} title="Overview" over=${label} />
    <${Verdict} overview=${overview} />
    <${Figures} overview=${overview} points=${span === "hour" ? series.data?.points ?? [] : []} />
    <section class="card"><header><h2>Fair turns, now</h2><${Evenness} overview=${overview} /></header>
      <${Shown} of=${busiest}>${({ channels }) => (channels.length ? html`<${Shares} channels=${channels} />` : html`<p class="soft">Nothing waits and nothing runs, so nobody needs a turn.</p>`)}<//>
    </section>
    <section aria-labelledby="charts" class="card"><header><h2 id="charts">${span === "hour" ? "The last hour" : "The last day"}</h2>
      <${Choice} label="Span of the charts" options=${[["hour", "Hour"], ["day", "Day"]]} value=${span} onChange=${setSpan} /></header>
      <${Shown} of=${series}>${(data) => html`<${QueueCharts} data=${data} />`}<//>
    </section>
    <${Busiest} found=${busiest} />`;
}

/** What needs somebody's hands, if anything does. */
function Verdict({ overview }) {
  const { link } = useHere();
  const waits = overview.waiting.value > 0;
  const { alive, gone } = overview.workers;
  return html`
    ${alive === 0 && waits && html`<${Notice} tone="bad" title="No worker is alive, so nothing is taken."><p>Start one where your handlers are: <code>lonnymq worker jobs:worker</code></p><//>`}
    ${alive > 0 && gone > 0 && html`<${Notice} tone="warn" title=${`${count(gone)} of ${count(alive + gone)} workers no longer say that they are there.`}><p>Their messages come back when the leases run out. <a href=${link("workers")}>Look at the workers</a></p><//>`}
    ${overview.max_concurrency != null && overview.in_flight >= overview.max_concurrency && html`<${Notice} tone="warn" title=${`The queue is at its own limit: ${count(overview.in_flight)} of ${count(overview.max_concurrency)} are running.`}><p>More begin as these end.</p><//>`}`;
}

function Evenness({ overview }) {
  const { jain, channels } = overview.fairness;
  if (jain == null) return html`<p>Evenness is reckoned when two or more channels without limits have a backlog.</p>`;
  const words = jain >= 0.95 ? "even" : jain >= 0.8 ? "nearly even" : "uneven";
  return html`<p title="Jain's index: 1 when all channels with a backlog and without limits are served alike">${words} among ${count(channels)} channels, index ${jain.toFixed(3)}</p>`;
}

function Tile({ name, tone, note, children, spark }) {
  return html`<div class=${`figure ${tone ?? ""}`}><dt>${name}</dt><dd class="value">${children}</dd><dd class="note">${note}</dd><dd>${spark}</dd></div>`;
}

function Figures({ overview, points }) {
  const { link } = useHere();
  const { workers } = overview;
  const lately = overview.rate_ms ? `the last ${Math.round(overview.rate_ms / 1_000)} s` : "";
  const spark = (key, colour) => html`<${Spark} values=${points.map((point) => point[key])} colour=${colour} />`;
  return html`<section aria-label="Figures, live"><dl class="figures">
    <${Tile} name="In" note=${lately} spark=${spark("created", "var(--series-1)")}>${rate(overview.in_per_s)}<//>
    <${Tile} name="Out" note=${lately} spark=${spark("completed", "var(--series-4)")}>${rate(overview.out_per_s)}<//>
    <${Tile} name="Waiting" note=${html`in <a href=${link("channels")}><${Figure} of=${overview.channels} /> channels</a>`} spark=${spark("waiting", "var(--series-3)")}><${Figure} of=${overview.waiting} /><//>
    <${Tile} name="Oldest waiting" note=${overview.oldest_at == null ? "nothing is due" : overview.oldest_exact ? "due since" : "of those looked at"} spark=${spark("oldest_ms", "var(--series-6)")}><${Age} since=${overview.oldest_at} units=${1} /><//>
    <${Tile} name="Running" note=${overview.max_concurrency == null ? "no limit" : `of ${count(overview.max_concurrency)}`} spark=${spark("running", "var(--series-5)")}><${Figure} of=${overview.running} /><//>
    <${Tile} name="Dead" tone=${overview.dead.value > 0 && "grave"} note=${overview.dead.value > 0 ? "out of attempts" : "none"} spark=${spark("dead", "var(--series-2)")}><a href=${link("dead")}><${Figure} of=${overview.dead} /></a><//>
    <${Tile} name="Workers alive" tone=${workers.alive === 0 && "warn"} note=${`${count(workers.running)} of ${count(workers.concurrency)} slots`}><a href=${link("workers")}>${count(workers.alive)}</a><//>
  </dl></section>`;
}

function Busiest({ found }) {
  const { link } = useHere();
  return html`<section class="card flush"><header><h2>Busiest channels</h2><p>${found.data && isOfSome(found.data) && "≈ by a sample of 200 pages of messages · "}<a href=${link("channels")}>All channels</a></p></header>
    <${Shown} of=${found}>${({ channels }) => (channels.length
      ? html`<${ChannelTable} caption="Busiest channels" rows=${ordered(channels, "waiting")} />`
      : html`<${Empty} title="No channel has anything to do"><p>A channel comes into being with its first message: <code>lonnymq message create acme hello</code></p><//>`)}<//>
  </section>`;
}
