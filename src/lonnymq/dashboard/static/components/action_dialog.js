// Buttons for actions, and the dialog that shows a preview before an action runs.
import { createContext, html, useContext, useEffect, useId, useRef, useState } from "../lib/html.js";
import { Notice } from "./status.js";
import { postJson, queuePath } from "../lib/api.js";
import { formatCount, pluralize } from "../lib/format.js";

export const ActionContext = createContext(null);
export const useActions = () => useContext(ActionContext);

/** A button that opens a preview of an action. Without the right to act there is no button. */
export function ActionButton({ label, action, body, title, verb, grave = false, small = false, main = false, children, onDone }) {
  const actions = useActions();
  if (!actions.may(action)) return null;
  const open = () => actions.ask({ action, body, title, verb: verb ?? label, grave, onDone, children });
  return html`<button type="button" class=${`button ${grave ? "grave" : ""} ${small ? "small" : ""} ${main ? "main" : ""}`} onClick=${open}>${label}</button>`;
}

function usePreview(queue, action, body) {
  const [state, setState] = useState({ preview: null, error: null });
  const key = JSON.stringify(body);
  useEffect(() => {
    let over = false;
    setState({ preview: null, error: null });
    postJson(queuePath(queue, `actions/${action}/preview`), body).then(
      (preview) => over || setState({ preview, error: null }),
      (error) => over || setState({ preview: null, error }),
    );
    return () => { over = true; };
  }, [queue, action, key]);
  return state;
}

export function Modal({ title, onClose, onSubmit, children }) {
  const dialog = useRef();
  const label = useId();
  useEffect(() => {
    const before = document.activeElement;
    dialog.current.showModal();
    return () => before?.isConnected && before.focus();
  }, []);
  const submit = (event) => {
    event.preventDefault();
    onSubmit(event);
  };
  return html`<dialog ref=${dialog} class="ask" aria-labelledby=${label} onClose=${onClose}>
    <form method="dialog" onSubmit=${submit}><h2 id=${label}>${title}</h2>${children}</form></dialog>`;
}

export function ActionDialog({ queue, pending, onClose, onResult }) {
  const { action, body, title, verb, grave, onDone } = pending;
  const { preview, error } = usePreview(queue, action, body);
  const [progress, setProgress] = useState({ busy: false, error: null, count: 0 });
  const closed = useRef(false);
  useEffect(() => () => { closed.current = true; }, []);
  // An action on many messages runs in steps, and touches nothing that came after the preview.
  const act = async () => {
    if (!preview || progress.busy) return;
    setProgress({ busy: true, error: null, count: 0 });
    let count = 0;
    try {
      for (;;) {
        const result = await postJson(queuePath(queue, `actions/${action}`), { ...body, ...preview.bound });
        const first = count === 0;
        count += result.count;
        if (!result.more || closed.current) {
          onResult({ text: first ? result.message : `${pluralize(count, "message")} in all. ${result.more ? "You stopped the action." : ""}`, more: first && result.more });
          break;
        }
        setProgress({ busy: true, error: null, count });
      }
      if (!closed.current) onClose();
    } catch (failure) {
      setProgress({ busy: false, error: failure, count });
    } finally {
      onDone?.();
    }
  };
  const shownError = progress.error ?? error;
  return html`<${Modal} title=${title} onClose=${onClose} onSubmit=${act}>
    <div class="say" aria-live="polite">
      ${preview ? html`<p>${preview.message}</p>` : !error && html`<p class="soft">Loading preview …</p>`}
      ${preview?.warning && html`<${Notice} tone="warn" title=${preview.warning} />`}
      ${progress.count > 0 && html`<p role="status">${formatCount(progress.count)} of ${formatCount(preview.count)}${preview.at_least ? " or more" : ""} done.${progress.busy ? " Close the window to stop." : ""}</p>`}
      ${shownError && html`<${Notice} tone="bad" title=${shownError.message}><p>${shownError.advice}</p><//>`}
    </div>
    <div class="ends">
      <button type="button" class="button" onClick=${onClose}>Close</button>
      <button type="submit" class=${`button main ${grave ? "grave" : ""}`} disabled=${!preview || progress.busy}>${progress.busy ? "Working …" : verb}</button>
    </div>
  <//>`;
}

/** Results of actions, at most three. */
export function Toasts({ toasts, onDismiss }) {
  return html`<div class="toasts" role="status" aria-live="polite">
    ${toasts.map((one) => html`<div key=${one.id} class=${`toast ${one.tone ?? ""}`}>
      <p>${one.text}${one.more && " There are more messages. Repeat the action for the rest."}</p>
      <button type="button" class="button small bare" onClick=${() => onDismiss(one.id)}>Dismiss</button></div>`)}
  </div>`;
}
