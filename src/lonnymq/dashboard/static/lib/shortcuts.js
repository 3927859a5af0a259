// Keys that work anywhere on the page, unless the reader is typing or has switched them off.
import { useEffect, useState } from "./html.js";

const STORED = "lonnymq-shortcuts";
export const PAGE_KEYS = { o: "overview", c: "channels", m: "messages", d: "dead", w: "workers", s: "schedules", h: "history", a: "audit" };

const isTyping = ({ target }) => target.closest?.("input, select, textarea, [contenteditable], dialog");

/** `{isOn, setOn, isHelp, setHelp}`. Keys: letters go to pages, / to the first search field, p stops updates, ? shows all. */
export function useShortcuts({ go, togglePaused }) {
  const [isOn, setOn] = useState(() => localStorage.getItem(STORED) !== "off");
  const [isHelp, setHelp] = useState(false);
  useEffect(() => {
    const press = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isTyping(event)) return;
      if (event.key === "?") setHelp(true);
      else if (!isOn) return;
      else if (event.key === "/") (document.querySelector("main input[type=search]") ?? document.querySelector(".goto input"))?.focus();
      else if (event.key === "p") togglePaused();
      else if (PAGE_KEYS[event.key]) go(PAGE_KEYS[event.key]);
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  });
  const choose = (on) => {
    localStorage.setItem(STORED, on ? "on" : "off");
    setOn(on);
  };
  return { isOn, setOn: choose, isHelp, setHelp };
}
