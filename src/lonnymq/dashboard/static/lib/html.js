// Preact, written as templates. Text becomes text nodes: nothing hands markup to the browser.
import { h } from "../vendor/preact.js";
import htm from "../vendor/htm.js";

export { Fragment, createContext, render } from "../vendor/preact.js";
export {
  useCallback, useContext, useEffect, useId, useLayoutEffect, useMemo, useRef, useState,
} from "../vendor/hooks.js";
export const html = htm.bind(h);
