"""The pytest plugin, as a project that uses it would."""

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from lonnymq import Queue
from lonnymq.testing import Clock


def test_a_queue_of_ones_own_is_empty_and_works(lonnymq_queue: Queue) -> None:
    lonnymq_queue.create("acme", b"hello")
    [message] = lonnymq_queue.dequeue()
    assert message.content == b"hello"
    assert message.complete() == "completed"


def test_the_next_test_sees_nothing_of_it(lonnymq_queue: Queue) -> None:
    assert not lonnymq_queue.dequeue()
    assert lonnymq_queue.peek("acme") == []


def test_in_an_hour_takes_a_millisecond(lonnymq_queue: Queue, lonnymq_clock: Clock) -> None:
    lonnymq_queue.create("acme", b"later", delay_ms=timedelta(hours=1))
    lonnymq_clock.advance(timedelta(minutes=59))
    assert not lonnymq_queue.dequeue()
    lonnymq_clock.advance(60_000)
    assert [message.content for message in lonnymq_queue.dequeue()] == [b"later"]


def test_the_clock_stands_where_it_was_set(lonnymq_queue: Queue, lonnymq_clock: Clock) -> None:
    lonnymq_clock.set(datetime(2030, 1, 1, tzinfo=UTC))
    assert lonnymq_clock.now() == lonnymq_queue.epoch() == 1_893_456_000_000


def test_an_empty_batch_says_when_to_look_again(lonnymq_queue: Queue, lonnymq_clock: Clock) -> None:
    lonnymq_clock.set(1_000)
    lonnymq_queue.create("acme", b"later", delay_ms=500)
    lonnymq_queue.dequeue()
    lonnymq_clock.set(1_499)
    batch = lonnymq_queue.dequeue()
    assert (batch.reason, batch.retry_at) == ("empty", 1_500)
    assert (batch.now_at, batch.retry_in_ms) == (1_499, 1)


PROJECT = """
def test_first(lonnymq_queue, lonnymq_clock):
    lonnymq_queue.create("acme", b"", delay_ms=5)
    lonnymq_clock.advance(5)
    assert len(lonnymq_queue.dequeue()) == 1


def test_second(lonnymq_queue, lonnymq_server):
    assert lonnymq_queue.stats().waiting == 0
    print("server", lonnymq_server.dsn)
"""


@pytest.mark.parametrize("is_uri", [True, False])
def test_the_fixtures_use_an_existing_server_and_leave_nothing_there(
    dsn_18: str, tmp_path: Path, is_uri: bool
) -> None:
    dsn = dsn_18 if is_uri else make_conninfo("", **conninfo_to_dict(dsn_18))
    (tmp_path / "test_project.py").write_text(PROJECT)
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", "."],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"LONNYMQ_DSN": dsn},
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert f"server {dsn}" in ran.stdout
    with psycopg.connect(dsn) as connection:
        names = connection.execute("select datname from pg_database").fetchall()
    assert not [name for (name,) in names if name.startswith("lonnymq_template_")]
