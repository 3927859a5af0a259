// Tables: beside each picture, and of all tenants, which can be sorted and turned over.
const PAGE = 25;

function cells(columns, row) {
  return columns.map(({ title, value, show, number, head, what }) => {
    const shown = show ? show(row) : value(row);
    const attributes = { class: [number && "number", what && "what"].filter(Boolean).join(" ") || null, "data-label": title };
    return head ? h("th", { scope: "row", ...attributes, class: "what" }, shown) : h("td", attributes, shown);
  });
}

// Columns are {title, value(row), show(row), number, head}; there may be any number of rows.
function table(caption, columns, rows, { most = PAGE, order = null } = {}) {
  let place = 0, sorted = rows, by = order;
  const body = h("tbody"), status = h("span", { "aria-live": "polite" });
  const back = h("button", { class: "button small", type: "button", onclick: () => turn(-1) }, "Back");
  const next = h("button", { class: "button small", type: "button", onclick: () => turn(1) }, "Next");
  const heads = columns.map((column, number) => h("th", { scope: "col", class: column.number ? "number" : null, "aria-sort": "none" },
    h("button", { type: "button", onclick: () => sortBy(number) }, column.title)));
  const pager = h("div", { class: "pager" }, status, back, next);

  function show() {
    const shown = sorted.slice(place, place + most);
    body.replaceChildren(...shown.map((row) => h("tr", {}, cells(columns, row))));
    status.textContent = sorted.length ? `${count(place + 1)} to ${count(place + shown.length)} of ${count(sorted.length)}` : "None";
    back.disabled = place === 0;
    next.disabled = place + most >= sorted.length;
    pager.hidden = sorted.length <= most;
  }
  function turn(by) { place += by * most; show(); }
  function sortBy(number) {
    by = by && by[0] === number ? [number, -by[1]] : [number, columns[number].number ? -1 : 1];
    heads.forEach((head, each) => head.setAttribute("aria-sort", each !== number ? "none" : by[1] > 0 ? "ascending" : "descending"));
    use(sorted);
  }
  function use(rows) {
    sorted = [...rows];
    if (by) {
      const value = columns[by[0]].value;
      sorted.sort((one, other) => compare(value(one), value(other), by[1]));
    }
    place = 0;
    show();
  }
  use(rows);
  const made = h("div", { class: "table" },
    h("table", { class: "rows" }, h("caption", { class: "unseen" }, caption), h("thead", {}, h("tr", {}, heads)), body), pager);
  made.use = use;
  return made;
}

// What is not there comes last, whichever way.
function compare(one, other, way) {
  if (!isThere(one) || !isThere(other)) return isThere(one) ? -1 : isThere(other) ? 1 : 0;
  return (one < other ? -1 : one > other ? 1 : 0) * way;
}

// The table of a picture over time, made when it is opened: those may be long.
function asTable(caption, columns) {
  const scroll = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption });
  const made = h("details", { class: "as-table" }, h("summary", {}, "As a table"), scroll);
  made.addEventListener("toggle", () => {
    if (!made.open || scroll.childElementCount) return;
    const rows = data.times.map((at, place) => h("tr", {}, h("th", { scope: "row" }, moment(at, data.every_ms < 60000)),
      columns.map(([, values, show]) => h("td", { class: "number" }, show(values?.[place])))));
    scroll.append(h("table", {}, h("caption", { class: "unseen" }, caption),
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "From (UTC)"), columns.map(([title]) => h("th", { scope: "col", class: "number" }, h("bdi", {}, title))))),
      h("tbody", {}, rows)));
  });
  return made;
}
