"""queue_metrics: counted where that is cheap, estimated near the truth where it is not, and said so."""

from typing import Any

import psycopg
import pytest

from lonnymq import Queue


def figures(connection: psycopg.Connection) -> dict[str, Any]:
    cursor = connection.cursor(row_factory=psycopg.rows.dict_row)
    row = cursor.execute("select * from lonnymq.queue_metrics()").fetchone()
    assert row is not None
    return row


@pytest.fixture
def queue(dsn):
    with Queue(dsn) as queue:
        yield queue


def test_an_empty_queue_has_nothing(connection):
    seen = figures(connection)
    assert (seen["waiting"], seen["running"], seen["dead"], seen["ready"]) == (0, 0, 0, 0)
    assert (seen["oldest_at"], seen["next_at"], seen["last_id"]) == (None, None, 0)
    assert all(seen[word] for word in seen if word.endswith("is_exact"))


def test_what_waits_what_runs_and_what_is_due_is_counted(connection, queue):
    queue.create_many([b"x"] * 7, channel="acme")
    queue.create("later", b"x", delay_ms=3_600_000)
    queue.worker_seen("w", concurrency=10, running=2, stopping=False)
    assert len(queue.dequeue(3)) == 3
    seen = figures(connection)
    assert (seen["waiting"], seen["running"], seen["channels"]) == (5, 3, 2)
    assert (seen["workers"], seen["last_id"], seen["ready"]) == (1, 8, 1)
    assert seen["oldest_at"] <= seen["now_at"] < seen["next_at"]


def test_many_leases_of_a_small_queue_are_counted(connection, queue):
    queue.create_many([b"x"] * 2000, channel="acme")
    for _ in range(20):
        batch = queue.dequeue(100)
        queue.complete_many(list(batch)[:50])
    seen = figures(connection)
    assert (seen["running"], seen["running_is_exact"]) == (1000, True)


def test_the_queues_own_count_is_taken_where_it_has_a_limit(connection, queue):
    queue.set(max_concurrency=5000)
    queue.create_many([b"x"] * 700, channel="acme")
    assert len(queue.dequeue(700)) == 700
    seen = figures(connection)
    assert (seen["running"], seen["in_flight"], seen["max_concurrency"]) == (700, 700, 5000)


def test_the_oldest_is_found_though_nobody_has_dequeued_yet(connection, queue):
    queue.create("acme", b"x")
    (message,) = queue.peek("acme")
    seen = figures(connection)
    assert message.created_at - 1000 <= seen["oldest_at"] <= seen["now_at"]
    assert seen["ready"] == 0


def test_the_oldest_is_found_in_channels_that_are_held_as_well(connection, queue):
    queue.channel("narrow").set(max_concurrency=1)
    queue.create_many([b"x", b"y"], channel="narrow")
    assert len(queue.dequeue()) == 1
    assert len(queue.dequeue()) == 0
    created = queue.peek("narrow", limit=2)[1].created_at
    assert figures(connection)["oldest_at"] >= created - 1000
    assert figures(connection)["ready"] == 0


def test_channels_that_no_fold_has_seen_are_counted(connection, queue):
    for name in ("a", "b", "b"):
        queue.create(name, b"x")
    seen = connection.execute(
        "select channels, channels_is_exact from lonnymq.queue_metrics()"
    ).fetchone()
    assert seen == (2, True)
    queue.dequeue(1)  # folds
    queue.create("c", b"x")
    seen = connection.execute(
        "select channels, channels_is_exact from lonnymq.queue_metrics()"
    ).fetchone()
    assert seen == (3, True)
