"""Whole programs over logins that have a role and nothing else."""

from pathlib import Path

import psycopg
import pytest

import lonnymq
from acceptance.worker.programs import program
from commands import run
from database.security.logins import Login
from support import eventually

TO_LOOK = (
    ("status",), ("watch", "--count", "1"), ("channel", "list"), ("channel", "show", "acme"),
    ("message", "peek", "acme"), ("message", "explain", "1"), ("dead", "list"), ("schedule", "list"), ("role", "list"),
)  # fmt: skip
TO_ACT = (
    ("channel", "set", "acme", "--weight", "2"), ("channel", "pause", "acme"), ("channel", "resume", "acme"),
    ("message", "create", "acme", "x"), ("message", "purge", "acme", "--yes"),
)  # fmt: skip


def test_a_worker_needs_the_consumers_role_and_no_more(login: Login, root, tmp_path: Path) -> None:
    with (
        lonnymq.Queue(login("a_producer")) as producer,
        program(login("a_consumer"), tmp_path, schedules=1) as worker,
    ):
        for number in range(20):
            producer.create(f"channel {number}", b"x", kind="short")
        worker.noted("short", 20)
        advanced = "select count(*) from lonnymq.schedule where answer is not null"
        eventually(lambda: root.execute(advanced).fetchone() == (1,), within=60)
        worker.tell()
        assert worker.ends() == 0
        assert "permission denied" not in worker.errors.read_text()
    assert root.execute("select count(*) from lonnymq.worker").fetchone() == (0,)


@pytest.mark.parametrize("role", ["viewer", "admin"])
def test_the_commands_that_look_work_for_viewers_and_admins(login: Login, root, role: str) -> None:
    root.execute(
        "select lonnymq.message_create('acme', 'x'); select lonnymq.channel_set('acme', '{}')"
    )
    ran = {words: run(*words, dsn=login(f"a_{role}")) for words in TO_LOOK}
    assert {words: each.err for words, each in ran.items() if each.code != 0} == {}


def test_the_commands_that_act_work_for_admins_only(login: Login, root) -> None:
    ran = {words: run(*words, dsn=login("a_admin")) for words in TO_ACT}
    assert {words: each.err for words, each in ran.items() if each.code != 0} == {}
    for words in TO_ACT:
        rejected = run(*words, dsn=login("a_viewer"))
        assert rejected.code == 1
        assert "The server rejected your user: permission denied for function" in rejected.err


def test_a_listener_needs_no_privilege_and_hears_nothing_but_that_there_is_something(
    login: Login, root
) -> None:
    with psycopg.connect(login("stranger"), autocommit=True) as stranger:
        stranger.execute("listen lonnymq")
        root.execute("select lonnymq.message_create('acme', 'secret', p_kind => 'secret')")
        [heard] = stranger.notifies(timeout=30, stop_after=1)
        assert (heard.channel, heard.payload) == ("lonnymq", "")
