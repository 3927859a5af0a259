// What was tried, with errors and tracebacks, and the same as a time line.
import { html } from "../lib/html.js";
import { duration } from "../lib/format.js";
import { Code } from "./content.js";
import { Name, State } from "./marks.js";
import { Ago, At } from "./time.js";

export function Attempts({ attempts, complete }) {
  return html`<section class="card"><header><h2>Attempts</h2>${!complete && html`<p>those found by a bounded look</p>`}</header>
    ${attempts.length === 0 && html`<p class="soft">None has ended yet.</p>`}
    <ol class="attempts">${attempts.map((one, i) => html`<li key=${i}>
      <p class="head"><strong>Attempt ${one.attempt}</strong> <${State} of=${one.outcome} /> <span class="soft">
        waited ${duration(one.wait_ms)}, ran ${duration(one.run_ms)}${one.worker && html`, <${Name} of=${one.worker} />`}, <${Ago} at=${one.finished_at} /></span></p>
      ${one.error && html`<${ErrorText} error=${one.error} summary=${one.summary} label=${`Error of attempt ${one.attempt}`} open=${i === attempts.length - 1} />`}
    </li>`)}</ol>
  </section>`;
}

function ErrorText({ error, summary, label, open }) {
  if (error.trim() === (summary ?? "").trim()) return html`<p class="error-line"><code dir="auto">${error}</code></p>`;
  return html`<details class="error" open=${open}><summary><code class="cut-2" dir="auto">${summary ?? error.split("\n", 1)[0]}</code></summary><${Code} label=${label}>${error}<//></details>`;
}

const TONES = { completed: "good", failed: "warn", expired: "warn", dead: "bad", leased: "calm" };

export function TimeLine({ moments }) {
  return html`<section class="card"><header><h2>Time line</h2></header>
    <ol class="moments">${moments.map((one, i) => html`<li key=${i} class=${`${TONES[one.what] ?? ""} ${one.future ? "future" : ""}`}>
      <span>${one.text}</span> <span class="soft"><${At} at=${one.at} seconds /> · <${Ago} at=${one.at} /></span></li>`)}</ol>
  </section>`;
}
