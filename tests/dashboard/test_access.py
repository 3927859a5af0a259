"""Who may do what: a role per route, roles per queue and channel, and payloads that are hidden or redacted."""

import hashlib
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from dashboard.sample_queue import fill_queue
from lonnymq import Queue
from lonnymq.dashboard import create_app
from lonnymq.dashboard.access import Role, load_access
from lonnymq.dashboard.actions.routes import ACTIONS
from lonnymq.errors import InvalidArgument
from support import message_id

USERS = ("viewer", "actor", "admin", "acme", "blind", "careful", "elsewhere")
FILE = """
redact = ["Password", "iban"]

[tokens]
%s

[[grant]]
user = "viewer"
role = "view"

[[grant]]
user = "actor"
role = "act"

[[grant]]
user = "admin"
role = "administer"

[[grant]]
user = "acme"
role = "act"
channels = ["acme", "acme-*", "broken"]

[[grant]]
user = "blind"
role = "administer"
payloads = "hidden"

[[grant]]
user = "careful"
role = "view"
payloads = "redacted"

[[grant]]
user = "elsewhere"
role = "administer"
queues = ["billing"]
"""

QUEUE = "/api/queues/{queue}"
PUBLIC = {
    ("GET", "/"), ("GET", "/static/{path:path}"), ("GET", "/api/session"), ("POST", "/api/session"),
    ("POST", "/api/session/end"), ("GET", "/openapi.json"), ("GET", "/health"), ("GET", "/ready"),
}  # fmt: skip
ACTS = {"pause", "resume", "cancel", "cancel_many", "edit_dead", "redrive", "run_schedule"}
ADMINISTERS = {"set_limits", "purge", "purge_dead", "pause_schedule", "resume_schedule"}


def token_of(user: str) -> str:
    return f"the-token-of-{user}-0123456789"


def bearer(user: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token_of(user)}"}


@pytest.fixture
def access_file(tmp_path: Path) -> Path:
    digests = {each: hashlib.sha256(token_of(each).encode()).hexdigest() for each in USERS}
    file = tmp_path / "access.toml"
    file.write_text(FILE % "\n".join(f'{name} = "{each}"' for name, each in digests.items()))
    return file


@pytest.fixture
async def client(page, dsn_18: str, access_file: Path) -> Any:
    with Queue(dsn_18) as queue:
        found = await page(access=access_file, signed_in=False)
        found.ids = fill_queue(queue)
        yield found


async def get(client: Any, user: str, path: str, status: int = 200, **query: Any) -> Any:
    answer = await client.get(f"/api/queues/jobs/{path}", params=query, headers=bearer(user))
    assert answer.status_code == status, answer.text
    return answer.json()


async def post(client: Any, user: str, action: str, body: Any, status: int = 200) -> Any:
    path = f"/api/queues/jobs/actions/{action}"
    answer = await client.post(path, json=body, headers=bearer(user))
    assert answer.status_code == status, answer.text
    return answer.json()


def test_every_route_has_a_role_and_only_these_are_public(dsn_18, access_file):
    routes: list[Any] = create_app({"jobs": dsn_18}, access=access_file).routes
    roles = {
        (method, route.path): route.role for route in routes for method in route.methods - {"HEAD"}
    }
    assert {key for key, role in roles.items() if role is None} == PUBLIC
    for (method, path), role in roles.items():
        if method == "GET" and role is not None:
            assert role is Role.VIEW, path
        elif role is not None:
            action = path.removesuffix("/preview").rpartition("/")[2]
            assert role is (Role.ACT if action in ACTS else Role.ADMINISTER), path
    assert set(ACTIONS) == ACTS | ADMINISTERS


@pytest.mark.parametrize("user", [None, "viewer", "actor", "admin", "elsewhere"])
async def test_every_route_lets_in_those_who_have_its_role_and_nobody_else(client, user):
    roles = {"viewer": Role.VIEW, "actor": Role.ACT, "admin": Role.ADMINISTER}
    routes = client._transport.app.routes
    for route in (each for each in routes if each.role is not None):
        path = re.sub(
            r"\{id\}", "1", route.path.replace("{queue}", "jobs").replace("{name}", "x.png")
        )
        if path.endswith("/events") and user in roles:
            continue  # never ends
        (method,) = route.methods - {"HEAD"}
        headers = bearer(user) if user else {}
        body: Any = {} if method == "POST" else None
        answer = await client.request(method, path, json=body, headers=headers)
        if user is None:
            assert answer.status_code == 401, path
        elif user == "elsewhere":
            assert answer.status_code == (404 if "queues" in path else 403), path
        elif roles[user] < route.role:
            assert answer.status_code == 403, path
            assert route.role.name.lower() in answer.json()["error"]["message"]
        else:
            assert answer.status_code not in (401, 403), path


async def test_the_session_tells_the_role_and_the_channels_per_queue(client):
    for user, role, channels in (
        ("viewer", "view", None),
        ("admin", "administer", None),
        ("acme", "act", ["acme", "acme-*", "broken"]),
    ):
        session = (await client.get("/api/session", headers=bearer(user))).json()
        (queue,) = session["queues"]
        assert (session["user"], queue["role"], queue["channels"]) == (user, role, channels)
        assert session["actions"] is (role != "view")
    assert (await client.get("/api/session", headers=bearer("elsewhere"))).json()["queues"] == []


async def test_a_user_of_some_channels_sees_no_other_channel(client, dsn_18):
    with Queue(dsn_18) as queue:
        for name in ("acme-west", "acmeville", "zulu"):
            queue.create(name, b"{}")
        hidden = message_id(queue.create("zulu", b"secret"))
    for query in ({}, {"sort": "waiting"}, {"search": "e"}, {"search": "acme"}, {"limit": 1}):
        seen, cursor = set(), None
        for _ in range(20):
            found = await get(
                client, "acme", "channels", **query, **({"cursor": cursor} if cursor else {})
            )
            seen |= {each["channel"] for each in found["channels"]}
            cursor = found["next"]
            if cursor is None:
                break
        assert seen <= {"acme", "acme-west", "broken"}, query
        assert "acme-west" in seen, query
    for path, query in (
        ("channel", {"name": "zulu"}),
        ("channel", {"name": "acmeville"}),
        ("channel/series", {"name": "zulu"}),
        ("messages", {"channel": "zulu"}),
        ("dead/groups", {"channel": "zulu"}),
    ):
        await get(client, "acme", path, 403, **query)
    await get(client, "acme", f"messages/{hidden}", 404)
    await get(client, "acme", f"messages/{hidden}/content", 404)
    for path in ("overview", "series", "kinds", "workers", "schedules", "audit"):
        await get(client, "acme", path, 403)
    for path in ("/metrics", "/api/report", "/report/"):
        assert (await client.get(path, headers=bearer("acme"))).status_code == 403
    rows = (await get(client, "acme", "attention", target_s=0))["rows"]
    assert {each["channel"] for each in rows} <= {None, "acme", "acme-west", "broken"}


async def test_a_user_of_some_channels_sees_the_dead_of_these_and_redrives_no_other(client, dsn_18):
    with Queue(dsn_18) as queue:
        queue.channel("zulu").set(max_attempts=1)
        queue.create("zulu", b"{}")
        for message in queue.dequeue(50):
            if message.channel == "zulu":
                queue.fail(message, error="OSError: disk full")
    everything = (await get(client, "admin", "dead"))["messages"]
    assert "zulu" in {each["channel"] for each in everything}
    groups = await get(client, "acme", "dead/groups")
    assert {name for each in groups["groups"] for name in each["example_channels"]} == {"broken"}
    assert groups["total"] == {"value": 4, "exact": True}
    listed = (await get(client, "acme", "dead"))["messages"]
    assert {each["channel"] for each in listed} == {"broken"}
    assert (await post(client, "acme", "redrive/preview", {"all": True}))["count"] == 4
    zulu = next(each["id"] for each in everything if each["channel"] == "zulu")
    await post(client, "acme", "redrive", {"ids": [zulu]}, 403)
    await post(client, "acme", "redrive", {"channel": "zulu"}, 403)
    assert (await post(client, "acme", "redrive", {"all": True}))["count"] == 4
    with Queue(dsn_18) as queue:
        assert len(queue.dead_list("zulu")) == 1


async def test_a_user_acts_in_the_granted_channels_only(client, dsn_18):
    with Queue(dsn_18) as queue:
        other = message_id(queue.create("zulu", b"{}"))
    assert (await post(client, "acme", "pause", {"channel": "acme"}))["answer"] == "paused"
    for action in ("pause", "pause/preview"):
        await post(client, "acme", action, {"channel": "zulu"}, 403)
    await post(client, "acme", "cancel", {"id": str(other)}, 403)
    await post(client, "acme", "set_limits", {"channel": "acme", "options": {"weight": 2}}, 403)
    entries = (await get(client, "admin", "audit"))["entries"]
    assert [(each["who"], each["action"]) for each in entries] == [("acme", "pause")]


async def test_payloads_are_hidden_or_redacted_and_the_download_too(client, dsn_18):
    content = (
        b'{"user": {"password": "pa55", "name": "anna"}, "IBAN": ["x"], "list": [{"iban": 1}]}'
    )
    with Queue(dsn_18) as queue:
        ids = {
            name: message_id(queue.create("acme", data, headers={"password": "pa55", "trace": "t"}))
            for name, data in (
                ("json", content),
                ("text", b"pa55"),
                ("large", content[:-1] + b" " * 20_000 + b"}"),
            )
        }
    for name, number in ids.items():
        seen = (await get(client, "careful", f"messages/{number}"))["message"]
        assert "pa55" not in str(seen)
        assert seen["payloads"] == "redacted"
        assert seen["headers"] == {"password": "•••", "trace": "t"}
        assert (seen["content"] is not None) is (name == "json")
        blind = (await get(client, "blind", f"messages/{number}"))["message"]
        assert (blind["content"], blind["headers"], blind["payloads"]) == (None, None, "hidden")
        download = f"/api/queues/jobs/messages/{number}/content"
        assert (await client.get(download, headers=bearer("blind"))).status_code == 403
        answer = await client.get(download, headers=bearer("careful"))
        assert "pa55" not in answer.text
        assert answer.status_code == (403 if name == "text" else 200)
        assert "pa55" in str((await get(client, "viewer", f"messages/{number}"))["message"])
    for user in ("careful", "blind"):
        assert "pa55" not in str(await get(client, user, "messages", channel="acme"))
    assert "pa55" in str(await get(client, "viewer", "messages", channel="acme"))


async def test_the_audit_has_verified_names_and_marks_a_name_that_was_typed(
    page, dsn_18, access_file
):
    with Queue(dsn_18) as queue:
        queue.create("acme", b"{}")
    shared = "a-token-that-several-users-share"
    for settings, secret, who in (
        ({"access": access_file}, token_of("actor"), "actor"),
        ({"token": shared, "actions": True}, shared, "anna (unverified)"),
    ):
        client = await page(signed_in=False, **settings)
        await client.post("/api/session", json={"token": secret, "name": "anna"})
        assert (
            await client.post("/api/queues/jobs/actions/pause", json={"channel": "acme"})
        ).status_code == 200
        entries = (await client.get("/api/queues/jobs/audit")).json()["entries"]
        assert entries[0]["who"] == who


async def test_a_session_of_before_a_restart_is_worthless_with_another_salt(page, access_file):
    client = await page(access=access_file, signed_in=False, session_salt=b"1")
    await client.post("/api/session", json={"token": token_of("actor")})
    cookie = client.cookies["lonnymq_session"]
    for salt, signed_in in ((b"1", True), (b"2", False)):
        other = await page(access=access_file, signed_in=False, session_salt=salt)
        other.cookies.set("lonnymq_session", cookie)
        assert (await other.get("/api/session")).json()["signed_in"] is signed_in


GRANT = '[[grant]]\nuser = "anna"\nrole = "view"\n'


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "grant"),
        ("grant = []", "grants nothing"),
        ("[[grant", "not valid"),
        (GRANT + "color = 1", "color"),
        (GRANT.replace("view", "fly"), "fly"),
        (GRANT + 'channels = ["a*b"]', "a*b"),
        (GRANT + 'channels = ["*"]', "'*'"),
        (GRANT + "channels = []", "channels"),
        (GRANT + 'group = "ops"', "not both"),
        ('[[grant]]\nrole = "view"', "user or a group"),
        (GRANT + '[tokens]\nanna = "secret"', "SHA-256"),
        (GRANT + f'[tokens]\nbert = "{"a" * 64}"', "'bert'"),
        (GRANT, "nobody can sign in"),
    ],
)
def test_an_access_file_that_cannot_be_meant_is_refused_with_the_reason(
    tmp_path, dsn_18, text, problem
):
    file = tmp_path / "access.toml"
    file.write_text(text)
    with pytest.raises(InvalidArgument, match=re.escape(problem)):
        create_app({"jobs": dsn_18}, access=file)


def test_ways_to_sign_in_that_contradict_each_other_are_refused(tmp_path, dsn_18, access_file):
    for settings in ({"token": "x" * 20}, {"actions": True}, {"authenticate": lambda _: "anna"}):
        with pytest.raises(InvalidArgument):
            create_app({"jobs": dsn_18}, access=access_file, **settings)
    with pytest.raises(InvalidArgument, match="cannot read"):
        load_access(tmp_path / "nothing.toml")


async def test_the_host_app_names_users_and_the_access_file_gives_them_roles(page, tmp_path):
    file = tmp_path / "access.toml"
    file.write_text(GRANT + '[[grant]]\nuser = "*"\nrole = "view"\nchannels = ["open"]')
    client = await page(access=file, authenticate=lambda request: request.headers.get("x-user"))
    for user, status in ((None, 401), ("anna", 200), ("bert", 403)):
        headers = {"x-user": user} if user else {}
        answer = await client.get("/api/queues/jobs/overview", headers=headers)
        assert answer.status_code == status
    assert isinstance(client, httpx.AsyncClient)


def test_the_access_file_of_the_documentation_is_valid(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "dashboard.md").read_text()
    file = tmp_path / "access.toml"
    roles, oidc = (each.partition("```")[0] for each in page.split("```toml\n")[1:])
    file.write_text(roles)
    assert load_access(file).find_access("bert", (), "lonnymq").patterns == ("acme", "acme-*")
    file.write_text(oidc)
    assert load_access(file).find_access("bert", ("support",), "lonnymq").role is Role.VIEW


async def test_a_search_finds_nothing_of_other_channels_and_reads_no_hidden_payload(client, dsn_18):
    with Queue(dsn_18) as queue:
        queue.create("zulu", b'{"password": "pa55"}')
        queue.create("acme", b'{"password": "pa55"}')
    found = (await get(client, "acme", "find"))["messages"]
    assert {each["channel"] for each in found} <= {"acme", "broken"}
    assert len(found) >= 1
    for user, status in (("viewer", 200), ("careful", 403), ("blind", 403)):
        await get(client, user, "find", status, field="password", value="pa55")
        assert ("pa55" in str(await get(client, user, "find"))) is (user == "viewer")


async def test_a_payload_that_is_hidden_cannot_be_edited(client):
    body = {"id": str(client.ids["dead"]), "content": "x"}
    assert "edit" in (await post(client, "blind", "edit_dead", body, 403))["error"]["message"]
