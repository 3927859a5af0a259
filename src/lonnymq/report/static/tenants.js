// The table of tenants, with search and sorting, and the details of a tenant.
let rowsOfTenants = null;
function tenantRows() {
  if (!rowsOfTenants) {
    const names = Object.keys(data.tenants);
    rowsOfTenants = Array.from({ length: data.tenants.channel?.length ?? 0 }, (_, place) => {
      const row = { place };
      for (const name of names) row[name] = data.tenants[name][place];
      return row;
    });
  }
  return [...rowsOfTenants];
}

const keyOf = (tenant) => JSON.stringify([tenant.source, tenant.channel]);
function tenantLink(tenant) {
  return h("button", { class: "link", type: "button", onclick: () => showTenant(tenant, true) }, label(tenant));
}

const one = h("section", { class: "card", id: "tenant", "aria-live": "polite", "aria-labelledby": "tenant-title" });

function showTenant(tenant, go) {
  const row = tenantRows().find((each) => keyOf(each) === keyOf(tenant));
  if (!row) return;
  const own = data.details[row.place];
  const value = (name, shown) => h("div", {}, h("dt", {}, name), h("dd", {}, shown));
  one.replaceChildren(
    h("header", {}, h("h2", { id: "tenant-title", tabindex: -1 }, label(row)), h("p", {}, "Details of a tenant. Choose another tenant in the table below, or in a chart.")),
    h("dl", { class: "values" },
      value("Messages", count(row.arrivals)), value("Attempts", count(row.attempts)), value("Wait p50 / p95 / p99", `${span(row.wait_p50)} / ${span(row.wait_p95)} / ${span(row.wait_p99)}`),
      value("Service p50 / p95", `${span(row.service_p50)} / ${span(row.service_p95)}`), value("Longest wait", span(row.wait_most)), value("Largest backlog", count(row.waiting_most)),
      value("Running, mean", mean(row.running_mean)), value("Failed / expired / dead", `${count(row.failed)} / ${count(row.expired)} / ${count(row.dead)}`), value("Deferred", count(row.deferred)), value("Content", bytes(row.size)),
      isThere(row.concurrency_used_most) && value("Concurrency used, maximum", share(row.concurrency_used_most)), isThere(row.rate_used_most) && value("Rate used, maximum", share(row.rate_used_most))),
    own ? h("div", { class: "columns inner" }, tenantCharts(row, own)) : nothing(`This page has no time series for this tenant: of ${many(data.summary.tenants, "tenant")}, ${count(data.details.length)} are shown in full.`));
  redraw();
  if (go) {
    one.scrollIntoView({ block: "start", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
    document.getElementById("tenant-title").focus({ preventScroll: true });
  }
}

function tenantCharts(row, own) {
  const name = cut(nameOf(row), 60);
  const small = (title, height, series, axis, formats, columns) => h("figure", { class: "chart" }, h("h3", {}, title),
    chart(`${title} of ${name}`, height, () => ({ grid: room(), legend: legendLook(), xAxis: timeAxis(), yAxis: axis(), tooltip: atTime(formats), series: series() })),
    asTable(`${title} of ${name}`, columns));
  const zero = (each) => each ?? 0, floored = (values) => data.times.map((at, place) => [at, onFloor(values?.[place]), values?.[place]]);
  const used = [["concurrency", own.concurrency_used, "series-1"], ["rate", own.rate_used, "series-6"]].filter(([, values]) => values);
  return [
    small("Work", 210, () => [line("became due", pairs(own.due, zero), { itemStyle: { color: colour("series-1") } }), line("ended", pairs(own.ended, zero), { itemStyle: { color: colour("series-4") } })],
      () => valueAxis(briefly, { minInterval: 1 }), { "*": count }, [["Became due", own.due, count], ["Ended", own.ended, count], ["Failed", own.failed, count], ["Dead", own.dead, count]]),
    small("Waits", 210, () => [line("p50", floored(own.wait_p50), { itemStyle: { color: colour("series-4") } }), line("p95", floored(own.wait_p95), { itemStyle: { color: colour("series-3") } }),
      line("p99", floored(own.wait_p99), { itemStyle: { color: colour("series-2") } })], () => spanAxis(), { "*": span }, [["p50", own.wait_p50, span], ["p95", own.wait_p95, span], ["p99", own.wait_p99, span], ["Service p95", own.service_p95, span]]),
    small("Backlog", 210, () => [line("waiting", pairs(own.waiting_after, zero), { itemStyle: { color: colour("series-2") }, areaStyle: { opacity: 0.15 }, showSymbol: false }),
      line("running, mean", pairs(own.running_mean, zero), { itemStyle: { color: colour("series-5") } })], () => valueAxis(briefly), { "*": mean }, [["Waiting", own.waiting_after, count], ["Running", own.running_mean, mean]]),
    used.length ? small("Limits in use", 210, () => used.map(([title, values, tone]) => line(title, pairs(values), { itemStyle: { color: colour(tone) } })),
      () => valueAxis(share, { min: 0, max: (each) => Math.max(1, each.max), splitNumber: 5 }), { "*": share }, used.map(([title, values]) => [cap(title), values, share])) : null,
  ];
}

function tenants() {
  const rows = tenantRows().sort((first, other) => compare(first.attempts, other.attempts, -1));
  const all = table("Tenants", [
    { title: "Tenant", value: nameOf, show: tenantLink, head: true },
    { title: "Messages", value: (each) => each.arrivals, show: (each) => count(each.arrivals), number: true },
    { title: "Attempts", value: (each) => each.attempts, show: (each) => count(each.attempts), number: true },
    { title: "Wait p50", value: (each) => each.wait_p50, show: (each) => span(each.wait_p50), number: true },
    { title: "p95", value: (each) => each.wait_p95, show: (each) => span(each.wait_p95), number: true },
    { title: "p99", value: (each) => each.wait_p99, show: (each) => span(each.wait_p99), number: true },
    { title: "Service p95", value: (each) => each.service_p95, show: (each) => span(each.service_p95), number: true },
    { title: "Backlog", value: (each) => each.waiting_most, show: (each) => count(each.waiting_most), number: true },
    { title: "Failed", value: (each) => each.failed + each.expired, show: (each) => count(each.failed + each.expired), number: true },
    { title: "Dead", value: (each) => each.dead, show: (each) => count(each.dead), number: true },
  ], rows);
  const search = h("input", { class: "input", type: "search", id: "search", autocomplete: "off", placeholder: "Any part of a name", oninput: () => {
    const wanted = search.value.trim().toLocaleLowerCase();
    all.use(rows.filter((each) => !wanted || nameOf(each).toLocaleLowerCase().includes(wanted)));
  } });
  const said = [`${many(rows.length, "tenant")}.`, data.details.length < rows.length ? ` ${count(data.details.length)} tenants have time series. The others have this row only.` : "",
    data.rest ? ` ${count(data.rest.tenants)} more tenants with ${count(data.rest.attempts)} attempts have no row. The totals include them.` : ""].join("");
  return h("section", { class: "card flush", id: "tenants", "aria-labelledby": "tenants-title" },
    h("header", {}, h("h2", { id: "tenants-title" }, "All tenants")), h("p", { class: "said" }, said),
    h("div", { class: "toolbar" }, h("div", { class: "field wide" }, h("label", { for: "search" }, "Find a tenant"), search)), all);
}
