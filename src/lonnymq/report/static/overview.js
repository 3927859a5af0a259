// The top of the page: the period, its totals and its highlights.
const SECTIONS = [
  ["highlights", "Highlights"], ["waits", "Waits"], ["fairness", "Fairness"], ["backlog", "Backlog"], ["limits", "Limits reached"],
  ["noisy", "Noisy neighbours"], ["starvation", "Starvation"], ["errors", "Errors"], ["forecast", "Capacity"], ["tenants", "Tenants"],
  ["method", "Definitions"],
];

function brand() {
  const arcs = [["M17.8 5.2a11 11 0 0 1 9 9", "#2e86ab"], ["M26.8 17.8a11 11 0 0 1-9 9", "#d1495b"],
    ["M14.2 26.8a11 11 0 0 1-9-9", "#edae49"], ["M5.2 14.2a11 11 0 0 1 9-9", "#3b8b6e"]];
  return h("span", { class: "brand" },
    h("svg", { viewBox: "0 0 32 32", fill: "none", "stroke-width": 5, "aria-hidden": "true" }, arcs.map(([d, stroke]) => h("path", { d, stroke }))),
    "LonnyMQ");
}

function rail() {
  const links = SECTIONS.filter(([id]) => document.getElementById(id));
  return links.map(([id, title]) => h("li", {}, h("a", { href: `#${id}` }, title)));
}

function heading() {
  const from = data.source ?? data.sources.join(", ");
  return h("div", { class: "title" }, h("h1", {}, h("small", {}, from ? h("bdi", {}, from) : "No source"), "Queue report"),
    h("p", { class: "period" }, h("strong", {}, moment(data.begin, data.every_ms < 60000)), " to ", h("strong", {}, moment(data.end, data.every_ms < 60000)), " UTC",
      h("br"), h("span", { class: "soft" }, `in steps of ${aStep(data.every_ms)}, created ${moment(data.made_at)}`)));
}

function figures() {
  const all = data.summary;
  const inVain = all.attempts ? (all.failed + all.expired) / all.attempts : null;
  const peak = Math.max(0, ...data.backlog.waiting_after.map((each) => each ?? 0));
  const even = Object.values(data.fairness).flatMap((each) => each.jain).filter(isThere);
  const figure = (name, value, note, level) => h("div", { class: `figure ${level ?? ""}` }, h("dt", {}, name), h("dd", { class: "value" }, value), h("dd", { class: "note" }, note));
  return h("dl", { class: "figures" },
    figure("Attempts", briefly(all.attempts), `${count(all.completed)} completed`),
    figure("Tenants", briefly(all.tenants), data.sources.length > 1 ? `of ${data.sources.length} sources` : `${briefly(all.arrivals)} ${all.arrivals === 1 ? "message" : "messages"}`),
    figure("Median wait", span(all.wait_p50), "p50"),
    figure("Wait p95", span(all.wait_p95), `p99 ${span(all.wait_p99)}`),
    figure("Fairness", even.length ? (even.reduce((sum, each) => sum + each, 0) / even.length).toFixed(2) : NONE, even.length ? "mean of Jain's index (1 is fair)" : "no competing tenants"),
    figure("Largest backlog", briefly(peak), `at the end of ${aStep(data.every_ms)}`),
    figure("Failed attempts", share(inVain), "failed or expired", inVain > 0.05 ? "warn" : ""),
    figure("Dead", briefly(all.dead), all.dead ? `${all.dead === 1 ? "message" : "messages"} out of attempts` : "no message", all.dead ? "grave" : ""));
}

function highlights() {
  const marks = { bad: ["bad", "Act"], warn: ["warn", "Watch"], good: ["good", "Good"] };
  const one = (each, place) => h("li", { class: `highlight ${each.level}` },
    h("span", { class: "place", "aria-hidden": "true" }, place + 1),
    h("div", {}, h("h3", {}, h("bdi", {}, each.title), " ", h("span", { class: `mark ${marks[each.level][0]}` }, marks[each.level][1])),
      h("p", {}, each.text), h("a", { href: `#${each.section}` }, "Details")));
  return h("section", { class: "card", id: "highlights", "aria-labelledby": "highlights-title" },
    h("header", {}, h("h2", { id: "highlights-title" }, "Highlights")),
    h("ol", { class: "highlights" }, data.highlights.map(one)));
}
