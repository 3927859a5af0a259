// Light, dark, or as the system says; what was chosen is kept in this browser.
const KEY = "lonnymq.theme";

export function chosenTheme() {
  return document.documentElement.dataset.theme ?? "system";
}

export function chooseTheme(theme) {
  const root = document.documentElement;
  if (theme === "system") delete root.dataset.theme;
  else root.dataset.theme = theme;
  try {
    if (theme === "system") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, theme);
  } catch { /* not kept, and that is all */ }
}
