// The present state of the queue: figures, fair turns, charts and the busiest channels.
import { html } from "../lib/html.js";
import { Attention } from "../components/attention.js";
import { ChannelTable, isPartial } from "../components/channel_table.js";
import { Sparkline } from "../components/chart.js";
import { QueueCharts, RangePicker, useRange } from "../components/history_charts.js";
import { KindTable } from "../components/durations.js";
import { Shares } from "../components/shares.js";
import { Empty, ErrorMessage, Loaded, Loading, Notice } from "../components/status.js";
import { Count, Elapsed, PageTitle } from "../components/values.js";
import { sortChannels } from "../lib/channel_list.js";
import { formatCount, formatDecimal, formatRate } from "../lib/format.js";
import { useQueue, useQueueResource } from "../lib/queue.js";

export function Overview() {
  const { access } = useQueue();
  return access?.channels ? html`<${OverviewOfSome} channels=${access.channels} />` : html`<${OverviewOfAll} />`;
}

/** The overview for users who may see only some channels: nothing about the others. */
function OverviewOfSome({ channels }) {
  const busiest = useQueueResource("channels", { sort: "waiting", limit: 10 }, { every: 2 });
  return html`
    <${PageTitle} title="Overview" over="Your channels" />
    <p class="soft">You see ${channels.map((name, i) => html`${i > 0 && ", "}<code>${name}</code>`)}.</p>
    <${Attention} />
    <${Busiest} found=${busiest} />`;
}

function OverviewOfAll() {
  const { live, session, queue } = useQueue();
  const range = useRange();
  const series = useQueueResource("series", range.query, { every: range.isLive ? 4 : Infinity });
  const busiest = useQueueResource("channels", { sort: "waiting", limit: 10 }, { every: 2 });
  const { overview } = live;
  const label = session.queues.length > 1 && session.queues.find((one) => one.key === queue)?.label;
  if (!overview) return html`<${PageTitle} title="Overview" over=${label} /><div class="card">${live.trouble ? html`<${ErrorMessage} error=${live.trouble} />` : html`<${Loading} />`}</div>`;
  return html`
    <${PageTitle} title="Overview" over=${label} />
    <${Attention} />
    <${Warnings} overview=${overview} />
    <${Figures} overview=${overview} points=${range.isHour ? series.data?.points ?? [] : []} />
    <section class="card"><header><h2>Fair turns</h2><${FairnessIndex} overview=${overview} /></header>
      <${Loaded} of=${busiest}>${({ channels }) => (channels.length ? html`<${Shares} channels=${channels} total=${overview.waiting.value} />` : html`<p class="soft">No messages are waiting or running.</p>`)}<//>
    </section>
    <section aria-labelledby="charts" class="card"><header><h2 id="charts">${range.title}</h2><${RangePicker} range=${range} /></header>
      <${Loaded} of=${series}>${(data) => html`<${QueueCharts} data=${data} onZoom=${range.onZoom} />`}<//>
    </section>
    <${Busiest} found=${busiest} />
    <${Kinds} />`;
}

/** Problems that need attention. */
function Warnings({ overview }) {
  const { link } = useQueue();
  const { alive, gone } = overview.workers;
  return html`
    ${alive > 0 && gone > 0 && html`<${Notice} tone="warn" title=${`${formatCount(gone)} of ${formatCount(alive + gone)} workers sent no heartbeat recently.`}><p>Other workers get their messages when the leases end. <a href=${link("workers")}>Show workers</a></p><//>`}
    ${overview.max_concurrency != null && overview.in_flight >= overview.max_concurrency && html`<${Notice} tone="warn" title=${`The queue is at its limit: ${formatCount(overview.in_flight)} of ${formatCount(overview.max_concurrency)} are running.`}><p>A message starts when another ends.</p><//>`}`;
}

function FairnessIndex({ overview }) {
  const { jain, channels } = overview.fairness;
  if (jain == null) return html`<p>The fairness index needs two or more channels that have a backlog and no limits.</p>`;
  const text = jain >= 0.95 ? "even" : jain >= 0.8 ? "nearly even" : "uneven";
  return html`<p title="Jain's index: 1 if all channels with a backlog and without limits are served equally">${text} among ${formatCount(channels)} channels, index ${jain.toFixed(3)}</p>`;
}

function Tile({ name, tone, note, children, spark }) {
  return html`<div class=${`figure ${tone ?? ""}`}><dt>${name}</dt><dd class="value">${children}</dd><dd class="note">${note}</dd><dd>${spark}</dd></div>`;
}

function Figures({ overview, points }) {
  const { link } = useQueue();
  const { workers } = overview;
  const window = overview.rate_ms ? `last ${Math.round(overview.rate_ms / 1_000)} s` : "";
  const spark = (key, colour) => html`<${Sparkline} values=${points.map((point) => point[key])} colour=${colour} />`;
  return html`<section aria-label="Figures, live"><dl class="figures">
    <${Tile} name="In" note=${window} spark=${spark("created", "var(--series-1)")}>${formatRate(overview.in_per_s)}<//>
    <${Tile} name="Out" note=${window} spark=${spark("completed", "var(--series-4)")}>${formatRate(overview.out_per_s)}<//>
    <${Tile} name="Failed" tone=${overview.failed_share >= 0.2 && "grave"} note=${overview.failed_share == null ? window : `${formatDecimal(100 * overview.failed_share)} % of attempts`} spark=${html`<${Sparkline} values=${points.map((point) => point.failed + point.expired + point.died)} colour="var(--series-2)" />`}>${formatRate(overview.failed_per_s)}<//>
    <${Tile} name="Waiting" note=${html`in <a href=${link("channels")}><${Count} of=${overview.channels} /> channels</a>`} spark=${spark("waiting", "var(--series-3)")}><${Count} of=${overview.waiting} /><//>
    <${Tile} name="Oldest waiting" note=${overview.oldest_at == null ? "no message is due" : overview.oldest_exact ? "due since" : "estimate"} spark=${spark("oldest_ms", "var(--series-6)")}><${Elapsed} since=${overview.oldest_at} units=${1} /><//>
    <${Tile} name="Running" note=${overview.max_concurrency == null ? "no limit" : `of ${formatCount(overview.max_concurrency)}`} spark=${spark("running", "var(--series-5)")}><a href=${link("messages", [], { state: "running" })}><${Count} of=${overview.running} /></a><//>
    <${Tile} name="Dead" tone=${overview.dead.value > 0 && "grave"} note=${overview.dead.value > 0 ? "no attempts left" : "none"} spark=${spark("dead", "var(--series-2)")}><a href=${link("dead")}><${Count} of=${overview.dead} /></a><//>
    <${Tile} name="Live workers" tone=${workers.alive === 0 && "warn"} note=${`${formatCount(workers.running)} of ${formatCount(workers.concurrency)} slots`}><a href=${link("workers")}>${formatCount(workers.alive)}</a><//>
  </dl></section>`;
}

function Kinds() {
  const found = useQueueResource("kinds", {}, { every: 5 });
  if (!found.data?.kinds.length) return null;
  return html`<section class="card flush"><header><h2>Kinds</h2><p>attempts of the last hour</p></header><${KindTable} kinds=${found.data.kinds} /></section>`;
}

function Busiest({ found }) {
  const { link } = useQueue();
  return html`<section class="card flush"><header><h2>Busiest channels</h2><p>${found.data && isPartial(found.data) && "≈ from a sample of messages · "}<a href=${link("channels")}>All channels</a></p></header>
    <${Loaded} of=${found}>${({ channels }) => (channels.length
      ? html`<${ChannelTable} caption="Busiest channels" rows=${sortChannels(channels, "waiting")} />`
      : html`<${Empty} title="No channel has messages"><p>The first message creates a channel: <code>lonnymq message create acme hello</code></p><//>`)}<//>
  </section>`;
}
