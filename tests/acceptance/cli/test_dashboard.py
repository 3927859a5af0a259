"""`lonnymq dashboard`: a real process that serves the page, to this machine alone unless told otherwise."""

import asyncio
import contextlib
import hashlib
import re
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from commands import PROGRAM, environment, run
from dashboard.server import served
from lonnymq import Queue, install
from lonnymq.dashboard.protocol import TimedProtocol
from support import eventually


class Page:
    """A page that is served, and what its process said."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self.process, self.log = process, log
        (self.address,) = eventually(self.addresses)

    def output(self) -> str:
        return self.log.read_text()

    def addresses(self) -> list[str]:
        assert self.process.poll() is None, self.output()
        return re.findall(r"http://\S+", self.output())

    def token(self) -> str:
        found: list[str] = eventually(lambda: re.findall(r"sign in with: (\S+)", self.output()))
        return found[0]


@contextmanager
def dashboard(folder: Path, *arguments: str, dsn: str | None = None, **more: str) -> Iterator[Page]:
    log = folder / "log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*PROGRAM, "dashboard", "--port", "0", *arguments],
            env=environment(dsn, **more),
            stdout=out,
            stderr=out,
        )
    try:
        yield Page(process, log)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()


def test_it_serves_the_page_on_this_machine_for_looking_only(tmp_path, dsn_18):
    with dashboard(tmp_path, dsn=dsn_18) as page:
        assert page.address.startswith("http://127.0.0.1:")
        answer = httpx.get(page.address)
        assert answer.headers["content-type"].startswith("text/html")
        session = httpx.get(f"{page.address}api/session").json()
        assert (session["actions"], session["login"]) == (False, "none")
        assert httpx.get(f"{page.address}api/queues/lonnymq/overview").status_code == 200
        strange = httpx.get(page.address, headers={"Host": "evil.example"})
        assert strange.status_code == 403
    assert "Token" not in page.output()


def test_it_stops_though_pages_are_open(tmp_path, dsn_18):
    with dashboard(tmp_path, dsn=dsn_18) as page:
        stream = httpx.stream("GET", f"{page.address}api/queues/lonnymq/events", timeout=60)
        lines = stream.__enter__().iter_lines()
        assert any(line == "event: overview" for line in lines)
        page.process.send_signal(signal.SIGTERM)
        assert page.process.wait(60) == 0
        with contextlib.suppress(httpx.HTTPError):
            list(lines)
        stream.__exit__(None, None, None)


def test_with_actions_a_token_is_made_and_printed_once(tmp_path, dsn_18):
    with Queue(dsn_18) as queue:
        queue.create("acme", b"x")
    with dashboard(tmp_path, "--actions", dsn=dsn_18) as page:
        url, token = f"{page.address}api/queues/lonnymq", page.token()
        assert httpx.get(f"{url}/overview").status_code == 401
        bearer = {"Authorization": f"Bearer {token}"}
        done = httpx.post(f"{url}/actions/pause", json={"channel": "acme"}, headers=bearer)
        assert done.json()["answer"] == "paused"
        assert page.output().count(token) == 1


def test_several_databases_and_schemas_are_shown_in_one_page(tmp_path, server_18):
    with server_18.database() as (one, _), server_18.database() as (two, _):
        for dsn in (one, two):
            install(dsn, schema="billing")
        arguments = ("--dsn", one, "--dsn", two, "--schema", "lonnymq", "--schema", "billing")
        with dashboard(tmp_path, *arguments) as page:
            session = httpx.get(f"{page.address}api/session").json()
            keys = [each["key"] for each in session["queues"]]
            assert keys == ["1-lonnymq", "1-billing", "2-lonnymq", "2-billing"]
            assert len({each["label"] for each in session["queues"]}) == 4
            for key in keys:
                seen = httpx.get(f"{page.address}api/queues/{key}/overview")
                assert seen.status_code == 200


def test_the_private_database_is_used_if_asked_for(tmp_path):
    assert run("dashboard", "--port", "0").code == 2
    with dashboard(tmp_path, "--embedded", XDG_DATA_HOME=str(tmp_path), HOME=str(tmp_path)) as page:
        answer = httpx.get(f"{page.address}api/queues/lonnymq/overview", timeout=60)
        assert answer.json()["waiting"] == {"value": 0, "exact": True}


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "example.org"])
def test_it_does_not_listen_to_others_without_a_token(host, dsn_18):
    rejected = run("dashboard", "--host", host, "--port", "0", dsn=dsn_18)
    assert rejected.code == 2
    assert "--token-file" in rejected.err


def test_a_token_comes_from_a_file_and_a_bad_one_is_refused(tmp_path, dsn_18):
    token = tmp_path / "token"
    token.write_text("a-token-of-some-length\n")
    with dashboard(tmp_path, "--token-file", str(token), "--host", "0.0.0.0", dsn=dsn_18) as page:
        address = page.address.replace("0.0.0.0", "127.0.0.1")
        assert httpx.get(f"{address}metrics").status_code == 401
        bearer = {"Authorization": "Bearer a-token-of-some-length"}
        assert httpx.get(f"{address}metrics", headers=bearer).status_code == 200
        assert token.read_text().strip() not in page.output()
    token.write_text("short")
    assert run("dashboard", "--token-file", token, "--port", "0", dsn=dsn_18).code == 2
    assert run("dashboard", "--token-file", tmp_path / "none", "--port", "0", dsn=dsn_18).code == 1


def test_a_planted_secret_is_in_no_log(tmp_path, dsn_18):
    """A password, a payload, an error text and a token, with everything logged and something broken."""
    with Queue(dsn_18) as queue:
        queue.channel("acme").set(max_attempts=1)
        queue.create("acme", b"planted payload")
        (message,) = queue.dequeue()
        queue.fail(message, error="planted error")
        dead = message.id
    secret = dsn_18.replace("postgres@", "postgres:planted-password@")
    away = "postgresql://nobody:planted-other@127.0.0.1:1/nothing"
    arguments = ("--dsn", secret, "--dsn", away, "--actions", "--log-level", "debug")
    with dashboard(tmp_path, *arguments) as page:
        bearer = {"Authorization": f"Bearer {page.token()}"}
        with httpx.Client(base_url=page.address, headers=bearer, timeout=60) as client:
            assert "planted payload" in client.get(f"api/queues/1-lonnymq/messages/{dead}").text
            assert client.get("api/queues/2-lonnymq/overview").status_code == 503
            body = {"channel": "planted \x00 name", "options": {"odd": "planted option"}}
            client.post("api/queues/1-lonnymq/actions/set_limits", json=body)
            with psycopg.connect(dsn_18, autocommit=True) as connection:
                connection.execute("drop function lonnymq.message_show")
                connection.execute(
                    "create function lonnymq.message_show(p_id bigint, p_bytes integer default 0)"
                    " returns integer language plpgsql as $$ begin raise 'planted raise'; end $$"
                )
            broken = client.get(f"api/queues/1-lonnymq/messages/{dead + 1}")
            assert broken.status_code == 503
            answers = broken.text
    output = page.output().replace(page.token(), "")
    assert "planted" not in output + answers
    assert "queue 1-lonnymq: " in output


def test_a_port_that_is_taken_is_said_so(dsn_18, tmp_path):
    with dashboard(tmp_path, dsn=dsn_18) as page:
        port = page.address.rstrip("/").rpartition(":")[2]
        rejected = run("dashboard", "--port", port, dsn=dsn_18)
    assert rejected.code == 1
    assert "Try another --port" in rejected.err


def test_a_proxy_on_this_machine_names_the_user_and_its_host_is_allowed(tmp_path, dsn_18):
    options = ("--proxy-user-header", "X-User", "--allowed-host", "queue.example", "--actions")
    with dashboard(tmp_path, *options, dsn=dsn_18) as page:
        behind = {"Host": "queue.example", "X-User": "anna"}
        session = httpx.get(f"{page.address}api/session", headers=behind).json()
        assert (session["user"], session["login"], session["actions"]) == ("anna", "host", True)
        path = f"{page.address}api/queues/lonnymq/overview"
        assert httpx.get(path, headers=behind).status_code == 200
        assert httpx.get(path, headers={"Host": "queue.example"}).status_code == 401
        assert httpx.get(path, headers={**behind, "Host": "evil.example"}).status_code == 403
    assert "Token" not in page.output()


def test_the_header_of_a_proxy_is_not_trusted_where_others_can_send_it(dsn_18):
    ended = run("dashboard", "--host", "0.0.0.0", "--proxy-user-header", "X-User", dsn=dsn_18)
    assert ended.code == 2
    assert "--proxy-user-header needs a proxy on this machine" in ended.err


def test_an_access_file_gives_every_user_a_role_and_a_restart_ends_sessions(tmp_path, dsn_18):
    digest = hashlib.sha256(b"the-token-of-anna").hexdigest()
    file = tmp_path / "access.toml"
    file.write_text(f'[tokens]\nanna = "{digest}"\n[[grant]]\nuser = "anna"\nrole = "act"\n')
    cookies: dict[str, str] = {}
    for is_first in (True, False):
        options = ("--access", str(file), "--host", "0.0.0.0")
        with dashboard(tmp_path, *options, dsn=dsn_18) as page:
            address = page.address.replace("0.0.0.0", "127.0.0.1")
            with httpx.Client(base_url=address) as client:
                port = httpx.URL(address).port
                name = f"lonnymq_session_{port}"
                if is_first:
                    csrf = client.get("api/session").json()["csrf"]
                    body, headers = {"token": "the-token-of-anna"}, {"X-CSRF-Token": csrf}
                    session = client.post("api/session", json=body, headers=headers).json()
                    assert (session["user"], session["queues"][0]["role"]) == ("anna", "act")
                    cookies["value"] = client.cookies[name]
                else:
                    client.cookies.set(name, cookies["value"])
                    assert client.get("api/session").json()["signed_in"] is False
    file.write_text("[[grant]]")
    rejected = run("dashboard", "--access", file, "--port", "0", dsn=dsn_18)
    assert rejected.code == 2
    assert "role" in rejected.err


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET / HTTP/1.1\r\nHost: x",
        b"POST /api/session HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{",
    ],
)
def test_a_request_that_does_not_arrive_is_ended(sent, monkeypatch):
    monkeypatch.setattr(TimedProtocol, "request_seconds", 0.2)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        while scope["type"] == "http" and (await receive())["type"] != "http.disconnect":
            pass

    with served(app, http=TimedProtocol) as address:
        url = httpx.URL(address)
        with socket.create_connection((url.host, url.port), timeout=60) as connection:
            connection.sendall(sent)
            assert connection.recv(100) == b""


def test_a_whole_request_may_take_longer_to_be_answered():
    arrived, release = threading.Event(), threading.Event()

    class Watched(TimedProtocol):
        def stop_deadline(self) -> None:
            super().stop_deadline()
            arrived.set()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await asyncio.to_thread(release.wait, 60)
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"done"})

    with served(app, http=Watched) as address, ThreadPoolExecutor(1) as threads:
        answer = threads.submit(httpx.get, address, timeout=60)
        assert arrived.wait(60)  # while the app still works
        release.set()
        assert answer.result().text == "done"
