// All channels, however many: searched, sorted and paged by the server.
import { html, useEffect, useRef, useState } from "../lib/html.js";
import { useChannelSearch } from "../lib/channel_search.js";
import { count } from "../lib/format.js";
import { useHere } from "../lib/here.js";
import { ordered } from "../lib/order.js";
import { replaceAddress } from "../lib/router.js";
import { ChannelTable } from "../parts/channel_table.js";
import { Ranking } from "../parts/ranking.js";
import { Empty, Notice, Shown } from "../parts/states.js";
import { Pager } from "../parts/table.js";
import { Title } from "../parts/title.js";

const LIMIT = 50;
const PATIENCE = 250; // after the last key
const STATES = ["ready", "saturated", "throttled", "paused", "scheduled", "releasing", "idle"];

export function Channels() {
  const { queue, link, search, beat } = useHere();
  const query = {
    search: search.get("search") ?? "",
    state: search.get("state") ?? "",
    cursor: search.get("cursor") ?? "",
    sort: search.get("sort") ?? (search.get("search") ? "name" : "waiting"),
    limit: LIMIT,
  };
  const found = useChannelSearch(queue, query, Math.floor(beat / 2));
  const go = (changes) => {
    const next = { search: query.search, state: query.state, sort: search.get("sort"), ...changes };
    replaceAddress(link("channels", [], next));
  };
  const sort = (by) => go({ sort: by, state: by === "name" ? "" : query.state, cursor: "" });
  return html`<${Title} title="Channels" />
    <section class="card flush">
      <form class="toolbar" role="search" onSubmit=${(event) => event.preventDefault()}>
        <${SearchField} value=${query.search} onSearch=${(text) => go({ search: text, sort: "", state: "", cursor: "" })} />
        <label class="field"><span>Sorted by</span>
          <select class="input" value=${query.sort} onChange=${(event) => sort(event.target.value)}>
            <option value="waiting">most waiting</option><option value="running">most running</option><option value="oldest">longest wait</option>
            <option value="rate">fastest</option><option value="dead">most dead</option><option value="name">name</option></select></label>
        <label class="field"><span>State</span>
          <select class="input" value=${query.state} onChange=${(event) => go({ state: event.target.value, sort: query.sort === "name" ? "waiting" : query.sort, cursor: "" })}>
            <option value="">any</option>${STATES.map((one) => html`<option key=${one} value=${one}>${one === "saturated" ? "at its limit" : one}</option>`)}</select></label>
      </form>
      <${Shown} of=${found}>${(data) => html`<${Found} ...${{ data, query, looking: found.looking, sort }}
        onFirst=${() => go({ cursor: "" })} onNext=${() => go({ cursor: data.next })} />`}<//>
    </section>`;
}

function SearchField({ value, onSearch }) {
  const [text, setText] = useState(value);
  const timer = useRef(null);
  useEffect(() => setText(value), [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const typed = (event) => {
    const wanted = event.target.value;
    setText(wanted);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => onSearch(wanted), PATIENCE);
  };
  return html`<label class="field wide"><span>Search by name</span>
    <input class="input" type="search" value=${text} onInput=${typed} placeholder="acme" autocomplete="off" spellcheck=${false} /></label>`;
}

function Found({ data, query, looking, sort, onFirst, onNext }) {
  const all = data.total?.value >= data.channels.length && `${data.total.exact ? "" : "about "}${count(data.total.value)} in all`;
  const said = [
    `${count(data.channels.length)} shown`,
    all,
    query.search && (looking ? `looking on, at ${count(data.searched)} names so far` : !data.complete && `${count(data.searched)} names looked at`),
  ].filter(Boolean).join(", ");
  if (!data.channels.length && !looking) return html`<${None} query=${query} data=${data} />`;
  return html`
    ${query.search && query.sort !== "name" && html`<div class="within"><${Notice} title="Searched among the leading channels only."><p><button type="button" class="button small" onClick=${() => sort("name")}>Search all, by name</button></p><//></div>`}
    <${Ranking} data=${data} query=${query} onAll=${() => sort("name")} />
    <${ChannelTable} caption="Channels" rows=${ordered(data.channels, query.sort)} sorted=${query.sort} onSort=${sort} />
    <${Pager} said=${said} first=${query.cursor !== ""} next=${data.next} onFirst=${onFirst} onNext=${onNext} />`;
}

function None({ query, data }) {
  if (query.search) return html`<${Empty} title=${`No channel is called anything like “${query.search}”`}><p>${data.searched ? `${count(data.searched)} names were looked at. ` : ""}A channel that was idle for long is forgotten, and comes back with its next message.</p><//>`;
  if (query.state) return html`<${Empty} title="No channel is in that state now"><p>Choose another state, or any.</p><//>`;
  return html`<${Empty} title="No channel yet"><p>One comes into being with its first message: <code>lonnymq message create acme hello</code></p><//>`;
}
