// One message: explanation, details, content, attempts and timeline.
import { html, useState } from "../lib/html.js";
import { ActionButton, Modal, useActions } from "../components/action_dialog.js";
import { ErrorMessage, Loaded, Notice } from "../components/status.js";
import { Name, PageTitle, RadioGroup, RelativeTime, StateBadge, Time } from "../components/values.js";
import { buildUrl, queuePath } from "../lib/api.js";
import { formatBytes, formatCount, formatDuration, NONE } from "../lib/format.js";
import { useQueue, useQueueResource } from "../lib/queue.js";

export function Message({ rest }) {
  const [id] = rest;
  const { link, queue } = useQueue();
  const found = useQueueResource(`messages/${encodeURIComponent(id)}`);
  const message = found.data?.message;
  const over = message
    ? html`<a href=${link("messages")}>Messages</a> / <a href=${link("channel", [message.channel])}><${Name} of=${message.channel} /></a>`
    : html`<a href=${link("messages")}>Messages</a>`;
  return html`
    <${PageTitle} over=${over} title=${html`Message ${id} ${message && html`<${StateBadge} of=${message.state} />`}`}>
      ${message && html`<${MessageActions} message=${message} onDone=${found.reload} />`}
    <//>
    ${found.error && !found.data ? html`<div class="card"><${ErrorMessage} error=${found.error} /></div>` : html`<${Loaded} of=${found}>${(data) => html`
      <${Explanation} data=${data} />
      <${MessageDetails} message=${data.message} />
      ${data.message.progress != null && html`<${Progress} message=${data.message} />`}
      ${data.message.result_size != null && html`<${ContentCard} title="Result" content=${data.message.result} missing=${HIDDEN[data.message.payloads] ?? `The result has ${formatBytes(data.message.result_size)}. Read the result with queue.result(${id}).`} />`}
      <${ContentCard} title="Content" content=${data.message.content} note=${data.message.payloads === "redacted" && "fields redacted"} download=${buildUrl(queuePath(queue, `messages/${encodeURIComponent(id)}/content`)).href} missing=${explainMissing(data.message)} />
      ${data.message.state_content && html`<${ContentCard} title="State of the deferred message" content=${data.message.state_content} />`}
      ${data.message.headers && Object.keys(data.message.headers).length > 0 && html`<section class="card"><header><h2>Headers</h2></header><${Code} label="Headers">${JSON.stringify(data.message.headers, null, 2)}<//></section>`}
      <div class="columns">
        <${AttemptList} attempts=${data.attempts} complete=${data.attempts_complete} />
        <${Timeline} steps=${data.timeline} />
      </div>`}<//>`}`;
}

const HIDDEN = {
  hidden: "Payloads of this channel are hidden from you.",
  redacted: "You see payloads with redacted fields. This payload is not JSON, or too large to redact.",
};
const explainMissing = (message) => HIDDEN[message.payloads] ?? (message.state === "completed"
  ? "The message is completed, and the history of this queue stores no contents."
  : "The content does not exist any more.");

function Progress({ message }) {
  const percent = Math.round(100 * message.progress);
  return html`<section class="card"><header><h2>Progress</h2><p>${percent} %${message.progress_note && html`, <${Name} of=${message.progress_note} />`}</p></header>
    <progress class="progress" max="100" value=${percent} aria-label="Progress of the message">${percent} %</progress></section>`;
}

/** The content of a dead message in a field, to queue a message with another content instead. */
function EditDead({ message }) {
  const { link } = useQueue();
  const actions = useActions();
  const [text, setText] = useState(null);
  const { content } = message;
  if (!actions.may("edit_dead") || message.payloads !== "shown" || !content || content.cut || content.kind === "hex") return null;
  const close = () => setText(null);
  const ask = () => {
    close();
    actions.ask({ action: "edit_dead", body: { id: message.id, content: text }, title: `Replace message ${message.id}?`, verb: "Replace", onDone: () => { location.hash = link("messages", [], { state: "live", channel: message.channel }); } });
  };
  return html`<button type="button" class="button" onClick=${() => setText(content.text)}>Edit and requeue</button>
    ${text !== null && html`<${Modal} title=${`Edit the content of message ${message.id}`} onClose=${close} onSubmit=${ask}>
      <label class="field"><span>Content</span><textarea class="input edit" rows="12" spellcheck=${false} value=${text} onInput=${(event) => setText(event.target.value)}></textarea></label>
      <p class="soft">A message with this content replaces the dead message.</p>
      <div class="ends"><button type="button" class="button" onClick=${close}>Close</button><button type="submit" class="button main">Preview</button></div>
    <//>`}`;
}

function MessageActions({ message, onDone }) {
  const ids = { ids: [message.id] };
  if (message.state === "dead") {
    return html`
      <${ActionButton} main label="Redrive" action="redrive" body=${ids} title=${`Queue message ${message.id} again?`} verb="Redrive" onDone=${onDone} />
      <${EditDead} message=${message} />
      <${ActionButton} grave label="Purge" action="purge_dead" body=${ids} title=${`Delete message ${message.id}?`} verb="Delete" onDone=${onDone} />`;
  }
  if (["waiting", "scheduled", "leased"].includes(message.state)) {
    return html`<${ActionButton} grave label="Cancel" action="cancel" body=${{ id: message.id }} title=${`Cancel message ${message.id}?`} verb="Cancel message" onDone=${onDone} />`;
  }
  return null;
}

const TITLES = { leased: "Running", dead: "Dead", scheduled: "Not due yet", completed: "Completed", not_found: "Ended" };
const TONES = { leased: "good", dead: "bad", next: "good", behind: "calm", scheduled: "calm", new: "calm", completed: "good", not_found: "calm" };

const TIME_FIELDS = { scheduled: "dequeue_at", throttled: "wake_at", leased: "lease_until", dead: "died_at" };

function Explanation({ data }) {
  const { answer, text, fields } = data.explanation;
  const time = fields?.[TIME_FIELDS[answer]];
  const outcome = data.message.state === "completed" ? "completed" : answer;
  return html`<section aria-label="Explanation"><${Notice} tone=${TONES[outcome] ?? "warn"} title=${TITLES[outcome] ?? "Why the message waits"}><p>${formatFirstLine(text, data.attempts.at(-1)?.summary)}</p>
    ${time > 0 && html`<p class="soft">Your time: <${Time} at=${time} />, <${RelativeTime} at=${time} />.</p>`}<//></section>`;
}

/** The first line of an explanation. A quoted traceback is replaced by the summary of the error. */
const formatFirstLine = (text, summary) => {
  const [line] = (text ?? "").split("\n", 1);
  const first = summary ? line.replace(/Traceback \(most recent call last\):$/, summary) : line;
  return first.length > 500 ? `${first.slice(0, 500)} …` : first;
};

function MessageDetails({ message }) {
  const value = (name, text) => html`<div><dt>${name}</dt><dd>${text}</dd></div>`;
  const named = (text) => (text == null ? NONE : html`<${Name} of=${text} />`);
  const both = (at) => html`<${Time} at=${at} /> <span class="soft">(<${RelativeTime} at=${at} />)</span>`;
  return html`<section class="card" aria-label="About the message"><dl class="values">
    ${value("Kind", named(message.kind))}
    ${value("Key", named(message.key))}
    ${value("Attempts", message.max_attempts == null ? formatCount(message.attempt) : `${formatCount(message.attempt)} of ${formatCount(message.max_attempts)}`)}
    ${value("Created", both(message.created_at))}
    ${value("Due", message.dequeue_at < 0 ? html`urgent <span class="soft">(${message.dequeue_at})</span>` : both(message.dequeue_at))}
    ${message.lease_until != null && value("Leased until", both(message.lease_until))}
    ${message.worker != null && value("Worker", named(message.worker))}
    ${message.died_at != null && value("Died", both(message.died_at))}
  </dl></section>`;
}

const PER_LINE = 16;

/** Hex of the API as lines of offset, bytes and printable characters. */
function formatHexDump(hex) {
  const digits = hex.replace(/\s+/g, "");
  const lines = [];
  for (let at = 0; at < digits.length; at += 2 * PER_LINE) {
    const pairs = digits.slice(at, at + 2 * PER_LINE).match(/../g) ?? [];
    const seen = pairs.map((pair) => parseInt(pair, 16)).map((code) => (code >= 32 && code < 127 ? String.fromCharCode(code) : "·")).join("");
    lines.push(`${(at / 2).toString(16).padStart(6, "0")}  ${pairs.join(" ").padEnd(3 * PER_LINE - 1)}  ${seen}`);
  }
  return lines.join("\n");
}

function Code({ label, children }) {
  return html`<pre class="code" tabindex="0" role="region" aria-label=${label}><code dir="auto">${children}</code></pre>`;
}

function ContentCard({ title, content, download, missing, note }) {
  const [view, setView] = useState(null);
  if (!content) return html`<section class="card"><header><h2>${title}</h2></header><p class="soft">${missing}</p></section>`;
  const views = [content.kind === "json" && ["text", "JSON"], content.kind === "text" && ["text", "Text"], ["hex", "Hex"]].filter(Boolean);
  const shown = view ?? views[0][0];
  return html`<section class="card"><header><h2>${title}</h2>
      <p>${formatBytes(content.size)}${content.cut && `, first ${formatBytes(content.shown)} shown`}${note && `, ${note}`}${download && html` · <a href=${download} download>Download</a>`}</p>
      ${views.length > 1 && html`<${RadioGroup} label=${`Format of the ${title.toLowerCase()}`} options=${views} value=${shown} onChange=${setView} />`}
    </header>
    ${content.size === 0 ? html`<p class="soft">Empty.</p>` : html`<${Code} label=${title}>${shown === "hex" ? formatHexDump(content.hex) : content.text}<//>`}
  </section>`;
}

function AttemptList({ attempts, complete }) {
  return html`<section class="card"><header><h2>Attempts</h2>${!complete && html`<p>some attempts may be missing</p>`}</header>
    ${attempts.length === 0 && html`<p class="soft">No attempt has ended yet.</p>`}
    <ol class="attempts">${attempts.map((one, i) => html`<li key=${i}>
      <p class="head"><strong>Attempt ${one.attempt}</strong> <${StateBadge} of=${one.outcome} /> <span class="soft">
        waited ${formatDuration(one.wait_ms)}, ran ${formatDuration(one.run_ms)}${one.worker && html`, <${Name} of=${one.worker} />`}, <${RelativeTime} at=${one.finished_at} /></span></p>
      ${one.error && html`<${ErrorText} error=${one.error} summary=${one.summary} label=${`Error of attempt ${one.attempt}`} open=${i === attempts.length - 1} />`}
    </li>`)}</ol>
  </section>`;
}

function ErrorText({ error, summary, label, open }) {
  if (error.trim() === (summary ?? "").trim()) return html`<p class="error-line"><code dir="auto">${error}</code></p>`;
  return html`<details class="error" open=${open}><summary><code class="cut-2" dir="auto">${summary ?? error.split("\n", 1)[0]}</code></summary><${Code} label=${label}>${error}<//></details>`;
}

const STEP_TONES = { completed: "good", failed: "warn", expired: "warn", dead: "bad", leased: "calm" };

function Timeline({ steps }) {
  return html`<section class="card"><header><h2>Timeline</h2></header>
    <ol class="moments">${steps.map((one, i) => html`<li key=${i} class=${`${STEP_TONES[one.what] ?? ""} ${one.future ? "future" : ""}`}>
      <span>${one.text}</span> <span class="soft"><${Time} at=${one.at} seconds /> · <${RelativeTime} at=${one.at} /></span></li>`)}</ol>
  </section>`;
}
