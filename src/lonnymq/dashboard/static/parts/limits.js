// Limits are changed here: only what differs is sent, and what it will mean is said before.
import { html, useEffect, useState } from "../lib/html.js";
import { post, queuePath } from "../lib/api.js";
import { useHere } from "../lib/here.js";
import { Modal, useActing } from "./dialog.js";
import { Notice } from "./states.js";

const FIELDS = [
  ["max_concurrency", "Running at once", "empty: no limit", 1],
  ["release_interval_ms", "Milliseconds between two", "empty: no limit of rate", 1],
  ["burst", "Burst after a rest", "so many may come at once", 1],
  ["max_size", "Messages at most", "empty: no limit", 1],
  ["weight", "Weight", "messages each turn", 1],
  ["max_attempts", "Attempts", "then a message is dead", 1],
];

const written = (row) => ({
  ...Object.fromEntries(FIELDS.map(([key]) => [key, row[key] == null ? "" : String(row[key])])),
  when_full: row.when_full,
  retry_delays_ms: (row.retry_delays_ms ?? []).join(", "),
});

const number = (text) => (text.trim() === "" ? null : Number(text));
const read = (key, text) => {
  if (key === "when_full") return text;
  if (key === "retry_delays_ms") return text.trim() === "" ? null : text.split(/[\s,]+/).filter(Boolean).map(Number);
  return number(text);
};

function usePreview(path, options, body) {
  const [seen, setSeen] = useState({ told: null, error: null });
  const key = JSON.stringify(options);
  useEffect(() => {
    setSeen({ told: null, error: null });
    if (key === "{}") return undefined;
    let over = false;
    const timer = setTimeout(() => post(`${path}/preview`, body(options)).then(
      (told) => over || setSeen({ told, error: null }),
      (error) => over || setSeen({ told: null, error }),
    ), 250);
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, [key]);
  return seen;
}

export function LimitsDialog({ name, row, onClose, onDone }) {
  const { queue } = useHere();
  const acting = useActing();
  const [first] = useState(() => written(row));
  const [fields, setFields] = useState(first);
  const [doing, setDoing] = useState({ busy: false, error: null });
  const options = Object.fromEntries(Object.keys(fields).filter((key) => fields[key] !== first[key]).map((key) => [key, read(key, fields[key])]));
  const path = queuePath(queue, "actions/set_limits");
  const body = (changed) => ({ channel: name, options: changed });
  const { told, error } = usePreview(path, options, body);
  const changes = Object.keys(options).length > 0;
  const type = (key) => (event) => setFields({ ...fields, [key]: event.target.value });

  const set = async () => {
    if (!told || doing.busy) return;
    setDoing({ busy: true, error: null });
    try {
      const did = await post(path, body(options));
      acting.say({ text: did.did });
      onClose();
      onDone();
    } catch (refused) {
      setDoing({ busy: false, error: refused });
    }
  };
  const wrong = doing.error ?? error;
  return html`<${Modal} title=${html`Limits of <bdi>${name}</bdi>`} onClose=${onClose} onSubmit=${set}>
    <div class="fields">
      ${FIELDS.map(([key, label, hint, min]) => html`<label class="field" key=${key}><span>${label}</span>
        <input class="input" type="number" inputmode="numeric" step="1" min=${min} name=${key} value=${fields[key]} onInput=${type(key)} /><span class="hint">${hint}</span></label>`)}
      <label class="field"><span>When full</span><select class="input" name="when_full" value=${fields.when_full} onChange=${type("when_full")}>
        <option value="refuse">refuse what comes</option><option value="drop">drop what comes</option></select></label>
      <label class="field"><span>Retry delays, milliseconds</span><input class="input" name="retry_delays_ms" value=${fields.retry_delays_ms} onInput=${type("retry_delays_ms")} /><span class="hint">the last one repeats</span></label>
    </div>
    <div class="say" aria-live="polite">
      ${!changes && html`<p class="soft">Nothing is changed yet.</p>`}
      ${changes && !told && !wrong && html`<p class="soft">Looking at what this would do …</p>`}
      ${told && html`<p>${told.will}</p>`}
      ${told?.warning && html`<${Notice} tone="warn" title=${told.warning} />`}
      ${wrong && html`<${Notice} tone="bad" title=${wrong.message}><p>${wrong.advice}</p><//>`}
    </div>
    <div class="ends"><button type="button" class="button" onClick=${onClose}>Leave them as they are</button>
      <button type="submit" class="button main" disabled=${!told || doing.busy}>Set limits</button></div>
  <//>`;
}
