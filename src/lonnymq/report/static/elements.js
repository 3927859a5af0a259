// Elements made by hand: whatever a tenant wrote becomes text, and nothing else.
const SVG = "http://www.w3.org/2000/svg";

function h(name, attributes, ...children) {
  const element = name === "svg" || name === "path" ? document.createElementNS(SVG, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((each) => each !== null && each !== undefined && each !== false));
  return element;
}

// A tenant's name: set apart, so that letters from right to left do not move what stands beside it.
const named = (tenant) => h("bdi", {}, tenant.channel === null ? "(several)" : tenant.channel);

function label(tenant) {
  return data.sources.length > 1 ? [named(tenant), " ", h("small", { class: "soft" }, h("bdi", {}, tenant.source))] : named(tenant);
}

function cut(text, most) {
  const letters = Array.from(String(text).replace(/\s+/g, " "));
  return letters.length > most ? letters.slice(0, most - 1).join("") + "…" : letters.join("");
}

function card(id, title, said, ...children) {
  return h("section", { class: "card", id, "aria-labelledby": `${id}-title` },
    h("header", {}, h("h2", { id: `${id}-title` }, title)),
    said && h("p", { class: "said" }, said),
    ...children);
}

const nothing = (text) => h("p", { class: "nothing" }, text);
