// Bytes as people read them: JSON set out, text, or a dump; whatever is in them is shown, never run.
import { html, useState } from "../lib/html.js";
import { bytes } from "../lib/format.js";
import { Choice } from "./choice.js";

const PER_LINE = 16;

/** The API's hex as lines of offset, bytes and what is printable of them. */
export function dump(hex) {
  const digits = hex.replace(/\s+/g, "");
  const lines = [];
  for (let at = 0; at < digits.length; at += 2 * PER_LINE) {
    const pairs = digits.slice(at, at + 2 * PER_LINE).match(/../g) ?? [];
    const seen = pairs.map((pair) => parseInt(pair, 16)).map((code) => (code >= 32 && code < 127 ? String.fromCharCode(code) : "·")).join("");
    lines.push(`${(at / 2).toString(16).padStart(6, "0")}  ${pairs.join(" ").padEnd(3 * PER_LINE - 1)}  ${seen}`);
  }
  return lines.join("\n");
}

export function Code({ label, children }) {
  return html`<pre class="code" tabindex="0" role="region" aria-label=${label}><code dir="auto">${children}</code></pre>`;
}

export function Content({ title, content, download, missing }) {
  const [view, setView] = useState(null);
  if (!content) return html`<section class="card"><header><h2>${title}</h2></header><p class="soft">${missing}</p></section>`;
  const views = [content.kind === "json" && ["text", "JSON"], content.kind === "text" && ["text", "Text"], ["hex", "Hex"]].filter(Boolean);
  const shown = view ?? views[0][0];
  return html`<section class="card"><header><h2>${title}</h2>
      <p>${bytes(content.size)}${content.cut && `, the first ${bytes(content.shown)} are shown`}${download && html` · <a href=${download} download>Download</a>`}</p>
      ${views.length > 1 && html`<${Choice} label=${`How to show the ${title.toLowerCase()}`} options=${views} value=${shown} onChange=${setView} />`}
    </header>
    ${content.size === 0 ? html`<p class="soft">Empty.</p>` : html`<${Code} label=${title}>${shown === "hex" ? dump(content.hex) : content.text}<//>`}
  </section>`;
}
