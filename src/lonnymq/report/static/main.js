// Builds the page.
function method() {
  const facts = [
    ["Attempt", "A lease of a message, from dequeue to completion, failure, deferral or expiry. An attempt counts in the time step in which the attempt ended."],
    ["Wait", "The time from ready to dequeued. An attempt is ready when the message is created and due and the previous attempt has ended. The delay of a retry or a deferral is not a wait. A due time in the past, used as a priority, adds no wait."],
    ["Percentiles", "Nearest rank. Percentiles of a whole period and of all tenants come from histograms with an error of at most 1.3%."],
    ["Backlog", "Messages that were ready and not leased. The backlog is computed from finished attempts. Messages that still wait are not in history yet, so the last steps show too little."],
    ["Fairness", "Jain's index over tenants with a backlog at both ends of a step. Paused tenants and tenants at 90% or more of a limit are left out."],
    ["Capacity", "24 times the 95th percentile of attempts per hour, over hours with a backlog. Without such an hour, the best hour gives a lower bound."],
  ];
  return card("method", "Definitions", null, h("dl", { class: "method" }, facts.map(([name, text]) => h("div", {}, h("dt", {}, name), h("dd", {}, text)))));
}

function empty() {
  return h("section", { class: "card" }, h("div", { class: "empty" }, h("strong", {}, "No attempts in this period"),
    h("p", {}, "The lake has no attempts that ended in this period. Choose another period, or copy history into the lake with ", h("code", {}, "lonnymq lake sync"), ".")));
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
