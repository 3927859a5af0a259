// One channel: how it stands, its limits, its last hour, its messages.
import { html, useState } from "../lib/html.js";
import { compact, count, duration, plural, rate } from "../lib/format.js";
import { useHere, useQueueResource } from "../lib/here.js";
import { heldBecause } from "../parts/channel_table.js";
import { ChannelCharts } from "../parts/channel_charts.js";
import { Choice } from "../parts/choice.js";
import { Act, useActing } from "../parts/dialog.js";
import { LimitsDialog } from "../parts/limits.js";
import { Figure, Name, OfLimit, RateOf, State } from "../parts/marks.js";
import { MessageTable } from "../parts/message_table.js";
import { Empty, Notice, Shown } from "../parts/states.js";
import { Pager } from "../parts/table.js";
import { Age, Ago } from "../parts/time.js";
import { Title } from "../parts/title.js";

export function Channel({ rest }) {
  const [name] = rest;
  const { link } = useHere();
  const [editing, setEditing] = useState(false);
  const acting = useActing();
  const found = useQueueResource("channel", { name });
  const row = found.data?.channel;
  const body = { channel: name };
  const of = (words) => html`${words} <${Name} of=${name} />?`;
  return html`
    <${Title} over=${html`<a href=${link("channels")}>Channels</a>`} title=${html`<${Name} of=${name} /> ${row && html`<${State} of=${row.state} />`}`}>
      ${row && acting.allowed && html`
        ${row.paused
          ? html`<${Act} label="Resume" action="resume" body=${body} title=${of("Resume")} onDone=${found.reload} />`
          : html`<${Act} label="Pause" action="pause" body=${body} title=${of("Pause")} onDone=${found.reload} />`}
        <button type="button" class="button" onClick=${() => setEditing(true)}>Edit limits</button>
        <${Act} label="Purge waiting" action="purge" body=${body} title=${of("Delete what waits in")} verb="Delete them" grave onDone=${found.reload} />`}
    <//>
    <${Shown} of=${found}>${({ channel }) => html`
      ${channel.held && html`<${Notice} tone="warn" title=${channel.state === "throttled" ? `It is at its rate limit: ${heldBecause(channel)}.` : channel.held} />`}
      <${Standing} row=${channel} />
      <${Limits} row=${channel} />
      <${Past} name=${name} />
      <${Messages} name=${name} />
      ${editing && html`<${LimitsDialog} ...${{ name, row: channel }} onClose=${() => setEditing(false)} onDone=${found.reload} />`}`}<//>`;
}

function Standing({ row }) {
  const { link } = useHere();
  const tile = (name, value, note, tone = "") => html`<div class=${`figure ${tone}`}><dt>${name}</dt><dd class="value">${value}</dd><dd class="note">${note}</dd></div>`;
  return html`<section aria-label="Figures, live"><dl class="figures">
    ${tile("Waiting", html`<${Figure} of=${row.waiting} />`, row.scheduled.value > 0 ? html`and <${Figure} of=${row.scheduled} /> scheduled for later` : "due now")}
    ${tile("Running", html`<${Figure} of=${{ value: row.running }} />`, row.max_concurrency == null ? "no limit" : html`<${OfLimit} used=${row.running} limit=${row.max_concurrency} what="running" />`)}
    ${tile("Rate", html`<${RateOf} perSecond=${row.out_per_s} />`, row.rate_limit_per_s == null ? "no limit" : `of ${rate(row.rate_limit_per_s)} at most`)}
    ${tile("Oldest", html`<${Age} since=${row.oldest_at} units=${1} />`, row.oldest_at == null ? "nothing is due" : "due since")}
    ${tile("Next turn", row.next_at != null ? html`<${Ago} at=${row.next_at} />` : row.state === "ready" ? "in turn" : "–", `${plural(row.weight, "message")} a turn`)}
    ${tile("Dead", html`<a href=${link("dead", [], { channel: row.channel })}><${Figure} of=${row.dead} /></a>`, row.dead.value > 0 ? "out of attempts" : "none", row.dead.value > 0 ? "grave" : "")}
  </dl></section>`;
}

function Past({ name }) {
  const [span, setSpan] = useState("hour");
  const series = useQueueResource("channel/series", { name, span }, { every: 4 });
  return html`<section class="card"><header><h2>${span === "hour" ? "The last hour" : "The last day"}</h2>
      ${series.data && !series.data.exact && html`<p>as far as samples tell it apart</p>`}
      <${Choice} label="Span of the charts" options=${[["hour", "Hour"], ["day", "Day"]]} value=${span} onChange=${setSpan} /></header>
    <${Shown} of=${series}>${(data) => html`<${ChannelCharts} data=${data} span=${span} />`}<//></section>`;
}

function Limits({ row }) {
  const value = (name, text) => html`<div><dt>${name}</dt><dd>${text}</dd></div>`;
  const none = html`<span class="soft">no limit</span>`;
  return html`<section class="card"><header><h2>Limits</h2></header><dl class="values">
    ${value("At once", row.max_concurrency == null ? none : `${count(row.max_concurrency)} running`)}
    ${value("Rate", row.release_interval_ms == null ? none : `one every ${duration(row.release_interval_ms)}`)}
    ${value("Burst", row.release_interval_ms == null ? html`<span class="soft">${count(row.burst)}</span>` : `${count(row.burst)} after a rest`)}
    ${value("Size", row.max_size == null ? none : html`<${Figure} of=${row.size} /> of ${compact(row.max_size)}, then ${row.when_full}`)}
    ${value("Weight", `${plural(row.weight, "message")} a turn`)}
    ${value("Attempts", row.max_attempts == null ? none : count(row.max_attempts))}
    ${value("Retries after", row.retry_delays_ms?.map(duration).join(", ") || "–")}
    ${value("Jitter", row.retry_jitter == null ? "–" : `up to ${Math.round(row.retry_jitter * 100)} % more`)}
  </dl></section>`;
}

function Messages({ name }) {
  const [cursor, setCursor] = useState("");
  const found = useQueueResource("messages", { channel: name, cursor, limit: 25 });
  return html`<section class="card flush"><header><h2>Messages, in their order</h2></header>
    <${Shown} of=${found}>${(data) => (data.messages.length || cursor
      ? html`<${MessageTable} rows=${data.messages} />
        <${Pager} said=${`${plural(data.messages.length, "message")} shown`} first=${cursor !== ""} next=${data.next} onFirst=${() => setCursor("")} onNext=${() => setCursor(data.next)} />`
      : html`<${Empty} title="Nothing waits and nothing runs here"><p>What is completed leaves the queue; dead messages are on their own page.</p><//>`)}<//>
  </section>`;
}
