"""`lonnymq watch`: the live screen in a terminal, one picture without one, and a stream for programs."""

import json
import os
import signal
import subprocess

import pytest

import lonnymq
from commands import PROGRAM, environment, process, run, terminal
from lonnymq.embedded_postgres import temporary
from lonnymq.testing import run as execute
from support import eventually


@pytest.fixture
def queue(dsn_18: str):
    with lonnymq.Queue(dsn_18) as queue:
        queue.channel("acme").set(max_concurrency=1)
        queue.channel("slow").set(min_interval_ms=60_000)
        for channel, many in (("acme", 5), ("slow", 3), ("bloom", 9)):
            queue.channel(channel).create_many([b"x"] * many)
        while queue.dequeue(lease_ms=3_600_000):
            pass
        queue.channel("bloom").create_many([b"x"] * 2)
        yield queue


def test_the_screen_shows_channels_and_why_they_are_held_back(
    queue: lonnymq.Queue, dsn_18: str
) -> None:
    with terminal("watch", dsn=dsn_18, columns=140) as shown:
        text = shown.sees("1 of 1 running")
        assert ", 1 per 1 min" in text
        assert "limits" in text
        assert "6 waiting" not in text
        shown.send("q")
        assert shown.ends() == 0
        assert shown.is_as_before()
    assert b"\x1b[?1049h" in shown.raw  # the screen was taken
    assert shown.raw.rindex(b"\x1b[?1049l") > shown.raw.rindex(b"\x1b[?1049h")  # and given back


def test_the_screen_follows_the_queue(queue: lonnymq.Queue, dsn_18: str) -> None:
    with terminal("watch", "--interval", "100ms", dsn=dsn_18) as shown:
        shown.sees("bloom")
        queue.channel("newcomer").create(b"x")
        shown.sees("newcomer")
        shown.send("q")
        assert shown.ends() == 0


def test_keys_change_the_order_and_turn_pages(queue: lonnymq.Queue, dsn_18: str) -> None:
    with terminal("watch", "--limit", 1, dsn=dsn_18) as shown:
        shown.sees("page 1 of 3, by waiting")
        shown.send("n")
        shown.sees("page 2 of 3")
        shown.send("s")
        shown.sees("page 1 of 3, by running")
        shown.send(" ")
        shown.sees("frozen")
        shown.send("\x1b")
        assert shown.ends() == 0


@pytest.mark.parametrize("columns", [30, 45, 60, 80, 100, 200])
def test_no_line_is_wider_than_the_terminal(
    queue: lonnymq.Queue, dsn_18: str, columns: int
) -> None:
    with terminal("watch", "--count", 1, dsn=dsn_18, columns=columns, lines=16) as shown:
        assert shown.ends() == 0
        eventually(lambda: b"\x1b[?1049l" in shown.raw)
    lines = shown.text.splitlines()
    assert max(map(len, lines)) <= columns
    assert len([line for line in lines if line.strip()]) <= 16
    assert any("bloom" in line for line in lines)


@pytest.mark.parametrize("how", ["ctrl-c", "SIGTERM"])
def test_it_can_be_stopped_at_any_time(queue: lonnymq.Queue, dsn_18: str, how: str) -> None:
    with terminal("watch", dsn=dsn_18) as shown:
        shown.sees("bloom")
        if how == "ctrl-c":
            os.kill(shown.process.pid, signal.SIGINT)
            assert shown.ends() == 130
            assert "Traceback" not in shown.text
            assert shown.is_as_before()
        else:
            shown.process.terminate()
            assert shown.ends() == 143
            assert shown.is_as_before()


def test_a_server_that_goes_away_is_waited_for() -> None:
    with temporary() as server:
        with lonnymq.Queue(server.dsn) as queue:
            queue.install()
            queue.channel("acme").create(b"x")
        with terminal("watch", "--interval", "100ms", dsn=server.dsn, columns=140) as shown:
            shown.sees("acme")
            server.stop("immediate")
            shown.sees("server unreachable, retrying")
            server.start()
            with lonnymq.Queue(server.dsn) as queue:
                queue.channel("after").create(b"x")
            shown.sees("after")
            shown.send("q")
            assert shown.ends() == 0


def test_without_a_terminal_one_picture_is_printed(queue: lonnymq.Queue, dsn_18: str) -> None:
    ran = process("watch", dsn=dsn_18)
    assert ran.code == 0
    assert "1 of 1 running" in ran.out
    assert "\x1b" not in ran.out


def test_only_the_channels_that_are_named_are_shown(queue: lonnymq.Queue, dsn_18: str) -> None:
    ran = run("watch", "slow", dsn=dsn_18)
    assert "slow" in ran.out
    assert "bloom" not in ran.out


@pytest.mark.parametrize(
    ("sort", "first"),
    [("waiting", "acme"), ("running", "bloom"), ("name", "acme"), ("state", "slow")],
)
def test_the_order_can_be_chosen(queue: lonnymq.Queue, dsn_18: str, sort: str, first: str) -> None:
    ran = run("watch", "--json", "--count", 1, "--sort", sort, dsn=dsn_18)
    assert ran.json["channels"][0]["channel"] == first


def test_programs_get_a_document_a_look_until_they_have_enough(
    queue: lonnymq.Queue, dsn_18: str
) -> None:
    command = [*PROGRAM, "watch", "--json", "--interval", "100ms"]
    with subprocess.Popen(
        command, env=environment(dsn_18), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as stream:
        assert stream.stdout
        documents = [json.loads(stream.stdout.readline()) for _ in range(3)]
        stream.send_signal(signal.SIGINT)
        _, errors = stream.communicate(timeout=90)
    assert {frozenset(each) for each in documents} == {frozenset({"queue", "channels", "workers"})}
    assert (stream.returncode, errors) == (130, "")


def test_an_empty_queue_is_shown_too(dsn_18: str) -> None:
    execute(dsn_18, "select lonnymq.queue_maintain()")
    assert "No active channels." in run("watch", dsn=dsn_18).out


def test_an_interval_that_makes_no_sense_is_refused(dsn_18: str) -> None:
    assert run("watch", "--interval", "often", dsn=dsn_18).code == 2
