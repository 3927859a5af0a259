// The latest report that was made of a lake, in a frame that shares nothing with this page; and pictures beside it.
import { html, useEffect, useRef, useState } from "../lib/html.js";
import { url } from "../lib/api.js";
import { useResource } from "../lib/resource.js";
import { useTheme } from "../lib/theme.js";
import { Empty, Shown } from "../parts/states.js";
import { Ago, At } from "../parts/time.js";
import { Title } from "../parts/title.js";

export function History() {
  const found = useResource("api/report");
  const report = found.data;
  return html`<${Title} title="History" over="What the queue did, from the lake">
      ${report?.available && report.url && html`<a class="button" href=${url(report.url).href} target="_blank" rel="noopener">Open the whole report</a>`}
    <//>
    <${Shown} of=${found}>${(data) => (data.available ? html`
      <p class="soft">${data.title} · made <${At} at=${data.made_at} /> (<${Ago} at=${data.made_at} />)</p>
      ${data.url && html`<${Report} key=${data.made_at} report=${data} />`}
      ${data.pictures.length > 0 && html`<div class="pictures">${data.pictures.map((picture) => html`<figure class="card" key=${picture.name}><figcaption><h2>${picture.title}</h2></figcaption>
        <img src=${url(picture.url).href} alt=${picture.title} loading="lazy" /></figure>`)}</div>`}`
      : html`<div class="card"><${Empty} title=${data.configured ? "No report yet" : "No report is configured"}><p>${data.advice}</p><//></div>`)}<//>`;
}

/** It comes in the page's colours, and is told when others are chosen. It has no origin, so whoever is there may hear. */
function Report({ report }) {
  const frame = useRef();
  const theme = useTheme();
  const [address] = useState(() => url(report.url, { theme }).href);
  const tell = () => frame.current.contentWindow.postMessage({ theme }, "*");
  useEffect(tell, [theme]);
  return html`<iframe ref=${frame} class="report card flush" src=${address} onLoad=${tell} title=${`Report: ${report.title}`} sandbox="allow-scripts" referrerpolicy="no-referrer"></iframe>`;
}
