// The current page, kept in the address after '#', so that the page works under any path.
import { useEffect, useState } from "./html.js";

/** '#/billing/channel/acme?sort=waiting' means queue billing, page channel, rest ['acme'], search sort=waiting. */
function parseHash(hash) {
  const [path, search = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [queue = "", page = "", ...rest] = path.split("/").map(decode);
  return { queue, page: page || "overview", rest, search: new URLSearchParams(search) };
}

function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function buildHash(queue, page = "overview", rest = [], search = {}) {
  const path = [queue, page, ...rest].map((part) => encodeURIComponent(part)).join("/");
  const kept = Object.entries(search).filter(([, value]) => value != null && value !== "");
  return `#/${path}${kept.length ? `?${new URLSearchParams(kept)}` : ""}`;
}

export function useRoute() {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const changed = () => setHash(location.hash);
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return parseHash(hash);
}

/** Change the address without a new entry in the history of the browser. */
export function replaceHash(to) {
  history.replaceState(null, "", to);
  dispatchEvent(new HashChangeEvent("hashchange"));
}
