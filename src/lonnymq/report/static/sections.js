// One function a section: a sentence, a picture, its table.
const p99First = (one, other) => compare(one.wait_p99, other.wait_p99, -1);
const BARS = 15;

// Bars that lie, the first on top; a click shows the tenant.
function lying(rows, names, series, axis, more) {
  return {
    grid: room({ left: 8, right: 34, top: 34, bottom: 26, containLabel: true }), legend: legendLook(),
    xAxis: axis, yAxis: { type: "category", inverse: true, data: names, ...axisLook(), axisLine: { show: false }, splitLine: { show: false },
      axisLabel: { color: colour("ink"), fontSize: 12, width: 170, overflow: "truncate" } },
    tooltip: tooltipLook((points) => h("div", { class: "tip" }, h("strong", {}, h("bdi", {}, cut(nameOf(rows[points[0].dataIndex]), 80))),
      h("table", {}, points.map((each) => h("tr", {}, h("td", {}, dot(each.color)), h("th", { scope: "row" }, each.seriesName),
        h("td", { class: "number" }, each.data.said ?? each.value))))), { trigger: "axis", axisPointer: { type: "shadow", shadowStyle: { color: faded("accent", 0.07) } } }),
    series, ...more,
  };
}
const nameOf = (row) => row.error ?? (data.sources.length > 1 ? `${row.channel} · ${row.source}` : row.channel ?? "(several)");
const tall = (rows) => 74 + 26 * Math.max(2, rows.length);
const toTenant = (rows) => (event) => { const row = rows[event.dataIndex]; if (row?.channel) showTenant(row, true); };

function waits() {
  const over = data.waits, rows = tenantRows().filter((each) => isThere(each.wait_p99)).sort(p99First).slice(0, BARS);
  const lines = [["p50", over.wait_p50, "series-4"], ["p95", over.wait_p95, "series-3"], ["p99", over.wait_p99, "series-2"]];
  const picture = chart("Waits of all tenants over time: p50, p95 and p99", Math.max(260, Math.min(420, tall(rows))), () => ({
    grid: room({ left: 74 }), legend: legendLook(), xAxis: timeAxis(), yAxis: spanAxis(), tooltip: atTime({ "*": span }),
    series: lines.map(([name, values, tone]) => line(name, data.times.map((at, place) => [at, onFloor(values?.[place]), values?.[place]]), { itemStyle: { color: colour(tone) } })),
  }));
  const nested = [["p99", "wait_p99", "series-2", 0.45], ["p95", "wait_p95", "series-3", 0.85], ["p50", "wait_p50", "series-4", 1]];
  const bars = chart("Tenants that waited longest: p50, p95 and p99", tall(rows), () => lying(rows, rows.map((each) => cut(nameOf(each), 28)),
    nested.map(([name, column, tone, part]) => ({ name, type: "bar", barGap: "-100%", barWidth: 13, itemStyle: { color: faded(tone, part), borderRadius: 3 },
      data: rows.map((each) => ({ value: onFloor(each[column]), said: span(each[column]) })) })), spanAxis({ splitNumber: 5 })), toTenant(rows));
  return h("div", { class: "columns", id: "waits" },
    card("waits-over-time", "Waits over time", "Time from ready to dequeued, for all tenants together. The scale is logarithmic.",
      picture, asTable("Waits over time", lines.map(([name, values]) => [name, values, span]))),
    card("waits-by-tenant", "Longest waits by tenant", data.summary.tenants > rows.length ? `The ${many(rows.length, "tenant")} with the longest p99, of ${count(data.summary.tenants)}. The table of tenants lists all.` : rows.length === 1 ? "There is a single tenant." : "Sorted by p99.",
      bars, smallTable("Waits by tenant", rows, [["Tenant", label], ["p50", (each) => span(each.wait_p50)], ["p95", (each) => span(each.wait_p95)], ["p99", (each) => span(each.wait_p99)], ["Longest", (each) => span(each.wait_most)]])));
}

// The table of a picture that is no series in time.
function smallTable(caption, rows, columns) {
  return h("details", { class: "as-table" }, h("summary", {}, "As a table"),
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption }, h("table", {}, h("caption", { class: "unseen" }, caption),
      h("thead", {}, h("tr", {}, columns.map(([title], place) => h("th", { scope: "col", class: place ? "number" : null }, title)))),
      h("tbody", {}, rows.map((row) => h("tr", {}, columns.map(([, show], place) => (place ? h("td", { class: "number" }, show(row)) : h("th", { scope: "row" }, show(row))))))))));
}

function fairness() {
  const sources = Object.entries(data.fairness).filter(([, each]) => each.jain.some(isThere));
  if (!sources.length) return card("fairness", "Fairness over time", null, nothing("Tenants never competed: in every time step, at most a single tenant had a backlog that limits do not explain."));
  const many = sources.length > 1, title = (name, source) => (many ? `${name}, ${source}` : name);
  const picture = chart("Jain's index over time, and how many tenants competed", 250, () => ({
    grid: room({ right: 46 }), legend: legendLook(), xAxis: timeAxis(),
    yAxis: [valueAxis((each) => each.toFixed(1), { min: 0, max: 1, interval: 0.2 }), valueAxis(briefly, { splitLine: { show: false }, minInterval: 1 })],
    tooltip: atTime(Object.fromEntries([...sources.map(([source]) => [title("Jain's index", source), (each) => each.toFixed(3)]), ["*", count]])),
    series: sources.flatMap(([source, each], place) => [
      { name: title("tenants competing", source), type: "bar", yAxisIndex: 1, data: pairs(each.competing), itemStyle: { color: faded("series-rest", 0.45) }, barMaxWidth: 14, ...(isDense() ? { barCategoryGap: 0 } : {}) },
      line(title("Jain's index", source), pairs(each.jain), { itemStyle: { color: colour(`series-${place + 1}`) }, lineStyle: { width: isDense() ? 1.2 : 2.2 }, showSymbol: true, symbolSize: isDense() ? 1.5 : 4 }),
    ]),
  }));
  return card("fairness", "Fairness over time",
    "Jain's index of the attempts of tenants with a backlog, divided by weight. 1 means equal shares. 1/n means that a single tenant of n got everything. Paused tenants and tenants at a limit are left out.",
    picture, asTable("Fairness over time", sources.flatMap(([source, each]) => [[title("Jain's index", source), each.jain, (value) => (isThere(value) ? value.toFixed(3) : NONE)],
      [title("Competing", source), each.competing, count], [title("At a limit", source), each.held, count]])));
}

function backlog() {
  const all = data.backlog.waiting_after.map((each) => each ?? 0), tops = data.backlog.top;
  const rest = all.map((each, place) => Math.max(0, each - tops.reduce((sum, top) => sum + top.waiting_after[place], 0)));
  const areas = [...tops.map((each) => [cut(nameOf(each), 28), each.waiting_after]), ...(rest.some((each) => each > 0) ? [["all others", rest]] : [])];
  const area = (place, isRest) => colour(isRest ? "series-rest" : `series-${place + 1}`);
  const stack = chart("Backlog at the end of each step, by tenant", 320, (width) => ({
    grid: room({ top: 34 + 22 * Math.ceil(areas.length * 190 / width) }), legend: legendLook({ type: "plain" }), xAxis: timeAxis(), yAxis: valueAxis(briefly, { minInterval: 1 }), tooltip: atTime({ "*": count }),
    series: areas.map(([name, values], place) => line(name, pairs(values), { stack: "all", showSymbol: false, lineStyle: { width: 0 },
      areaStyle: { opacity: 0.9 }, itemStyle: { color: area(place, name === "all others") } })),
  }));
  const flow = chart("Due attempts, finished attempts and running attempts", 230, () => ({
    grid: room({ right: 46 }), legend: legendLook(), xAxis: timeAxis(), tooltip: atTime({ "*": mean }),
    yAxis: [valueAxis(briefly, { minInterval: 1 }), valueAxis(mean, { splitLine: { show: false } })],
    series: [{ name: "running, mean", type: "bar", yAxisIndex: 1, data: pairs(data.backlog.running_mean, (each) => each ?? 0), itemStyle: { color: faded("series-5", 0.25) }, barMaxWidth: 14, ...(isDense() ? { barCategoryGap: 0 } : {}) },
      line("became due", pairs(data.backlog.due, (each) => each ?? 0), { itemStyle: { color: colour("series-1") } }),
      line("ended", pairs(data.backlog.ended, (each) => each ?? 0), { itemStyle: { color: colour("series-4") } })],
  }));
  const isQuiet = !all.some((each) => each > 0);
  return [isQuiet ? card("backlog", "Backlog over time", null, nothing("There was no backlog at the end of any time step."))
    : card("backlog", "Backlog over time", "Backlog at the end of each step, for the tenants with the largest backlogs. The backlog is computed from finished attempts, so the last steps may show too little.",
      stack, asTable("Backlog", [["All", all, count], ...areas.map(([name, values]) => [name, values, count])])),
    card("flow", "Due and finished attempts", `Attempts per ${step(data.every_ms)}, including retries. The right axis shows the number of running attempts.`,
      flow, asTable("Work", [["Became due", data.backlog.due, count], ["Ended", data.backlog.ended, count], ["Running", data.backlog.running_mean, mean]]))];
}

function limits() {
  const rows = data.limits.slice(0, BARS);
  if (!rows.length) return card("limits", "Limits reached", null, nothing("No tenant reached 90% of a limit."));
  const kinds = [["at the concurrency limit", "hours_at_concurrency", "series-1"], ["at the rate limit", "hours_at_rate", "series-6"]];
  const picture = chart("Time at limits by tenant", tall(rows), () => lying(rows, rows.map((each) => cut(nameOf(each), 28)),
    kinds.map(([name, column, tone]) => ({ name, type: "bar", barWidth: 8, barGap: "25%", itemStyle: { color: colour(tone), borderRadius: 3 },
      data: rows.map((each) => ({ value: each[column], said: count(each[column]) })) })), valueAxis(briefly, { minInterval: 1 })), toTenant(rows));
  const more = data.limits_reached > rows.length ? ` These are ${rows.length} of ${count(data.limits_reached)}.` : "";
  return flush("limits", "Limits reached", `Number of ${steps(data.every_ms)} in which a tenant used 90% or more of a limit.${more}`, picture,
    table("Limits reached", [
      { title: "Tenant", value: nameOf, show: tenantLink, head: true },
      { title: "Concurrency", value: (each) => each.max_concurrency, show: (each) => count(each.max_concurrency), number: true },
      { title: "Interval", value: (each) => each.min_interval_ms, show: (each) => span(each.min_interval_ms), number: true },
      { title: `${cap(steps(data.every_ms))} at concurrency`, value: (each) => each.hours_at_concurrency, show: (each) => count(each.hours_at_concurrency), number: true },
      { title: `${cap(steps(data.every_ms))} at rate`, value: (each) => each.hours_at_rate, show: (each) => count(each.hours_at_rate), number: true },
      { title: "Maximum use", value: (each) => Math.max(each.concurrency_used_most ?? 0, each.rate_used_most ?? 0), show: (each) => share(Math.max(each.concurrency_used_most ?? 0, each.rate_used_most ?? 0)), number: true },
      { title: "Mean backlog", value: (each) => each.waiting_meanwhile, show: (each) => mean(each.waiting_meanwhile), number: true },
    ], data.limits, { most: 10 }));
}

const cap = (text) => text[0].toUpperCase() + text.slice(1);
function flush(id, title, said, picture, ...tables) {
  return h("section", { class: "card flush", id, "aria-labelledby": `${id}-title` },
    h("header", {}, h("h2", { id: `${id}-title` }, title)), h("p", { class: "said" }, said), picture && h("div", { class: "inset" }, picture), ...tables);
}

function noisy() {
  if (!data.noisy.length) return card("noisy", "Noisy neighbours", null, nothing("No tenant had more than ten times the work of the median tenant and at least 5% of all work."));
  const noise = data.noise;
  const picture = chart("Work of noisy and quiet tenants, and waits of quiet tenants", 260, (width) => ({
    grid: room({ right: 66, top: 16 + 22 * legendLines(["work of noisy tenants", "work of quiet tenants", "quiet tenants' p95 wait"], width) }), legend: legendLook({ type: "plain" }), xAxis: timeAxis(),
    yAxis: [valueAxis(briefly, { minInterval: 1 }), spanAxis({ splitLine: { show: false }, name: "" })],
    tooltip: atTime({ "quiet tenants' p95 wait": span, "*": count }),
    series: [{ name: "work of noisy tenants", type: "bar", stack: "work", data: pairs(noise.noisy_work), itemStyle: { color: faded("series-2", 0.75) }, barMaxWidth: 16 },
      { name: "work of quiet tenants", type: "bar", stack: "work", data: pairs(noise.quiet_work), itemStyle: { color: faded("series-1", 0.65) }, barMaxWidth: 16 },
      line("quiet tenants' p95 wait", data.times.map((at, place) => [at, onFloor(noise.quiet_wait_p95?.[place]), noise.quiet_wait_p95?.[place]]), { yAxisIndex: 1, itemStyle: { color: colour("series-3") } })],
  }));
  return flush("noisy", "Noisy neighbours", "A tenant is noisy while the tenant has more than ten times the work of the median tenant and at least 5% of all work. The wait of quiet tenants is the p95 wait of the median quiet tenant.",
    picture, h("div", { class: "inset" }, asTable("Noise", [["Noisy tenants", noise.noisy, count], ["Their work", noise.noisy_work, count], ["Work of the others", noise.quiet_work, count], ["Quiet p95 wait", noise.quiet_wait_p95, span]])),
    table("Noisy tenants", [
      { title: "Tenant", value: nameOf, show: tenantLink, head: true },
      { title: cap(steps(data.every_ms)), value: (each) => each.hours, show: (each) => count(each.hours), number: true },
      { title: "Share of work", value: (each) => each.share, show: (each) => share(each.share), number: true },
      { title: "Largest share", value: (each) => each.most_share, show: (each) => share(each.most_share), number: true },
      { title: "Quiet p95 wait", value: (each) => each.quiet_wait_p95, show: (each) => span(each.quiet_wait_p95), number: true },
      { title: "Quiet p95 otherwise", value: (each) => each.otherwise_wait_p95, show: (each) => span(each.otherwise_wait_p95), number: true },
    ], data.noisy, { most: 10 }));
}

const whyStarved = (each) => (each.is_held ? "own limit or pause" : each.others ? "other tenants were served" : "no tenant was served");
function starvation() {
  const rows = data.starvation.slice(0, BARS);
  if (!rows.length) return card("starvation", "Starvation", null, nothing("No tenant with a backlog was without attempts for ten seconds or more."));
  const picture = chart("The longest starvation windows", tall(rows), (width) => lying(rows, rows.map((each) => cut(nameOf(each), 28)),
    [{ name: "starved", type: "bar", barWidth: 13, data: rows.map((each) => ({ value: each.length_ms, said: `${span(each.length_ms)} from ${moment(each.begins_at, true)} UTC`,
      itemStyle: { color: colour(each.is_held ? "series-3" : each.others ? "series-2" : "series-rest"), borderRadius: 3 } })) }], lengthAxis(rows[0].length_ms, width - 200), { legend: { show: false }, grid: room({ left: 8, right: 34, top: 8, bottom: 26, containLabel: true }) }), toTenant(rows));
  return flush("starvation", "Starvation", "Windows of ten seconds or more in which a tenant had a backlog but no attempt began. Yellow: a limit or a pause explains the window. Grey: no other tenant was served either.", picture,
    table("Starvation", [
      { title: "Tenant", value: nameOf, show: tenantLink, head: true },
      { title: "From (UTC)", value: (each) => each.begins_at, show: (each) => moment(each.begins_at, true) },
      { title: "Duration", value: (each) => each.length_ms, show: (each) => span(each.length_ms), number: true },
      { title: "Reason", value: whyStarved, show: whyStarved },
      { title: "Attempts of others", value: (each) => each.others, show: (each) => count(each.others), number: true },
      { title: "Windows on that day", value: (each) => each.windows, show: (each) => count(each.windows), number: true },
    ], data.starvation, { most: 10 }));
}

function errors() {
  const rows = data.errors.slice(0, 10);
  if (!rows.length) return card("errors", "Errors", null, nothing("No attempts failed, expired or died."));
  const picture = chart("Most frequent errors", tall(rows), () => lying(rows, rows.map((each) => cut(each.error, 46)),
    [["dead", (each) => each.dead, "series-2"], ["retried", (each) => each.attempts - each.dead, "series-3"]].map(([name, value, tone]) => ({
      name, type: "bar", stack: "all", barWidth: 13, itemStyle: { color: colour(tone) }, data: rows.map((each) => ({ value: value(each), said: count(value(each)) })) })),
    valueAxis(briefly, { minInterval: 1 }), { yAxis: { type: "category", inverse: true, data: rows.map((each) => cut(each.error, 60)), axisTick: { show: false }, axisLine: { show: false },
      axisLabel: { color: colour("ink"), fontSize: 12, width: innerWidth < 700 && !isPrinted ? 130 : 300, overflow: "truncate" } } }));
  return flush("errors", "Errors", "Attempts that failed, expired or died, grouped by error text. Numbers and ids are replaced, so that similar errors form a group.", picture,
    table("Errors", [
      { title: "Error", value: (each) => each.error, show: (each) => [h("bdi", {}, each.error), each.sample && each.sample !== each.error ? h("small", { class: "soft sample-line" }, h("bdi", {}, cut(each.sample, 140))) : null], head: true },
      { title: "Attempts", value: (each) => each.attempts, show: (each) => count(each.attempts), number: true },
      { title: "Dead", value: (each) => each.dead, show: (each) => count(each.dead), number: true },
      { title: "Tenants", value: (each) => each.channels, show: (each) => count(each.channels), number: true },
      { title: "Most in", value: nameInError, show: (each) => (each.channel ? tenantLink(each) : "(several)") },
      { title: "Last (UTC)", value: (each) => each.last_at, show: (each) => moment(each.last_at) },
    ], data.errors, { most: 10 }));
}
const nameInError = (row) => row.channel ?? "";

function forecast() {
  const known = data.forecast.filter((each) => isThere(each.expected) && isThere(each.error));
  if (!known.length) return card("forecast", "Capacity", null, nothing("A forecast needs at least five whole days of history, and six days for an error estimate."));
  const words = known.map((each) => h("li", {}, data.sources.length > 1 ? [h("bdi", {}, each.source), ": "] : null,
    `${each.horizon_days === 1 ? "Tomorrow" : `In ${each.horizon_days} days`} `, h("strong", {}, `${briefly(each.expected)} attempts per day`),
    `, plus or minus ${share(each.error)}, the mean error on ${each.tried} past days. `,
    each.growth_a_day > 0 ? `Load grows by ${briefly(each.growth_a_day)} per day. ` : "Load does not grow. ",
    `The capacity is ${each.is_capacity_seen ? "" : "at least "}${briefly(each.capacity_a_day)} per day`,
    each.full_on ? h("strong", {}, ` and is reached on ${each.full_on}.`) : ", enough for a year."));
  const one = data.sources.length === 1 ? known[known.length - 1] : null, DAY = 86400000;
  const picture = data.days.length > 1 && chart("Due attempts per day, with the forecast", 250, () => {
    const last = one ? Date.parse(one.last_day) : 0, ahead = one ? Array.from({ length: 8 }, (_, day) => [last + day * DAY, Math.max(0, one.due_a_day + day * one.growth_a_day)]) : [];
    const spread = one ? one.error : 0;
    return { grid: room(), legend: legendLook(), yAxis: valueAxis(briefly, { minInterval: 1 }),
      xAxis: { ...timeAxis(), min: data.days[0].day - DAY / 2, max: (one ? last + 7 * DAY : data.days[data.days.length - 1].day) + DAY / 2 },
      tooltip: tooltipLook((points) => h("div", { class: "tip" }, h("strong", {}, dayOf(points[0].value[0])), h("table", {}, points.filter((each) => each.seriesName !== "least").map((each) => h("tr", {},
        h("td", {}, dot(each.color)), h("th", { scope: "row" }, each.seriesName), h("td", { class: "number" }, count(each.value[1])))))), { trigger: "axis" }),
      series: [{ name: "became due", type: "bar", data: data.days.map((each) => [each.day, each.due]), itemStyle: { color: faded("series-1", 0.7), borderRadius: [3, 3, 0, 0] }, barMaxWidth: 26 },
        ...(one ? [line("least", ahead.map(([at, value]) => [at, value * (1 - Math.min(1, spread))]), { stack: "band", lineStyle: { opacity: 0 }, showSymbol: false, itemStyle: { opacity: 0 } }),
          line("mean error", ahead.map(([at, value]) => [at, value * (1 + spread) - value * (1 - Math.min(1, spread))]), { stack: "band", lineStyle: { opacity: 0 }, areaStyle: { color: faded("series-3", 0.25) }, showSymbol: false, itemStyle: { color: faded("series-3", 0.5) } }),
          line("forecast", ahead, { lineStyle: { type: [5, 4], width: 2 }, itemStyle: { color: colour("series-3") }, showSymbol: false })] : [])],
      ...(one ? { legend: legendLook({ data: ["became due", "forecast", "mean error"] }) } : {}) };
  });
  return card("forecast", "Capacity", "Linear forecast from the last 28 whole days, tested on past days. The capacity comes from the busiest hours.",
    h("ul", { class: "words" }, words), picture || null,
    smallTable("Days", data.days, [["Day", (each) => dayOf(each.day)], ["Became due", (each) => count(each.due)], ["Ended", (each) => count(each.ended)]]));
}
