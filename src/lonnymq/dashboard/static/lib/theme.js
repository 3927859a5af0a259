// Light, dark, or as the system says; what was chosen is kept in this browser.
import { useEffect, useState } from "./html.js";

const KEY = "lonnymq.theme";
const CHOSEN = "lonnymq-theme-chosen";

const chosenTheme = () => document.documentElement.dataset.theme ?? "system";

export function chooseTheme(theme) {
  const root = document.documentElement;
  if (theme === "system") delete root.dataset.theme;
  else root.dataset.theme = theme;
  try {
    if (theme === "system") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, theme);
  } catch { /* not kept, and that is all */ }
  dispatchEvent(new Event(CHOSEN));
}

export function useTheme() {
  const [theme, setTheme] = useState(chosenTheme);
  useEffect(() => {
    const look = () => setTheme(chosenTheme());
    addEventListener(CHOSEN, look);
    return () => removeEventListener(CHOSEN, look);
  }, []);
  return theme;
}
