"""Secrets that were planted, a password and payloads, are in no log and in no answer that does not show payloads."""

import logging
from pathlib import Path

import httpx
import psycopg
import pytest

import lonnymq
from acceptance.cli.test_dashboard import dashboard
from acceptance.security.secure_server import PASSWORD, SecureServer
from acceptance.worker.programs import program
from commands import run
from lonnymq import NewMessage
from lonnymq.doctor import run_checks
from lonnymq.errors import LonnyMQError
from support import eventually, message_id

PAYLOAD = "payload-canary-0815"
HEADER = {"trace": "header-canary-0816"}
SECRETS = (PAYLOAD, "header-canary-0816", PASSWORD, "Pass-canary")
SHOWS_NO_PAYLOAD = (
    ("status",), ("status", "--json"), ("watch", "--count", "1"), ("watch", "--count", "1", "--json"),
    ("channel", "list"), ("channel", "show", "acme"), ("message", "explain", "{id}"), ("doctor",),
    ("doctor", "--json"), ("schedule", "list"), ("install",), ("sql",), ("message", "cancel", "{id}"),
    ("message", "create", "acme", "x", "--kind", "y" * 300), ("dead", "list"),
    ("dead", "redrive", "99999999"), ("worker", "nowhere:worker"), ("channel", "set", "acme", "--weight", "0"),
)  # fmt: skip
MISUSES = {
    "a key that is taken in a bulk load": lambda queue: queue.copy(
        [NewMessage(PAYLOAD.encode(), channel="acme", key="same", headers=HEADER)] * 2
    ),
    "a kind that is too long": lambda queue: queue.create("acme", PAYLOAD.encode(), kind="k" * 256),
    "headers that are too large": lambda queue: queue.create(
        "acme", b"x", headers={"trace": HEADER["trace"] * 2000}
    ),
    "text for bytes": lambda queue: queue.create("acme", PAYLOAD),
    "headers that are no JSON": lambda queue: queue.create("acme", b"x", headers={"trace": {HEADER["trace"]}}),
}  # fmt: skip


def leaks(text: str) -> list[str]:
    return [secret for secret in SECRETS if secret in text]


@pytest.fixture(scope="module")
def planted(fort: SecureServer) -> int:
    """A message with secrets in it; some that are dead too."""
    with lonnymq.Queue(fort.dsn()) as queue:
        queue.create("done for", PAYLOAD.encode(), headers=HEADER, kind="short")
        queue.dequeue()[0].fail("it broke", dead=True)
        return message_id(queue.create("acme", PAYLOAD.encode(), headers=HEADER, kind="short"))


def test_no_command_tells_a_secret_that_was_not_asked_for(
    fort: SecureServer, planted: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    results = {}
    for command in SHOWS_NO_PAYLOAD:
        words = [word.replace("{id}", str(planted)) for word in command]
        ran = run(*words, "--dsn", fort.dsn())
        assert ran.code in (0, 1, 2), (command, ran)
        results[command] = leaks(ran.out + ran.err)
    assert {command: found for command, found in results.items() if found} == {}
    assert leaks(caplog.text) == []


@pytest.mark.parametrize("misuse", MISUSES)
def test_an_error_says_what_is_wrong_without_the_secret(
    fort: SecureServer, misuse: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with lonnymq.Queue(fort.dsn()) as queue, pytest.raises((LonnyMQError, psycopg.Error)) as caught:
        MISUSES[misuse](queue)
    assert leaks(str(caught.value) + caplog.text) == []


def test_a_worker_logs_no_secret(fort: SecureServer, tmp_path: Path) -> None:
    with lonnymq.Queue(fort.dsn()) as queue, program(fort.dsn(), tmp_path) as worker:
        for kind in ("short", "gate", "unknown kind", "tick"):
            queue.create("of worker", PAYLOAD.encode(), kind=kind, headers=HEADER, key=f"a {kind}")
        worker.noted("short")
        worker.noted("began")
        with psycopg.connect(fort.root, autocommit=True) as root:
            root.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'lonnymq worker'"
            )
        worker.logged("unreachable")
        worker.logged("reachable again")
        worker.tell()
        worker.logged(" stopping, ")
        worker.tell()  # at once: one of them never ends
        assert worker.ends() in (0, 1)
        assert leaks(worker.errors.read_text()) == []
        queue.purge("of worker")


def test_the_page_logs_no_secret_and_shows_payloads_only_where_one_is_asked_for(
    fort: SecureServer, planted: int, tmp_path: Path
) -> None:
    with dashboard(tmp_path, dsn=fort.dsn()) as page:
        api = f"{page.address}api/queues/lonnymq"
        looks = ("overview", "channels", "channels/acme", "dead/groups", "workers", "nowhere")
        shown = {path: httpx.get(f"{api}/{path}").text for path in looks}
        for path in ("metrics", "api/session"):
            shown[path] = httpx.get(f"{page.address}{path}").text
        with psycopg.connect(fort.root, autocommit=True) as root:
            root.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'lonnymq dashboard'"
            )
        asked = httpx.get(f"{api}/messages/{planted}")
        httpx.get(f"{api}/messages/{PAYLOAD}")
        assert asked.status_code in (200, 503)  # its connection was just cut
    assert {path: found for path, text in shown.items() if (found := leaks(text))} == {}
    assert leaks(page.output().replace(f"messages/{PAYLOAD}", "")) == []


def test_the_doctor_and_an_explanation_tell_no_secret(fort: SecureServer, planted: int) -> None:
    assert leaks(str(run_checks(fort.dsn()))) == []
    with lonnymq.Queue(fort.dsn()) as queue:
        assert leaks(str(queue.explain(planted))) == []


def test_plans_that_the_server_shows_have_no_payload(fort: SecureServer) -> None:
    """EXPLAIN of a call shows the call, whose values are parameters."""
    with psycopg.connect(fort.dsn()) as connection:
        connection.execute("prepare one (bytea) as select lonnymq.message_create('acme', $1)")
        connection.execute("set plan_cache_mode = force_generic_plan")
        plan = connection.execute(f"explain (verbose) execute one('{PAYLOAD}')").fetchall()
    assert leaks(str(plan)) == []


def test_the_servers_log_has_no_secret_and_would_have_shown_one(
    fort: SecureServer, planted: int
) -> None:
    with lonnymq.Queue(fort.dsn()) as queue:
        for misuse in MISUSES.values():
            with pytest.raises((LonnyMQError, psycopg.Error)):
                misuse(queue)
    assert leaks(fort.log) == []
    with psycopg.connect(fort.root) as root, pytest.raises(psycopg.Error):
        root.execute("select 1 / 0 as sentinel")
    eventually(lambda: "sentinel" in fort.log)
    assert "duplicate key" in fort.log
