// Calls to the JSON API, whose address is reckoned from the page's own, wherever it is mounted.
const ROOT = new URL(".", document.baseURI);
let csrf = null;

/** What the window is told when an answer says that the session is over. */
export const SIGNED_OUT = "lonnymq-signed-out";

/** What the API refused or could not do; `code` is the API's word, or 'unreachable' where nothing answered. */
export class Refused extends Error {
  constructor(code, message, advice = null, status = 0) {
    super(message);
    Object.assign(this, { code, advice, status });
  }
}

export const url = (path, query = {}) => {
  const to = new URL(path, ROOT);
  for (const [key, value] of Object.entries(query)) {
    if (value != null && value !== "") to.searchParams.set(key, value);
  }
  return to;
};

export const queuePath = (queue, path) => `api/queues/${encodeURIComponent(queue)}/${path}`;

async function call(to, options) {
  let answer;
  try {
    answer = await fetch(to, { credentials: "same-origin", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused("unreachable", "The dashboard's server does not answer.", "Is it still running? The page tries again by itself.");
  }
  const body = await answer.json().catch(() => null);
  if (answer.ok && body !== null) return body;
  const told = body?.error ?? {};
  if (answer.status === 401) dispatchEvent(new Event(SIGNED_OUT));
  throw new Refused(told.code ?? "internal", told.message ?? `The server answered with ${answer.status}.`, told.advice, answer.status);
}

export const get = (path, query, signal) => call(url(path, query), { signal, headers: { accept: "application/json" } });

export const post = (path, body = {}) => call(url(path), {
  method: "POST",
  headers: { accept: "application/json", "content-type": "application/json", "x-csrf-token": csrf ?? "" },
  body: JSON.stringify(body),
});

const remembered = (session) => {
  csrf = session.csrf;
  return session;
};
export const getSession = async () => remembered(await get("api/session"));
export const signIn = async (token, name) => remembered(await post("api/session", { token, name }));
export const signOut = async () => remembered(await post("api/session/end"));
