// All channels, searched, sorted and paged by the server.
import { html, useEffect, useRef, useState } from "../lib/html.js";
import { ChannelTable, RankingNote } from "../components/channel_table.js";
import { Empty, Loaded, Notice } from "../components/status.js";
import { Pager } from "../components/table.js";
import { PageTitle } from "../components/values.js";
import { sortChannels, useChannelSearch } from "../lib/channel_list.js";
import { formatCount } from "../lib/format.js";
import { useQueue } from "../lib/queue.js";
import { replaceHash } from "../lib/router.js";

const LIMIT = 50;
const TYPING_MS = 250; // after the last key
const STATES = ["ready", "saturated", "throttled", "paused", "scheduled", "retiring", "idle"];

export function Channels() {
  const { queue, link, search, beat } = useQueue();
  const query = {
    search: search.get("search") ?? "",
    state: search.get("state") ?? "",
    cursor: search.get("cursor") ?? "",
    sort: search.get("sort") ?? (search.get("search") ? "name" : "waiting"),
    limit: LIMIT,
  };
  const found = useChannelSearch(queue, query, Math.floor(beat / 2));
  const go = (changes, { replace = false } = {}) => {
    const next = link("channels", [], { search: query.search, state: query.state, sort: search.get("sort"), ...changes });
    if (replace) replaceHash(next); // Back does not return to each letter
    else location.hash = next;
  };
  const sort = (by) => go({ sort: by, state: by === "name" ? "" : query.state, cursor: "" });
  return html`<${PageTitle} title="Channels" />
    <section class="card flush">
      <form class="toolbar" role="search" onSubmit=${(event) => event.preventDefault()}>
        <${SearchField} value=${query.search} onSearch=${(text) => go({ search: text, sort: "", state: "", cursor: "" }, { replace: true })} />
        <label class="field"><span>Sort by</span>
          <select class="input" value=${query.sort} onChange=${(event) => sort(event.target.value)}>
            <option value="waiting">most waiting</option><option value="running">most running</option><option value="oldest">longest wait</option>
            <option value="failing">most failing</option><option value="rate">fastest</option><option value="dead">most dead</option><option value="name">name</option></select></label>
        <label class="field"><span>State</span>
          <select class="input" value=${query.state} onChange=${(event) => go({ state: event.target.value, sort: query.sort === "name" ? "waiting" : query.sort, cursor: "" })}>
            <option value="">any</option>${STATES.map((one) => html`<option key=${one} value=${one}>${one === "saturated" ? "at limit" : one}</option>`)}</select></label>
      </form>
      <${Loaded} of=${found}>${(data) => html`<${ChannelResults} ...${{ data, query, searching: found.searching, sort }}
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
    timer.current = setTimeout(() => onSearch(wanted), TYPING_MS);
  };
  return html`<label class="field wide"><span>Search by name</span>
    <input class="input" type="search" value=${text} onInput=${typed} placeholder="acme" autocomplete="off" spellcheck=${false} /></label>`;
}

function ChannelResults({ data, query, searching, sort, onFirst, onNext }) {
  const all = data.total?.value >= data.channels.length && `${data.total.exact ? "" : "about "}${formatCount(data.total.value)} in total`;
  const text = [
    `${formatCount(data.channels.length)} shown`,
    all,
    query.search && (searching ? `searching, ${formatCount(data.searched)} names so far` : !data.complete && `${formatCount(data.searched)} names searched`),
  ].filter(Boolean).join(", ");
  if (!data.channels.length && !searching) return html`<${NoChannels} query=${query} data=${data} />`;
  return html`
    ${query.search && query.sort !== "name" && html`<div class="within"><${Notice} title="This searches only the leading channels."><p><button type="button" class="button small" onClick=${() => sort("name")}>Search all by name</button></p><//></div>`}
    <${RankingNote} data=${data} query=${query} onAll=${() => sort("name")} />
    <${ChannelTable} caption="Channels" rows=${sortChannels(data.channels, query.sort)} sorted=${query.sort} onSort=${sort} />
    <${Pager} text=${text} first=${query.cursor !== ""} next=${data.next} onFirst=${onFirst} onNext=${onNext} />`;
}

function NoChannels({ query, data }) {
  if (query.search) return html`<${Empty} title=${`No channel name contains “${query.search}”`}><p>${data.searched ? `${formatCount(data.searched)} names were searched. ` : ""}A channel that is idle for long is removed. The next message creates the channel again.</p><//>`;
  if (query.state) return html`<${Empty} title="No channel is in this state"><p>Choose another state, or any.</p><//>`;
  return html`<${Empty} title="No channel yet"><p>The first message creates a channel: <code>lonnymq message create acme hello</code></p><//>`;
}
