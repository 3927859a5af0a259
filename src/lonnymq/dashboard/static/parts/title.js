// The head of a page: its name, what it belongs to, what may be done.
import { html } from "../lib/html.js";

export function Title({ over, title, children }) {
  return html`<div class="title"><h1 tabindex="-1">${over && html`<small>${over}</small>`}${title}</h1>
    ${children && html`<div class="actions">${children}</div>`}</div>`;
}
