// Which channels a ranking has seen: it looks at so many whatever there is, and says so where that is not all of them.
import { html } from "../lib/html.js";
import { count } from "../lib/format.js";

const SEEN = {
  waiting: "those with messages, by a sample of 200 pages",
  running: "those with messages that run, by the latest 2,000 leases",
  oldest: "those that wait longest, of up to 1,400 that are served, held or full",
  rate: "those in which attempts ended lately, by the latest 5,000",
  dead: "those with dead messages, by the newest 10,000",
};

export function isOfSome({ ranked, searched, total }) {
  return ranked === "estimated" && searched < total.value;
}

export function Ranking({ data, query, onAll }) {
  if (query.search || !isOfSome(data)) return null;
  const which = query.state ? "at most 1,000 in this state are found" : SEEN[query.sort];
  return html`<p class="ranking"><span aria-hidden="true">≈</span> <span>${count(data.searched)} of ${data.total.exact ? "" : "about "}${count(data.total.value)} channels are ranked here: ${which}.</span>
    <button type="button" class="button small" onClick=${onAll}>List all, by name</button></p>`;
}
