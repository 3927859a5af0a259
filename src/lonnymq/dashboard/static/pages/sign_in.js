// The door: a token where the page has one of its own, else a word about the host's.
import { html, useState } from "../lib/html.js";
import { signIn } from "../lib/api.js";
import { Ring } from "../parts/icons.js";
import { Notice } from "../parts/states.js";

export function SignIn({ session, onSession }) {
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const submit = async (event) => {
    event.preventDefault();
    const fields = new FormData(event.target);
    setBusy(true);
    setError(null);
    try {
      onSession(await signIn(fields.get("token"), fields.get("name") || null));
    } catch (refused) {
      setError(refused);
      setBusy(false);
    }
  };
  return html`<main id="main" class="door"><div class="card">
    <h1><${Ring} />LonnyMQ</h1>
    ${session.login === "host" ? html`<${Notice} tone="warn" title="Please sign in"><p>The application that this page is part of does not know you. Sign in there, and come back.</p><//>` : html`
      <form onSubmit=${submit}>
        <label class="field"><span>Token</span><input class="input" type="password" name="token" required autocomplete="current-password" /><span class="hint">from whoever started the dashboard</span></label>
        <label class="field"><span>Your name</span><input class="input" name="name" maxlength="100" autocomplete="username" /><span class="hint">stands in the audit log; may be left out</span></label>
        <div role="alert">${error && html`<${Notice} tone="bad" title=${error.code === "unauthorized" ? "That is not the token." : error.message}><p>${error.advice}</p><//>`}</div>
        <button class="button main" disabled=${busy}>Sign in</button>
      </form>`}
  </div></main>`;
}
