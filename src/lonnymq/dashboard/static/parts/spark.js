// A line without axes, beside a figure; the chart below it says the same in full.
import { html } from "../lib/html.js";
import { runs } from "../lib/scale.js";

export function Spark({ values, colour }) {
  const known = values.filter((value) => value != null);
  if (known.length < 2) return null;
  const most = Math.max(...known, 1e-9);
  const lines = runs(values.map((_, i) => i), values)
    .map((run) => run.map(([i, value], n) => `${n ? "L" : "M"}${((100 * i) / (values.length - 1)).toFixed(1)},${(19 - (18 * value) / most).toFixed(1)}`).join(""))
    .join("");
  return html`<svg class="spark" viewBox="0 0 100 20" preserveAspectRatio="none" aria-hidden="true"><path d=${lines} style=${{ stroke: colour }} /></svg>`;
}
