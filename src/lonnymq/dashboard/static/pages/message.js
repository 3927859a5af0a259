// One message: why it waits, what it is, what became of its attempts, its time line.
import { html } from "../lib/html.js";
import { queuePath, url } from "../lib/api.js";
import { count, NONE } from "../lib/format.js";
import { useHere, useQueueResource } from "../lib/here.js";
import { Attempts, TimeLine } from "../parts/attempts.js";
import { Code, Content } from "../parts/content.js";
import { Act } from "../parts/dialog.js";
import { Name, State } from "../parts/marks.js";
import { Failed, Notice, Shown } from "../parts/states.js";
import { Ago, At } from "../parts/time.js";
import { Title } from "../parts/title.js";

export function Message({ rest }) {
  const [id] = rest;
  const { link, queue } = useHere();
  const found = useQueueResource(`messages/${encodeURIComponent(id)}`);
  const message = found.data?.message;
  const over = message
    ? html`<a href=${link("channels")}>Channels</a> / <a href=${link("channel", [message.channel])}><${Name} of=${message.channel} /></a>`
    : html`<a href=${link("channels")}>Channels</a>`;
  return html`
    <${Title} over=${over} title=${html`Message ${id} ${message && html`<${State} of=${message.state} />`}`}>
      ${message && html`<${Acts} message=${message} onDone=${found.reload} />`}
    <//>
    ${found.error && !found.data ? html`<div class="card"><${Failed} error=${found.error} /></div>` : html`<${Shown} of=${found}>${(data) => html`
      <${Why} data=${data} />
      <${About} message=${data.message} />
      <${Content} title="Content" content=${data.message.content} download=${url(queuePath(queue, `messages/${encodeURIComponent(id)}/content`)).href} missing=${gone(data.message)} />
      ${data.message.state_content && html`<${Content} title="State kept by a deferral" content=${data.message.state_content} />`}
      ${data.message.headers && Object.keys(data.message.headers).length > 0 && html`<section class="card"><header><h2>Headers</h2></header><${Code} label="Headers">${JSON.stringify(data.message.headers, null, 2)}<//></section>`}
      <div class="columns">
        <${Attempts} attempts=${data.attempts} complete=${data.attempts_complete} />
        <${TimeLine} moments=${data.timeline} />
      </div>`}<//>`}`;
}

const gone = (message) => (message.state === "completed"
  ? "It is completed, and this queue's history keeps no contents."
  : "The content is no longer there.");

function Acts({ message, onDone }) {
  const ids = { ids: [message.id] };
  if (message.state === "dead") {
    return html`
      <${Act} main label="Redrive" action="redrive" body=${ids} title=${`Queue message ${message.id} again?`} verb="Redrive" onDone=${onDone} />
      <${Act} grave label="Purge" action="purge_dead" body=${ids} title=${`Delete message ${message.id}?`} verb="Delete it" onDone=${onDone} />`;
  }
  if (message.state === "waiting" || message.state === "scheduled") {
    return html`<${Act} grave label="Cancel" action="cancel" body=${{ id: message.id }} title=${`Cancel message ${message.id}?`} verb="Cancel it" onDone=${onDone} />`;
  }
  return null;
}

const TITLES = { leased: "It is running", dead: "It is dead", scheduled: "It is not due yet", completed: "It is done", not_found: "It has ended" };
const TONES = { leased: "good", dead: "bad", next: "good", behind: "calm", scheduled: "calm", unfolded: "calm", completed: "good", not_found: "calm" };

const MOMENTS = { scheduled: "dequeue_at", throttled: "wake_at", leased: "lease_until", dead: "died_at" };

function Why({ data }) {
  const { answer, text, fields } = data.explanation;
  const moment = fields?.[MOMENTS[answer]];
  const said = data.message.state === "completed" ? "completed" : answer;
  return html`<section aria-label="Why it waits"><${Notice} tone=${TONES[said] ?? "warn"} title=${TITLES[said] ?? "Why it waits"}><p>${firstLine(text, data.attempts.at(-1)?.summary)}</p>
    ${moment > 0 && html`<p class="soft">On your clock: <${At} at=${moment} />, <${Ago} at=${moment} />.</p>`}<//></section>`;
}

/** A sentence; where an error is quoted that begins with a traceback, what came of it stands there instead. */
const firstLine = (text, summary) => {
  const [line] = (text ?? "").split("\n", 1);
  const first = summary ? line.replace(/Traceback \(most recent call last\):$/, summary) : line;
  return first.length > 500 ? `${first.slice(0, 500)} …` : first;
};

function About({ message }) {
  const value = (name, text) => html`<div><dt>${name}</dt><dd>${text}</dd></div>`;
  const named = (text) => (text == null ? NONE : html`<${Name} of=${text} />`);
  const both = (at) => html`<${At} at=${at} /> <span class="soft">(<${Ago} at=${at} />)</span>`;
  return html`<section class="card" aria-label="About the message"><dl class="values">
    ${value("Kind", named(message.kind))}
    ${value("Name", named(message.name))}
    ${value("Attempts", message.max_attempts == null ? count(message.attempt) : `${count(message.attempt)} of ${count(message.max_attempts)}`)}
    ${value("Created", both(message.created_at))}
    ${value("Due", message.dequeue_at < 0 ? html`urgent <span class="soft">(${message.dequeue_at})</span>` : both(message.dequeue_at))}
    ${message.lease_until != null && value("Leased until", both(message.lease_until))}
    ${message.worker != null && value("Worker", named(message.worker))}
    ${message.died_at != null && value("Died", both(message.died_at))}
  </dl></section>`;
}
