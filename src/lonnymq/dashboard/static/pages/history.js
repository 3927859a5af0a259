// The latest report that was made of a lake, in a frame that shares nothing with this page; and pictures beside it.
import { html } from "../lib/html.js";
import { url } from "../lib/api.js";
import { useResource } from "../lib/resource.js";
import { chosenTheme } from "../lib/theme.js";
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
      ${data.url && html`<iframe class="report card flush" key=${data.made_at} src=${url(data.url, { theme: chosenTheme() }).href} title=${`Report: ${data.title}`} sandbox="allow-scripts" referrerpolicy="no-referrer"></iframe>`}
      ${data.pictures.length > 0 && html`<div class="pictures">${data.pictures.map((picture) => html`<figure class="card" key=${picture.name}><figcaption><h2>${picture.title}</h2></figcaption>
        <img src=${url(picture.url).href} alt=${picture.title} loading="lazy" /></figure>`)}</div>`}`
      : html`<div class="card"><${Empty} title=${data.configured ? "No report yet" : "No report is configured"}><p>${data.advice}</p><//></div>`)}<//>`;
}
