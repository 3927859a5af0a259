// The dialog that changes the limits of a channel. Only changed fields are sent.
import { html, useEffect, useState } from "../lib/html.js";
import { Modal, useActions } from "./action_dialog.js";
import { Notice } from "./status.js";
import { postJson, queuePath } from "../lib/api.js";
import { useQueue } from "../lib/queue.js";

const FIELDS = [
  ["max_concurrency", "Maximum running", "empty: no limit", 1],
  ["min_interval_ms", "Minimum milliseconds between two messages", "empty: no rate limit", 1],
  ["burst", "Burst", "messages that may start together after a pause", 1],
  ["max_size", "Maximum size", "messages, empty: no limit", 1],
  ["weight", "Weight", "messages per turn", 1],
  ["max_attempts", "Maximum attempts", "then the message is dead", 1],
];

const written = (row) => ({
  ...Object.fromEntries(FIELDS.map(([key]) => [key, row[key] == null ? "" : String(row[key])])),
  when_full: row.when_full,
  retry_delays_ms: (row.retry_delays_ms ?? []).join(", "),
  retry_jitter: row.retry_jitter == null ? "" : String(row.retry_jitter),
});

const number = (text) => (text.trim() === "" ? null : Number(text));
const read = (key, text) => {
  if (key === "when_full") return text;
  if (key === "retry_delays_ms") return text.trim() === "" ? null : text.split(/[\s,]+/).filter(Boolean).map(Number);
  return number(text);
};

function usePreview(path, options, body) {
  const [state, setState] = useState({ preview: null, error: null });
  const key = JSON.stringify(options);
  useEffect(() => {
    setState({ preview: null, error: null });
    if (key === "{}") return undefined;
    let over = false;
    const timer = setTimeout(() => postJson(`${path}/preview`, body(options)).then(
      (preview) => over || setState({ preview, error: null }),
      (error) => over || setState({ preview: null, error }),
    ), 250);
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, [key]);
  return state;
}

export function LimitsDialog({ name, row, onClose, onDone }) {
  const { queue } = useQueue();
  const actions = useActions();
  const [first] = useState(() => written(row));
  const [fields, setFields] = useState(first);
  const [progress, setProgress] = useState({ busy: false, error: null });
  const options = Object.fromEntries(Object.keys(fields).filter((key) => fields[key] !== first[key]).map((key) => [key, read(key, fields[key])]));
  const path = queuePath(queue, "actions/set_limits");
  const body = (changed) => ({ channel: name, options: changed });
  const { preview, error } = usePreview(path, options, body);
  const changes = Object.keys(options).length > 0;
  const type = (key) => (event) => setFields({ ...fields, [key]: event.target.value });

  const set = async () => {
    if (!preview || progress.busy) return;
    setProgress({ busy: true, error: null });
    try {
      const result = await postJson(path, body(options));
      actions.notify({ text: result.message });
      onClose();
      onDone();
    } catch (failure) {
      setProgress({ busy: false, error: failure });
    }
  };
  const shownError = progress.error ?? error;
  return html`<${Modal} title=${html`Limits of <bdi>${name}</bdi>`} onClose=${onClose} onSubmit=${set}>
    <div class="fields">
      ${FIELDS.map(([key, label, hint, min]) => html`<label class="field" key=${key}><span>${label}</span>
        <input class="input" type="number" inputmode="numeric" step="1" min=${min} name=${key} value=${fields[key]} onInput=${type(key)} /><span class="hint">${hint}</span></label>`)}
      <label class="field"><span>When full</span><select class="input" name="when_full" value=${fields.when_full} onChange=${type("when_full")}>
        <option value="reject">reject new messages</option><option value="drop">drop new messages</option></select></label>
      <label class="field"><span>Retry delays in milliseconds</span><input class="input" name="retry_delays_ms" value=${fields.retry_delays_ms} onInput=${type("retry_delays_ms")} /><span class="hint">the last delay repeats</span></label>
      <label class="field"><span>Retry jitter</span><input class="input" type="number" inputmode="decimal" step="any" min="0" max="1" name="retry_jitter" value=${fields.retry_jitter} onInput=${type("retry_jitter")} /><span class="hint">0.1: delays are up to 10 % longer</span></label>
    </div>
    <div class="say" aria-live="polite">
      ${!changes && html`<p class="soft">You have not changed anything yet.</p>`}
      ${changes && !preview && !shownError && html`<p class="soft">Loading preview …</p>`}
      ${preview && html`<p>${preview.message}</p>`}
      ${preview?.warning && html`<${Notice} tone="warn" title=${preview.warning} />`}
      ${shownError && html`<${Notice} tone="bad" title=${shownError.message}><p>${shownError.advice}</p><//>`}
    </div>
    <div class="ends"><button type="button" class="button" onClick=${onClose}>Close</button>
      <button type="submit" class="button main" disabled=${!preview || progress.busy}>Change limits</button></div>
  <//>`;
}
