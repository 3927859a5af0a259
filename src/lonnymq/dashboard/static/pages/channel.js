// One channel: figures, limits, history and messages.
import { html, useState } from "../lib/html.js";
import { ActionButton, useActions } from "../components/action_dialog.js";
import { formatHold } from "../components/channel_table.js";
import { ChannelCharts, RangePicker, useRange } from "../components/history_charts.js";
import { ChannelDurations } from "../components/durations.js";
import { LimitsDialog } from "../components/limits_dialog.js";
import { Empty, Loaded, Notice } from "../components/status.js";
import { Pager, Table } from "../components/table.js";
import { Count, Elapsed, FailedShare, Name, PageTitle, RateOfLimit, RelativeTime, StateBadge, UsageBar } from "../components/values.js";
import { formatBytes, formatCompact, formatCount, formatDuration, formatRate, NONE, pluralize } from "../lib/format.js";
import { useQueue, useQueueResource } from "../lib/queue.js";

export function Channel({ rest }) {
  const [name] = rest;
  const { link } = useQueue();
  const [editing, setEditing] = useState(false);
  const actions = useActions();
  const found = useQueueResource("channel", { name });
  const row = found.data?.channel;
  const body = { channel: name };
  const of = (words) => html`${words} <${Name} of=${name} />?`;
  return html`
    <${PageTitle} over=${html`<a href=${link("channels")}>Channels</a>`} title=${html`<${Name} of=${name} /> ${row && html`<${StateBadge} of=${row.state} />`}`}>
      ${row && html`
        ${row.paused
          ? html`<${ActionButton} label="Resume" action="resume" body=${body} title=${of("Resume")} onDone=${found.reload} />`
          : html`<${ActionButton} label="Pause" action="pause" body=${body} title=${of("Pause")} onDone=${found.reload} />`}
        ${actions.may("set_limits") && html`<button type="button" class="button" onClick=${() => setEditing(true)}>Edit limits</button>`}
        <${ActionButton} label="Purge waiting" action="purge" body=${body} title=${of("Delete all waiting messages of")} verb="Delete" grave onDone=${found.reload} />`}
    <//>
    <${Loaded} of=${found}>${({ channel, stats }) => html`
      ${channel.held && html`<${Notice} tone="warn" title=${channel.state === "throttled" ? `At the rate limit: ${formatHold(channel)}.` : channel.held} />`}
      <${ChannelFigures} row=${channel} />
      <${Limits} row=${channel} />
      ${stats && html`<${ChannelDurations} stats=${stats} />`}
      <${ChannelHistory} name=${name} />
      <${Messages} name=${name} />
      ${editing && html`<${LimitsDialog} ...${{ name, row: channel }} onClose=${() => setEditing(false)} onDone=${found.reload} />`}`}<//>`;
}

/** How long the backlog takes at the present rate. */
function estimateDrain(row) {
  if (row.waiting.value === 0) return "empty";
  if (!row.out_per_s) return NONE;
  return `${row.waiting.at_least ? "> " : "≈ "}${formatDuration((row.waiting.value / row.out_per_s) * 1_000, { units: 1 })}`;
}

function ChannelFigures({ row }) {
  const { link } = useQueue();
  const tile = (name, value, note, tone = "") => html`<div class=${`figure ${tone}`}><dt>${name}</dt><dd class="value">${value}</dd><dd class="note">${note}</dd></div>`;
  return html`<section aria-label="Figures, live"><dl class="figures">
    ${tile("Waiting", html`<${Count} of=${row.waiting} />`, row.scheduled.value > 0 ? html`and <${Count} of=${row.scheduled} /> scheduled for later` : "due now")}
    ${tile("Drains in", estimateDrain(row), row.out_per_s ? "at the present rate" : "nothing completes")}
    ${tile("Running", html`<${Count} of=${{ value: row.running }} />`, row.max_concurrency == null ? "no limit" : html`<${UsageBar} used=${row.running} limit=${row.max_concurrency} what="running" />`)}
    ${tile("Rate", html`<${RateOfLimit} perSecond=${row.out_per_s} />`, row.rate_limit_per_s == null ? "no limit" : `limit ${formatRate(row.rate_limit_per_s)}`)}
    ${tile("Failed", row.recent_failed == null ? NONE : formatCount(row.recent_failed), row.failed_share ? html`<${FailedShare} share=${row.failed_share} /> of the last 5 to 10 minutes` : "in the last 5 to 10 minutes", row.failed_share >= 0.2 ? "grave" : "")}
    ${tile("Oldest", html`<${Elapsed} since=${row.oldest_at} units=${1} />`, row.oldest_at == null ? "no message is due" : "due since")}
    ${tile("Next message", row.next_at != null ? html`<${RelativeTime} at=${row.next_at} />` : row.state === "ready" ? "soon" : "–", `${pluralize(row.weight, "message")} per turn`)}
    ${tile("Dead", html`<a href=${link("dead", [], { channel: row.channel })}><${Count} of=${row.dead} /></a>`, row.dead.value > 0 ? "no attempts left" : "none", row.dead.value > 0 ? "grave" : "")}
  </dl></section>`;
}

function ChannelHistory({ name }) {
  const range = useRange();
  const series = useQueueResource("channel/series", { name, ...range.query }, { every: range.isLive ? 4 : Infinity });
  return html`<section class="card"><header><h2>${range.title}</h2>
      ${series.data && !series.data.exact && html`<p>some attempts may be missing</p>`}
      <${RangePicker} range=${range} /></header>
    <${Loaded} of=${series}>${(data) => html`<${ChannelCharts} data=${data} onZoom=${range.onZoom} />`}<//></section>`;
}

function Limits({ row }) {
  const value = (name, text) => html`<div><dt>${name}</dt><dd>${text}</dd></div>`;
  const none = html`<span class="soft">no limit</span>`;
  return html`<section class="card"><header><h2>Limits</h2></header><dl class="values">
    ${value("Maximum running", row.max_concurrency == null ? none : `${formatCount(row.max_concurrency)} running`)}
    ${value("Rate", row.min_interval_ms == null ? none : `one message every ${formatDuration(row.min_interval_ms)}`)}
    ${value("Burst", row.min_interval_ms == null ? html`<span class="soft">${formatCount(row.burst)}</span>` : `${formatCount(row.burst)} after a pause`)}
    ${value("Size", row.max_size == null ? none : html`<${Count} of=${row.size} /> of ${formatCompact(row.max_size)}, then ${row.when_full}`)}
    ${value("Weight", `${pluralize(row.weight, "message")} per turn`)}
    ${value("Attempts", row.max_attempts == null ? none : formatCount(row.max_attempts))}
    ${value("Retries after", row.retry_delays_ms?.map((ms) => formatDuration(ms)).join(", ") || "–")}
    ${value("Jitter", row.retry_jitter == null ? "–" : `up to ${Math.round(row.retry_jitter * 100)} % more`)}
  </dl></section>`;
}

function Messages({ name }) {
  const { link, search } = useQueue();
  const cursor = search.get("cursor") ?? "";
  const go = (to) => { location.hash = link("channel", [name], { cursor: to }); };
  const found = useQueueResource("messages", { channel: name, cursor, limit: 25 });
  return html`<section class="card flush"><header><h2>Messages in order</h2></header>
    <${Loaded} of=${found}>${(data) => (data.messages.length || cursor
      ? html`<${MessageTable} rows=${data.messages} />
        <${Pager} text=${`${pluralize(data.messages.length, "message")} shown`} first=${cursor !== ""} next=${data.next} onFirst=${() => go("")} onNext=${() => go(data.next)} />`
      : html`<${Empty} title="No messages are waiting or running"><p>Completed messages leave the queue. Dead messages are on the Dead page.</p><//>`)}<//>
  </section>`;
}

function MessageTable({ rows }) {
  const { link } = useQueue();
  const columns = [
    { key: "id", label: "Message", cell: (row) => html`<a href=${link("message", [row.id])}>${row.id}</a>${row.key && html` <span class="soft cut"><${Name} of=${row.key} /></span>`}` },
    { key: "state", label: "State", hideLabel: true, what: true, cell: (row) => html`<${StateBadge} of=${row.state} />${row.worker && html` <span class="soft">by <${Name} of=${row.worker} /></span>`}${row.error && html` <span class="cut soft" title=${row.error}>${row.error}</span>`}` },
    { key: "kind", label: "Kind", cell: (row) => (row.kind == null ? NONE : html`<span class="brief"><${Name} of=${row.kind} /></span>`) },
    { key: "due", label: "Due", number: true, cell: (row) => html`<${RelativeTime} at=${row.dequeue_at} />` },
    { key: "attempt", label: "Attempts", number: true, cell: (row) => row.attempt },
    { key: "size", label: "Size", number: true, cell: (row) => formatBytes(row.size) },
    { key: "preview", label: "Content", what: true, cell: (row) => html`<code class="cut">${row.preview}</code>` },
  ];
  return html`<${Table} caption="Messages" columns=${columns} rows=${rows} rowKey=${(row) => row.id} />`;
}
