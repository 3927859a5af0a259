// The sign-in page.
import { html, useState } from "../lib/html.js";
import { Logo, Notice } from "../components/status.js";
import { signIn } from "../lib/api.js";

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
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  return html`<main id="main" class="door"><div class="card">
    <h1><${Logo} />LonnyMQ</h1>
    ${session.login === "host" ? html`<${Notice} tone="warn" title="Please sign in"><p>Sign in to the application that contains this dashboard, then come back.</p><//>` : session.login === "oidc" ? html`
      <div role="alert">${new URLSearchParams(location.search).get("error") && html`<${Notice} tone="bad" title="The sign-in failed."><p>Try again. The log of the dashboard has the reason.</p><//>`}</div>
      <p><a class="button main" href="oidc/sign-in">Sign in</a></p>` : html`
      <form onSubmit=${submit}>
        <label class="field"><span>Token</span><input class="input" type="password" name="token" required autocomplete="current-password" /><span class="hint">${session.shared_token ? "printed when the dashboard started" : "your own token"}</span></label>
        ${session.shared_token && html`<label class="field"><span>Your name</span><input class="input" name="name" maxlength="100" autocomplete="username" /><span class="hint">optional, for the audit log</span></label>`}
        <div role="alert">${error && html`<${Notice} tone="bad" title=${error.code === "unauthorized" ? "The token is wrong." : error.message}><p>${error.advice}</p><//>`}</div>
        <button class="button main" disabled=${busy}>Sign in</button>
      </form>`}
  </div></main>`;
}
