"""Sign-in through an OpenID Connect provider that is a server of its own."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from joserfc.jwk import RSAKey

from dashboard.oidc_provider import CLIENT, SECRET, Provider
from dashboard.server import served
from lonnymq.dashboard import create_app
from lonnymq.errors import InvalidArgument

FILE = """
[oidc]
issuer = "{issuer}"
client_id = "{client}"
client_secret_file = "secret"

[[grant]]
user = "anna@example.org"
role = "administer"

[[grant]]
group = "support"
role = "view"
channels = ["acme-*"]
"""


@pytest.fixture
def provider() -> Iterator[Provider]:
    made = Provider()
    with served(made.app) as address:
        made.issuer = address
        yield made


@pytest.fixture
def access_file(provider: Provider, tmp_path: Path) -> Path:
    (tmp_path / "secret").write_text(SECRET + "\n")
    file = tmp_path / "access.toml"
    file.write_text(FILE.format(issuer=provider.issuer, client=CLIENT))
    return file


@pytest.fixture
def browser(dsn_18: str, access_file: Path) -> Iterator[httpx.Client]:
    with (
        served(create_app({"jobs": dsn_18}, access=access_file)) as address,
        httpx.Client(base_url=address, follow_redirects=True, timeout=60) as client,
    ):
        yield client


def sign_in(browser: httpx.Client) -> Any:
    answer = browser.get("/oidc/sign-in")
    assert answer.status_code == 200
    return browser.get("/api/session").json(), answer.url


def test_a_user_signs_in_and_has_the_role_of_the_access_file(browser, provider):
    before = browser.get("/api/session").json()
    assert (before["signed_in"], before["login"]) == (False, "oidc")
    session, at = sign_in(browser)
    assert at.path == "/"
    assert (session["user"], session["queues"][0]["role"]) == ("anna@example.org", "administer")
    assert browser.get("/api/queues/jobs/overview").status_code == 200
    headers = {"X-CSRF-Token": session["csrf"]}
    browser.post("/api/session/end", headers=headers)
    assert browser.get("/api/queues/jobs/overview").status_code == 401


def test_the_groups_of_the_provider_have_roles_too_and_strangers_have_none(browser, provider):
    provider.claims = {"email": "bert@example.org", "groups": ["support", "other"]}
    session, _ = sign_in(browser)
    (queue,) = session["queues"]
    assert (queue["role"], queue["channels"]) == ("view", ["acme-*"])
    provider.claims = {"email": "eve@example.org"}
    session, _ = sign_in(browser)
    assert (session["signed_in"], session["queues"]) == (True, [])
    assert browser.get("/api/queues/jobs/overview").status_code == 404


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"nonce": "another"}, "InvalidClaimError"),
        ({"aud": "another client"}, "InvalidClaimError"),
        ({"iss": "https://another.example"}, "InvalidClaimError"),
        ({"exp": 1}, "ExpiredTokenError"),
        ({"email": None}, "no claim 'email'"),
        ({"email_verified": False}, "not verified the email"),
    ],
)
def test_claims_that_are_wrong_sign_nobody_in(browser, provider, changes, reason, caplog):
    provider.changes = changes
    session, at = sign_in(browser)
    assert session["signed_in"] is False
    assert at.query == b"error=sign_in"
    assert reason in caplog.text


def test_a_signature_of_another_key_signs_nobody_in(browser, provider, caplog):
    provider.signing_key = RSAKey.generate_key(2048, {"kid": "1"})
    assert sign_in(browser)[0]["signed_in"] is False
    assert "BadSignatureError" in caplog.text


def test_an_answer_that_this_browser_did_not_ask_for_signs_nobody_in(browser, provider):
    stranger = httpx.Client(base_url=browser.base_url)
    begun = stranger.get("/oidc/sign-in")
    sent = stranger.get(begun.headers["location"])
    answer = browser.get(sent.headers["location"])
    assert answer.url.query == b"error=sign_in"
    assert browser.get("/api/session").json()["signed_in"] is False


def test_a_provider_that_is_away_is_said_so(dsn_18, access_file, provider):
    access_file.write_text(access_file.read_text().replace(provider.issuer, "http://127.0.0.1:9"))
    with served(create_app({"jobs": dsn_18}, access=access_file)) as address:
        answer = httpx.get(f"{address}/oidc/sign-in", timeout=60)
    assert answer.headers["location"].endswith("/?error=sign_in")


def test_an_issuer_without_tls_and_a_secret_that_is_away_are_refused(dsn_18, access_file, tmp_path):
    text = access_file.read_text()
    access_file.write_text(text.replace("http://127.0.0.1:", "http://login.example:"))
    with pytest.raises(InvalidArgument, match="https"):
        create_app({"jobs": dsn_18}, access=access_file)
    access_file.write_text(text)
    (tmp_path / "secret").unlink()
    with pytest.raises(InvalidArgument, match="client_secret_file"):
        create_app({"jobs": dsn_18}, access=access_file)
