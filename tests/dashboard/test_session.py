"""Who is let in: with a token, without one, with the host app's own authentication."""

from typing import Any

import httpx
import pytest

from dashboard.server import served
from lonnymq.dashboard import QueueAt, create_app
from lonnymq.errors import InvalidArgument

TOKEN = "a-token-for-the-tests-0123456789"


async def test_without_a_token_all_may_look_and_nobody_may_act(page):
    session = (await (await page()).get("/api/session")).json()
    assert session["signed_in"] is True
    assert session["actions"] is False
    assert session["login"] == "none"
    assert [each["key"] for each in session["queues"]] == ["jobs"]


async def test_who_is_not_signed_in_is_told_nothing_of_the_queues(page):
    session = (await (await page(token=TOKEN, signed_in=False)).get("/api/session")).json()
    assert session["signed_in"] is False
    assert session["queues"] == []
    assert session["login"] == "token"


async def test_the_token_is_given_once_and_a_cookie_that_no_script_reads_stands_for_it(page):
    client = await page(token=TOKEN, signed_in=False)
    answer = await client.post("/api/session", json={"token": TOKEN, "name": "anna"})
    assert answer.json()["user"] == "anna"
    cookie = next(
        each for each in answer.headers.get_list("set-cookie") if "lonnymq_session" in each
    )
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert TOKEN not in cookie
    assert (await client.get("/api/session")).json()["user"] == "anna"


@pytest.mark.parametrize("token", ["", "wrong", TOKEN + "x", TOKEN[:-1], "ä" * 32])
async def test_a_wrong_token_is_refused(page, token):
    client = await page(token=TOKEN, signed_in=False)
    answer = await client.post("/api/session", json={"token": token})
    assert answer.status_code == 401
    assert (await client.get("/api/session")).json()["signed_in"] is False


@pytest.mark.parametrize("cookie", ["x", "a.b", "e30.e30", ".", "ä", "MTox.AAAA"])
async def test_a_cookie_that_was_not_signed_here_is_nobodys(page, cookie):
    client = await page(token=TOKEN, signed_in=False)
    headers = {"Cookie": b"lonnymq_session=" + cookie.encode()}
    assert (await client.get("/api/session", headers=headers)).json()["signed_in"] is False


async def test_a_session_of_another_token_does_not_count(page):
    client = await page(token=TOKEN)
    other = await page(token=TOKEN[::-1], signed_in=False)
    other.cookies.set("lonnymq_session", client.cookies["lonnymq_session"])
    assert (await other.get("/api/session")).json()["signed_in"] is False


async def test_signing_out_ends_the_session(page):
    client = await page(token=TOKEN)
    assert (await client.post("/api/session/end", json={})).json()["signed_in"] is False
    assert (await client.get("/api/session")).json()["signed_in"] is False


async def test_a_copy_of_the_cookie_is_worthless_after_signing_out(page):
    client = await page(token=TOKEN)
    copy = client.cookies["lonnymq_session"]
    await client.post("/api/session/end", json={})
    headers = {"Cookie": f"lonnymq_session={copy}"}
    assert (await client.get("/api/session", headers=headers)).json()["signed_in"] is False


def test_a_live_stream_ends_with_the_session(dsn_18):
    with served(create_app({"jobs": dsn_18}, token=TOKEN)) as address:
        client = httpx.Client(base_url=address, timeout=60)
        client.headers["X-CSRF-Token"] = client.get("/api/session").json()["csrf"]
        client.post("/api/session", json={"token": TOKEN})
        with client.stream("GET", "/api/queues/jobs/events") as stream:
            chunks = stream.iter_raw()
            next(chunks)
            assert client.post("/api/session/end", json={}).status_code == 200
            assert len(list(chunks)) < 5  # it ends


async def test_many_wrong_tokens_are_logged_and_then_not_even_compared(page, caplog):
    client = await page(token=TOKEN, signed_in=False)
    for _ in range(10):
        assert (await client.post("/api/session", json={"token": "wrong"})).status_code == 401
    assert caplog.text.count("failed: wrong token") == 10
    rejected = await client.post("/api/session", json={"token": TOKEN})
    assert rejected.status_code == 429
    assert rejected.json()["error"]["code"] == "too_many"


async def test_dashboards_on_two_ports_of_a_host_do_not_sign_each_other_out(page):
    client = await page(token=TOKEN, signed_in=False)
    names = set()
    for port in (8321, 8322):
        answer = await client.get(f"http://page.test:{port}/api/session")
        names |= {each.partition("=")[0] for each in answer.headers.get_list("set-cookie")}
    assert names == {"lonnymq_csrf_8321", "lonnymq_csrf_8322"}


async def test_long_answers_are_compressed(page):
    answer = await (await page()).get("/openapi.json", headers={"Accept-Encoding": "gzip"})
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.json()["openapi"]


async def test_a_program_sends_the_token_as_a_bearer(page):
    client = await page(token=TOKEN, signed_in=False)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    assert (await client.get("/api/session", headers=headers)).json()["signed_in"] is True


@pytest.mark.parametrize("is_async", [False, True])
async def test_the_host_app_may_say_who_somebody_is(page, is_async):
    def who(request: Any) -> str | None:
        return request.headers.get("x-user")

    async def who_async(request: Any) -> str | None:
        return who(request)

    client = await page(authenticate=who_async if is_async else who, actions=True)
    assert (await client.get("/api/session")).json()["signed_in"] is False
    known = (await client.get("/api/session", headers={"x-user": "bert"})).json()
    assert (known["user"], known["login"], known["actions"]) == ("bert", "host", True)


async def test_a_request_without_the_pages_mark_is_refused(page):
    client = await page(token=TOKEN, signed_in=False)
    answer = await client.post(
        "/api/session", json={"token": TOKEN}, headers={"X-CSRF-Token": "0" * 32}
    )
    assert answer.status_code == 403
    assert answer.json()["error"]["code"] == "forbidden"


@pytest.mark.parametrize(
    "headers", [{"Origin": "http://evil.test"}, {"Sec-Fetch-Site": "cross-site"}]
)
async def test_a_request_from_another_sites_page_is_refused(page, headers):
    client = await page(token=TOKEN, signed_in=False)
    answer = await client.post("/api/session", json={"token": TOKEN}, headers=headers)
    assert answer.status_code == 403


async def test_names_of_other_hosts_are_refused_where_hosts_are_known(dsn_18):
    app = create_app({"jobs": dsn_18}, hosts={"localhost", "::1"})
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app)) as client:
        for base, status in [
            ("http://localhost:8000", 200),
            ("http://[::1]:8000", 200),
            ("http://rebound.example", 403),
        ]:
            assert (await client.get(f"{base}/api/session")).status_code == status


def test_what_cannot_be_meant_is_refused(dsn_18):
    for settings in (
        {"actions": True},
        {"token": "short"},
        {"token": TOKEN, "authenticate": lambda _: "anna"},
    ):
        with pytest.raises(InvalidArgument):
            create_app({"jobs": dsn_18}, **settings)
    with pytest.raises(InvalidArgument):
        create_app({})
    with pytest.raises(InvalidArgument):
        create_app({"a/b": dsn_18})
    with pytest.raises(InvalidArgument) as rejected:
        create_app({"a": QueueAt("postgresql://u:secret-word@[/x")})
    assert "secret-word" not in str(rejected.value)


async def test_every_answer_lets_nothing_foreign_in(page):
    client = await page()
    for path in ("/api/session", "/nothing", "/static/nothing.js"):
        headers = (await client.get(path)).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
