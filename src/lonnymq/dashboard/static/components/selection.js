// Rows that the reader selects, for actions on exactly these.
import { html, useState } from "../lib/html.js";
import { ActionButton, useActions } from "./action_dialog.js";
import { pluralize } from "../lib/format.js";

/** `{ids, column, allowed, clear}`: the selected ids among the rows, a column of boxes, and the actions that the
    user may run. Without such actions there is no column. */
export function useSelection(rows, actions) {
  const { may } = useActions();
  const allowed = actions.filter((one) => may(one.action));
  const [chosen, setChosen] = useState(new Set());
  const shown = rows.map((row) => row.id);
  const ids = shown.filter((id) => chosen.has(id));
  const toggle = (id) => setChosen((before) => {
    const next = new Set(before);
    if (!next.delete(id)) next.add(id);
    return next;
  });
  const isAll = ids.length > 0 && ids.length === shown.length;
  const toggleAll = () => setChosen(new Set(isAll ? [] : shown));
  const column = {
    key: "choose", label: "Select", hideLabel: true,
    head: html`<input type="checkbox" aria-label="Select all shown messages" checked=${isAll} onChange=${toggleAll} />`,
    cell: (row) => html`<input type="checkbox" aria-label=${`Select message ${row.id}`} checked=${chosen.has(row.id)} onChange=${() => toggle(row.id)} />`,
  };
  return { ids, allowed, column: allowed.length > 0 && column, clear: () => setChosen(new Set()) };
}

/** The actions on the selected messages. */
export function SelectionBar({ selection, onDone }) {
  const { ids, allowed, clear } = selection;
  if (allowed.length === 0) return null;
  const done = () => {
    clear();
    onDone();
  };
  return html`<div class="toolbar selected" role="group" aria-label="Selected messages">
    <span role="status">${ids.length ? `${pluralize(ids.length, "message")} selected` : html`<span class="soft">Select messages to act on them.</span>`}</span>
    ${ids.length > 0 && html`${allowed.map((one) => html`<${ActionButton} key=${one.action} small ...${one} body=${{ ids }} onDone=${done} />`)}
      <button type="button" class="button small bare" onClick=${clear}>Select none</button>`}
  </div>`;
}

export const CANCEL = { label: "Cancel", action: "cancel_many", title: "Cancel the selected messages?", verb: "Cancel messages", grave: true };
export const REDRIVE = { label: "Redrive", action: "redrive", title: "Queue the selected messages again?", verb: "Redrive" };
export const PURGE = { label: "Purge", action: "purge_dead", title: "Delete the selected dead messages?", verb: "Delete", grave: true };
