"""A consumer that stops to read in the middle of a dequeue keeps what everybody needs: it is ended."""

import os

import psycopg
import pytest

from lonnymq import NewMessage, Queue
from support import eventually

MEBIBYTE = 1 << 20


@pytest.fixture
def queue(dsn: str):
    with Queue(dsn) as queue:
        yield queue


@pytest.fixture
def waiting(queue: Queue, direct_dsn: str, connect) -> psycopg.Connection:
    """A consumer that has asked for four mebibytes and reads none of them; the watcher of its session."""
    queue.create_many([NewMessage(os.urandom(MEBIBYTE), f"big-{number}") for number in range(4)])
    stopped = connect(direct_dsn)
    stopped.pgconn.send_query(b"select * from lonnymq.message_dequeue(10)")
    watcher = connect(direct_dsn)
    waits = "select count(*) from pg_stat_activity where pid = %s and wait_event = 'ClientWrite'"
    eventually(lambda: watcher.execute(waits, (stopped.info.backend_pid,)).fetchone() == (1,))
    return watcher


def test_a_consumer_that_stopped_to_read_is_ended_and_its_messages_are_there(
    queue: Queue, waiting: psycopg.Connection
) -> None:
    queue.create("small", b"x")
    assert queue.dequeue().reason == "contended"
    assert waiting.execute("select lonnymq.consumer_terminate_stuck('0 seconds')").fetchone() == (
        1,
    )
    assert len(eventually(lambda: queue.dequeue(limit=20))) == 5
    assert queue.check() == []


def test_a_consumer_that_is_only_slow_is_let_be(queue: Queue, waiting: psycopg.Connection) -> None:
    assert waiting.execute("select lonnymq.consumer_terminate_stuck()").fetchone() == (0,)
    queue.maintain()
    waits = "select count(*) from pg_stat_activity where wait_event = 'ClientWrite' and datname = current_database()"
    assert waiting.execute(waits).fetchone() == (1,)


def test_a_session_that_reads_something_else_slowly_is_let_be(
    direct_dsn: str, connect, dsn: str
) -> None:
    slow, watcher = connect(direct_dsn), connect(direct_dsn)
    slow.pgconn.send_query(b"select repeat('x', 1000000) from generate_series(1, 20)")
    waits = "select count(*) from pg_stat_activity where pid = %s and wait_event = 'ClientWrite'"
    eventually(lambda: watcher.execute(waits, (slow.info.backend_pid,)).fetchone() == (1,))
    assert watcher.execute("select lonnymq.consumer_terminate_stuck('0 seconds')").fetchone() == (
        0,
    )
