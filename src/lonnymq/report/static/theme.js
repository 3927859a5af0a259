// Light or dark: what the system says, unless somebody chose. Charts are drawn again when it changes.
const system = matchMedia("(prefers-color-scheme: dark)");
const probe = h("span", { hidden: true });
let isPrinted = false;

// light-dark() is resolved where a colour is used, not where it is kept.
function colour(name) {
  probe.style.color = `var(--${name})`;
  return getComputedStyle(probe).color;
}

function faded(name, part) {
  const [red, green, blue] = colour(name).match(/[\d.]+/g);
  return `rgba(${red}, ${green}, ${blue}, ${part})`;
}

function chooseTheme(value) {
  try {
    if (value === "auto") localStorage.removeItem("lonnymq.theme");
    else localStorage.setItem("lonnymq.theme", value);
  } catch { /* storage is closed to us: it holds for this page */ }
  if (value === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = value;
  redraw();
}

function themes() {
  const chosen = document.documentElement.dataset.theme ?? "auto";
  const radio = ([value, text]) => h("label", {},
    h("input", { type: "radio", name: "theme", value, checked: value === chosen, onchange: () => chooseTheme(value) }), text);
  return h("div", { class: "themes", role: "radiogroup", "aria-label": "Theme" },
    [["auto", "Auto"], ["light", "Light"], ["dark", "Dark"]].map(radio));
}

system.addEventListener("change", () => redraw());
// On paper it is always light, and as wide as the paper.
function print(is) {
  isPrinted = is;
  document.documentElement.classList.toggle("printed", is);
  redraw();
}
addEventListener("beforeprint", () => print(true));
addEventListener("afterprint", () => print(false));
