// Calls of the JSON API, at an address relative to the page, wherever the page is mounted.

const ROOT = new URL(".", document.baseURI);
let csrf = null;

/** The event that the window gets when the session has ended. */
export const SIGNED_OUT = "lonnymq-signed-out";

/** An error of the API. `code` comes from the API, or is 'unreachable' without an answer. */
class ApiError extends Error {
  constructor(code, message, advice = null, status = 0) {
    super(message);
    Object.assign(this, { code, advice, status });
  }
}

export const buildUrl = (path, query = {}) => {
  const to = new URL(path, ROOT);
  for (const [key, value] of Object.entries(query)) {
    if (value != null && value !== "") to.searchParams.set(key, value);
  }
  return to;
};

export const queuePath = (queue, path) => `api/queues/${encodeURIComponent(queue)}/${path}`;

async function request(to, options) {
  let answer;
  try {
    answer = await fetch(to, { credentials: "same-origin", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError("unreachable", "The dashboard server does not answer.", "Check that the server is running. The page tries again automatically.");
  }
  const body = await answer.json().catch(() => null);
  if (answer.ok && body !== null) return body;
  const details = body?.error ?? {};
  if (answer.status === 401) dispatchEvent(new Event(SIGNED_OUT));
  throw new ApiError(details.code ?? "internal", details.message ?? `The server answered with ${answer.status}.`, details.advice, answer.status);
}

export const getJson = (path, query, signal) => request(buildUrl(path, query), { signal, headers: { accept: "application/json" } });

export const postJson = (path, body = {}) => request(buildUrl(path), {
  method: "POST",
  headers: { accept: "application/json", "content-type": "application/json", "x-csrf-token": csrf ?? "" },
  body: JSON.stringify(body),
});

const storeCsrf = (session) => {
  csrf = session.csrf;
  return session;
};
export const getSession = async () => storeCsrf(await getJson("api/session"));
export const signIn = async (token, name) => storeCsrf(await postJson("api/session", { token, name }));
export const signOut = async () => storeCsrf(await postJson("api/session/end"));
