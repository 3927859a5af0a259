// Every action asks here first: what will happen, to how many; then it is done and said.
import { createContext, html, useContext, useEffect, useId, useRef, useState } from "../lib/html.js";
import { post, queuePath } from "../lib/api.js";
import { Notice } from "./states.js";

export const Acting = createContext(null);
export const useActing = () => useContext(Acting);

/** A button that is there only where actions are allowed, and asks before it acts. */
export function Act({ label, action, body, title, verb, grave = false, small = false, main = false, children, onDone }) {
  const acting = useActing();
  if (!acting.allowed) return null;
  const open = () => acting.ask({ action, body, title, verb: verb ?? label, grave, onDone, children });
  return html`<button type="button" class=${`button ${grave ? "grave" : ""} ${small ? "small" : ""} ${main ? "main" : ""}`} onClick=${open}>${label}</button>`;
}

function usePreview(queue, action, body) {
  const [preview, setPreview] = useState({ told: null, error: null });
  const key = JSON.stringify(body);
  useEffect(() => {
    let over = false;
    setPreview({ told: null, error: null });
    post(queuePath(queue, `actions/${action}/preview`), body).then(
      (told) => over || setPreview({ told, error: null }),
      (error) => over || setPreview({ told: null, error }),
    );
    return () => { over = true; };
  }, [queue, action, key]);
  return preview;
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

export function Ask({ queue, asked, onClose, onSaid }) {
  const { action, body, title, verb, grave, onDone } = asked;
  const { told, error } = usePreview(queue, action, body);
  const [doing, setDoing] = useState({ busy: false, error: null });
  const act = async () => {
    if (!told || doing.busy) return;
    setDoing({ busy: true, error: null });
    try {
      const did = await post(queuePath(queue, `actions/${action}`), body);
      onSaid({ text: did.did, more: did.more });
      onClose();
      onDone?.(did);
    } catch (refused) {
      setDoing({ busy: false, error: refused });
    }
  };
  const wrong = doing.error ?? error;
  return html`<${Modal} title=${title} onClose=${onClose} onSubmit=${act}>
    <div class="say" aria-live="polite">
      ${told ? html`<p>${told.will}</p>` : !error && html`<p class="soft">Looking at what this would do …</p>`}
      ${told?.warning && html`<${Notice} tone="warn" title=${told.warning} />`}
      ${wrong && html`<${Notice} tone="bad" title=${wrong.message}><p>${wrong.advice}</p><//>`}
    </div>
    <div class="ends">
      <button type="button" class="button" onClick=${onClose}>Leave it as it is</button>
      <button type="submit" class=${`button main ${grave ? "grave" : ""}`} disabled=${!told || doing.busy}>${doing.busy ? "Working …" : verb}</button>
    </div>
  <//>`;
}

/** What was done, for eyes and for screen readers; it goes when dismissed, or makes room for the fourth after it. */
export function Toasts({ said, onDismiss }) {
  return html`<div class="toasts" role="status" aria-live="polite">
    ${said.map((one) => html`<div key=${one.id} class=${`toast ${one.tone ?? ""}`}>
      <p>${one.text}${one.more && " There are more: do it again for the rest."}</p>
      <button type="button" class="button small bare" onClick=${() => onDismiss(one.id)}>Dismiss</button></div>`)}
  </div>`;
}
