// The latest report of a lake, in a sandboxed frame, and the pictures beside the report.
import { html, useEffect, useRef, useState } from "../lib/html.js";
import { Empty, Loaded } from "../components/status.js";
import { PageTitle, RelativeTime, Time } from "../components/values.js";
import { buildUrl } from "../lib/api.js";
import { useResource } from "../lib/queue.js";
import { useTheme } from "../lib/theme.js";

export function History() {
  const found = useResource("api/report");
  const report = found.data;
  return html`<${PageTitle} title="History" over="The latest report of the lake">
      ${report?.available && report.url && html`<a class="button" href=${buildUrl(report.url).href} target="_blank" rel="noopener">Open the report</a>`}
    <//>
    <${Loaded} of=${found}>${(data) => (data.available ? html`
      <p class="soft">${data.title} · created <${Time} at=${data.made_at} /> (<${RelativeTime} at=${data.made_at} />)</p>
      ${data.url && html`<${Report} key=${data.made_at} report=${data} />`}
      ${data.pictures.length > 0 && html`<div class="pictures">${data.pictures.map((picture) => html`<figure class="card" key=${picture.name}><figcaption><h2>${picture.title}</h2></figcaption>
        <img src=${buildUrl(picture.url).href} alt=${picture.title} loading="lazy" /></figure>`)}</div>`}`
      : html`<div class="card"><${Empty} title=${data.configured ? "No report yet" : "No report is configured"}><p>${data.advice}</p><//></div>`)}<//>`;
}

/** The report gets the theme of the page. A sandboxed frame has no origin, so the message goes to any origin. */
function Report({ report }) {
  const frame = useRef();
  const theme = useTheme();
  const [address] = useState(() => buildUrl(report.url, { theme }).href);
  const tell = () => frame.current.contentWindow.postMessage({ theme }, "*");
  useEffect(tell, [theme]);
  return html`<iframe ref=${frame} class="report card flush" src=${address} onLoad=${tell} title=${`Report: ${report.title}`} sandbox="allow-scripts" referrerpolicy="no-referrer"></iframe>`;
}
