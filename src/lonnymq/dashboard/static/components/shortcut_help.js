// The list of keys, and the switch that turns them off.
import { html } from "../lib/html.js";
import { Modal } from "./action_dialog.js";
import { findPage } from "../pages/index.js";
import { PAGE_KEYS } from "../lib/shortcuts.js";

export function ShortcutHelp({ shortcuts }) {
  const close = () => shortcuts.setHelp(false);
  const rows = [...Object.entries(PAGE_KEYS).map(([key, page]) => [key, findPage(page).title]), ["/", "Search"], ["p", "Stop or start updates"], ["?", "This list"]];
  return html`<${Modal} title="Keys" onClose=${close} onSubmit=${close}>
    <dl class="values keys">${rows.map(([key, words]) => html`<div key=${key}><dt><kbd>${key}</kbd></dt><dd>${words}</dd></div>`)}</dl>
    <p class="soft">In a chart, arrow keys move, + and - zoom.</p>
    <label class="check"><input type="checkbox" checked=${shortcuts.isOn} onChange=${(event) => shortcuts.setOn(event.target.checked)} /> Keys are on</label>
    <div class="ends"><button type="submit" class="button main">Close</button></div>
  <//>`;
}
