// One of a few, all of them seen at once.
import { html, useId } from "../lib/html.js";

export function Choice({ label, options, value, onChange }) {
  const name = useId();
  return html`<div class="themes choice" role="radiogroup" aria-label=${label}>
    ${options.map(([key, words]) => html`<label key=${key}><input type="radio" name=${name} value=${key} checked=${value === key} onChange=${() => onChange(key)} />${words}</label>`)}
  </div>`;
}
