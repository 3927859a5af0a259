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
  const isChosen = value === "light" || value === "dark";
  try {
    if (!isChosen) localStorage.removeItem("lonnymq.theme");
    else localStorage.setItem("lonnymq.theme", value);
  } catch { /* storage is closed to us: it holds for this page */ }
  if (!isChosen) delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = value;
  redraw();
}

// A page that shows this one in a frame asks for its own colours, and says when others are chosen there.
const isFramed = new URLSearchParams(location.search).has("theme");
addEventListener("message", ({ source, data }) => {
  if (isFramed && source === parent && ["light", "dark", "system"].includes(data?.theme)) chooseTheme(data.theme);
});

function themes() {
  if (isFramed) return null;
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
