// The page, put together.
function method() {
  const facts = [
    ["Attempt", "One lease of a message, from its dequeue to its end. It is counted in the step of time that it ended in."],
    ["Wait", "From when an attempt could have begun (its message created, due, and the attempt before it ended) until it was dequeued. The delay of a retry or a defer is no wait. A moment in the past given as a rank is no wait either."],
    ["Percentiles", "Of the nearest rank. Those of a whole period, and of all tenants together, are put together from steps of 2%: they are off by 1.3% at most."],
    ["Backlog", "What was ready and not begun. It is put together from attempts that have ended: what still waits is not in history yet, so the last steps show too little."],
    ["Fairness", "Jain's index among tenants that had a backlog at both ends of a step and were not at 90% of a limit of their own, or paused."],
    ["Capacity", "The 95th percentile of what hours with a backlog got done, times 24; without such an hour, the best hour is a lower bound."],
  ];
  return card("method", "How it is counted", null, h("dl", { class: "method" }, facts.map(([name, text]) => h("div", {}, h("dt", {}, name), h("dd", {}, text)))));
}

function empty() {
  return h("section", { class: "card" }, h("div", { class: "empty" }, h("strong", {}, "Nothing ended in this period"),
    h("p", {}, "The lake has no attempt that ended between these two moments. Look at another period, or bring history into the lake with ", h("code", {}, "lonnymq lake sync"), ".")));
}

const data = JSON.parse(document.getElementById("data").textContent);
const app = document.getElementById("app");
document.body.append(probe);
const isEmpty = !data.summary.attempts && !data.times.some((_, place) => data.backlog.waiting_after[place]);
const main = h("main", { id: "main", tabindex: -1 }, heading());
const nav = h("ul");
app.replaceChildren(h("div", { class: "shell" },
  h("aside", { class: "side", "aria-label": "Report" }, brand(), h("nav", { "aria-label": "Sections" }, nav), h("div", { class: "foot" }, themes())), main));
if (isEmpty) main.append(empty(), method());
else {
  main.append(figures(), ...(data.highlights.length ? [highlights()] : []), waits(), fairness(), ...backlog(), limits(), noisy(), starvation(), errors(), forecast(), one, tenants(), method());
  nav.append(...rail());
  if (tenantRows().length) showTenant(tenantRows()[0], false);
}
redraw();
document.documentElement.dataset.ready = "true";
