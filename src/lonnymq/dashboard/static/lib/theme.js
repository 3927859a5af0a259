// The theme: light, dark or the system's. The browser stores the choice.
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
  } catch { /* no storage */ }
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
