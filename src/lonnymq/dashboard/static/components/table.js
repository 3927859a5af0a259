// A table whose rows become cards on narrow screens. The ARIA roles keep its meaning.
import { html } from "../lib/html.js";

/** `columns`: {key, label, cell(row), number, what, sort, head}. The first column is the header of the row, or the
    second after a column with a `head` of its own. */
export function Table({ caption, columns, rows, rowKey, sorted, onSort }) {
  const header = columns[0]?.head ? 1 : 0;
  return html`<table class="rows" role="table">
    <caption class="unseen">${caption}</caption>
    <thead role="rowgroup"><tr role="row">${columns.map((column) => html`<${HeaderCell} key=${column.key} ...${{ column, sorted, onSort }} />`)}</tr></thead>
    <tbody role="rowgroup">${rows.map((row) => html`<tr role="row" key=${rowKey(row)}>
      ${columns.map((column, i) => html`<${i !== header ? "td" : "th"} key=${column.key} role=${i !== header ? "cell" : "rowheader"} scope=${i !== header ? undefined : "row"}
        class=${cellClass(column)} data-label=${column.hideLabel ? undefined : column.label}>${column.cell(row)}<//>`)}
    </tr>`)}</tbody>
  </table>`;
}

const cellClass = (column) => [column.number && "number", column.head && "choose", column.what && "what", column.acts && "acts"].filter(Boolean).join(" ");

function HeaderCell({ column, sorted, onSort }) {
  const label = column.head ?? (column.acts ? html`<span class="unseen">${column.label}</span>` : column.label);
  if (!column.sort) return html`<th role="columnheader" scope="col" class=${cellClass(column)}>${label}</th>`;
  const is = sorted === column.sort;
  const order = column.sort === "name" ? "ascending" : "descending";
  return html`<th role="columnheader" scope="col" class=${cellClass(column)} aria-sort=${is ? order : "none"}>
    <button type="button" onClick=${() => onSort(column.sort)}>${label}${is && html`<span aria-hidden="true">${order === "ascending" ? "↑" : "↓"}</span>`}</button></th>`;
}

export function Pager({ text, first, next, onFirst, onNext }) {
  return html`<nav class="pager" aria-label="Pages"><span role="status">${text}</span>
    ${first && html`<button type="button" class="button small" onClick=${onFirst}>First page</button>`}
    ${(first || next) && html`<button type="button" class="button small" disabled=${!next} onClick=${onNext}>Next page</button>`}
  </nav>`;
}
