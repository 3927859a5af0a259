// Charts by Apache ECharts, as SVG: sharp on paper, and their words can be read out.
const drawn = new Map();
const PAPER = 650; // what A4 leaves of a card, without its margins and its own

function chart(title, height, option, onclick) {
  const place = h("div", { class: "picture", role: "img", "aria-label": title });
  place.style.height = `${height}px`;
  drawn.set(place, { option, onclick, instance: null });
  return place;
}

function draw(place) {
  const known = drawn.get(place);
  if (!place.isConnected) return;
  const width = isPrinted ? PAPER : place.clientWidth;
  if (!width) return;
  if (!known.instance) {
    known.instance = echarts.init(place, null, { renderer: "svg", width, height: place.clientHeight });
    if (known.onclick) known.instance.on("click", known.onclick);
  } else known.instance.resize({ width, height: place.clientHeight, animation: { duration: 0 } });
  const option = known.option(width);
  if (option.xAxis?.type === "time") option.xAxis.splitNumber = Math.max(2, Math.round(width / 130));
  known.instance.setOption({ ...common(), ...option }, true);
}

function redraw() {
  for (const [place, known] of drawn) {
    if (place.isConnected) draw(place);
    else if (known.instance) { known.instance.dispose(); drawn.delete(place); }
  }
}

let pending = 0;
addEventListener("resize", () => { cancelAnimationFrame(pending); pending = requestAnimationFrame(redraw); });

function common() {
  return {
    animation: false,
    useUTC: true,
    backgroundColor: "transparent",
    textStyle: { fontFamily: getComputedStyle(document.body).fontFamily, fontSize: 12, color: colour("soft") },
    color: [1, 2, 3, 4, 5, 6, 7, 8].map((number) => colour(`series-${number}`)),
  };
}

const axisLook = () => ({
  axisLine: { lineStyle: { color: colour("line-strong") } },
  axisTick: { show: false },
  axisLabel: { color: colour("soft"), fontSize: 11.5, hideOverlap: true },
  splitLine: { lineStyle: { color: colour("line"), type: [2, 4] } },
});

const timeAxis = () => ({
  type: "time", ...axisLook(), splitLine: { show: false },
  min: data.times[0], max: data.times[data.times.length - 1] + (data.times.length > 1 ? 0 : data.every_ms),
  axisLabel: {
    color: colour("soft"), fontSize: 11.5, hideOverlap: true,
    formatter: (at) => (at % 86400000 === 0 ? `{day|${dayOf(at)}}` : clock(at, data.every_ms < 60000)),
    rich: { day: { fontWeight: 600, color: colour("ink"), fontSize: 11.5 } },
  },
});

const valueAxis = (format, more) => ({
  type: "value", ...axisLook(), axisLine: { show: false }, splitNumber: 4,
  axisLabel: { color: colour("soft"), fontSize: 11.5, formatter: format, hideOverlap: true }, ...more,
});

// Lengths of time from nothing on, marked at lengths that people count in, as many as there is room for.
const MARKS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800].map((seconds) => seconds * 1000);
function lengthAxis(longest, width) {
  const most = Math.max(2, Math.floor(width / 110)), interval = MARKS.find((each) => longest / each <= most) ?? Math.ceil(longest / most / 604800000) * 604800000;
  const axis = valueAxis((each) => (each ? span(each) : "0"), { interval, max: longest * 1.05 });
  return { ...axis, axisLabel: { ...axis.axisLabel, showMaxLabel: false } };
}

// Lengths of time, from a millisecond on; what is shorter stands on the floor.
const spanAxis = (more) => ({ ...valueAxis(span), type: "log", min: 1, minorTick: { show: false }, ...more });
const onFloor = (value) => (isThere(value) ? Math.max(1, value) : null);

const legendLook = (more) => ({
  top: 0, left: 0, itemWidth: 11, itemHeight: 11, itemGap: 16, icon: "roundRect", type: "scroll",
  textStyle: { color: colour("soft"), fontSize: 12.5 }, pageTextStyle: { color: colour("soft") },
  pageIconColor: colour("accent"), pageIconInactiveColor: colour("line"), inactiveColor: colour("line-strong"), ...more,
});

const tooltipLook = (content, more) => ({
  restrict: true, backgroundColor: colour("card"), borderColor: colour("line"), borderWidth: 1, padding: [8, 12],
  textStyle: { color: colour("ink"), fontSize: 12.5 }, extraCssText: "border-radius: 8px; box-shadow: 0 6px 24px rgb(0 0 0 / 0.16)",
  formatter: content, ...more,
});

// One point in time: each series with its value. Made of elements, so that names stay text.
const atTime = (formats) => tooltipLook((points) => {
  const lines = points.filter((each) => isThere(each.value[1])).map((each) => h("tr", {},
    h("td", {}, dot(each.color)), h("th", { scope: "row" }, h("bdi", {}, cut(each.seriesName, 40))),
    h("td", { class: "number" }, (formats[each.seriesName] ?? formats["*"])(each.data[2] ?? each.value[1]))));
  return h("div", { class: "tip" }, h("strong", {}, `${moment(points[0].value[0], data.every_ms < 60000)} UTC`), h("table", {}, lines));
}, { trigger: "axis", axisPointer: { type: "line", lineStyle: { color: colour("line-strong") }, label: { show: false } } });

function dot(fill) {
  const made = h("i", { class: "dot" });
  made.style.background = typeof fill === "string" ? fill : "currentcolor";
  return made;
}

const pairs = (values, change = (value) => value) => data.times.map((at, place) => [at, change(values?.[place] ?? null)]);
const line = (name, values, more) => ({
  name, type: "line", data: values, showSymbol: values.filter((each) => isThere(each[1])).length < 3, symbolSize: 6,
  symbol: "circle", lineStyle: { width: 1.8 }, connectNulls: false, ...more,
});
// Many points are drawn as a line alone, and bars without gaps.
const isDense = () => data.times.length > 200;
// Legends that need more than one line, and the room above a picture for them.
const legendLines = (names, width) => Math.ceil(names.reduce((sum, each) => sum + 34 + 7 * each.length, 0) / Math.max(1, width - 10));
const room = (more) => ({ left: 58, right: 18, top: 38, bottom: 28, ...more });
