"""sample_take and sample_list: how the queue stood, and what became of how many; each attempt is counted once."""

import threading
from typing import Any

import psycopg
import pytest

from lonnymq import Queue
from lonnymq.testing import run
from server_copies import dump, restore
from support import Target, eventually, waits_for_a_lock

NOW = 4_102_444_800_000  # the year 2100: after whatever the queue's own clock says


def take(connection: psycopg.Connection, at: int) -> None:
    connection.execute("select lonnymq.sample_take(%s)", (at,))


def samples(
    connection: psycopg.Connection, step: int = 1000, start: int = 0
) -> list[dict[str, Any]]:
    cursor = connection.cursor(row_factory=psycopg.rows.dict_row)
    return cursor.execute("select * from lonnymq.sample_list(%s, %s)", (start, step)).fetchall()


@pytest.fixture
def queue(dsn):
    with Queue(dsn) as queue:
        yield queue


def settle(queue: Queue, completed: int, failed: int = 0) -> None:
    queue.create_many([b"x"] * (completed + failed), channel="acme")
    batch = list(queue.dequeue(completed + failed))
    for at, message in enumerate(batch):
        if at < completed:
            queue.complete(message)
        else:
            queue.fail(message, error="no", dead=True)


def test_a_sample_has_what_became_of_messages_since_the_one_before(connection, queue):
    settle(queue, 5)
    take(connection, NOW)
    settle(queue, 3, failed=2)
    queue.create_many([b"done", b"waits"], channel="acme")
    [done] = queue.dequeue()  # by which the engine knows of both
    done.complete()
    take(connection, NOW + 10_000)
    take(connection, NOW + 20_000)
    first, second, third = samples(connection)
    assert (first["created"], first["completed"]) == (0, 0)  # since nobody knows when
    assert first["oldest_ms"] is None
    assert second["oldest_ms"] > 0
    assert (second["created"], second["completed"], second["died"]) == (7, 4, 2)
    assert (second["waiting"], second["dead"]) == (1, 2)
    assert (third["created"], third["completed"], third["died"]) == (0, 0, 0)


def test_samples_are_five_seconds_apart_whoever_takes_them(connection, queue):
    for at in (0, 1, 4_999, 5_000, 9_999, 10_000):
        take(connection, NOW + at)
    assert [each["at"] - NOW for each in samples(connection)] == [0, 5_000, 10_000]


def test_what_commits_after_a_sample_is_in_the_next_one_and_only_there(
    connect, dsn, direct_dsn, connection, queue
):
    """A settlement that is open while a sample is taken has a lower transaction id than later ones."""
    queue.create("acme", b"x")
    (message,) = queue.dequeue()
    slow = connect(direct_dsn, autocommit=False)
    slow.execute("select lonnymq.message_complete(%s, %s)", (message.id, message.token))
    settle(queue, 2)
    take(connection, NOW)
    settle(queue, 4)
    take(connection, NOW + 10_000)
    slow.commit()
    take(connection, NOW + 20_000)
    take(connection, NOW + 30_000)
    assert [each["completed"] for each in samples(connection)] == [0, 4, 1, 0]


def test_two_samplers_at_once_are_one(connect, direct_dsn):
    holder, other = connect(direct_dsn, autocommit=False), connect(direct_dsn)
    take(holder, NOW)
    pid = other.info.backend_pid
    thread = threading.Thread(target=take, args=(other, NOW + 1))
    thread.start()
    thread.join(30)
    assert not thread.is_alive(), waits_for_a_lock(holder, pid)
    holder.commit()
    assert len(samples(other)) == 1


def test_a_sweep_takes_a_sample(connection, queue):
    queue.maintain()
    queue.maintain()
    assert len(samples(connection)) == 1


def test_after_a_long_pause_nothing_is_counted_and_old_samples_are_gone(connection, queue):
    take(connection, NOW)
    settle(queue, 2)
    take(connection, NOW + 300_001)
    assert [each["completed"] for each in samples(connection)] == [0, 0]
    take(connection, NOW + 90_000_000 + 100_000)
    assert [each["at"] - NOW for each in samples(connection)] == [300_000, 90_100_000]


def test_a_clock_that_was_set_back_leaves_no_samples_of_the_future_and_counts_nothing_twice(
    connection, queue
):
    take(connection, NOW)
    settle(queue, 1)
    take(connection, NOW + 10_000)
    settle(queue, 2)
    take(connection, NOW + 2_000)
    take(connection, NOW + 12_000)
    assert [(each["at"] - NOW, each["completed"]) for each in samples(connection)] == [
        (0, 0),
        (2_000, 2),
        (12_000, 0),
    ]


def test_samples_are_put_together_in_steps(connection, queue):
    start = NOW // 300_000 * 300_000
    for at in range(0, 60_000, 10_000):
        settle(queue, 1)
        take(connection, start + at)
    (point,) = samples(connection, step=300_000)
    assert (point["at"], point["completed"], point["created"]) == (start, 5, 5)
    assert samples(connection, step=300_000, start=start + 60_000) == []


def test_attempts_are_counted_without_history_too_as_none(connection, queue):
    queue.set(history="off")
    take(connection, NOW)
    settle(queue, 2)
    take(connection, NOW + 10_000)
    assert [(each["created"], each["completed"]) for each in samples(connection)] == [
        (0, 0),
        (2, 0),
    ]


def test_the_figures_follow_the_statistics_where_a_table_is_large(connection, queue):
    queue.create_many([b"x"] * 50, channel="acme")
    exact = connection.execute("select * from lonnymq.table_metric('lonnymq.message', 300)")
    assert exact.fetchone() == (50, True)

    def estimated():
        row = connection.execute("select * from lonnymq.table_metric('lonnymq.message', 0)")
        return row.fetchone() == (50, False)

    connection.execute("analyze lonnymq.message")
    eventually(estimated)


def of_channel(
    connection: psycopg.Connection, channel: str, step: int = 60_000
) -> list[dict[str, Any]]:
    cursor = connection.cursor(row_factory=psycopg.rows.dict_row)
    query = "select * from lonnymq.channel_sample_list(%s, 0, %s)"
    return cursor.execute(query, (channel, step)).fetchall()


def test_channels_are_told_apart_by_the_minute(connection, queue):
    start = NOW // 60_000 * 60_000
    take(connection, start)
    for at in (10_000, 20_000, 70_000):
        settle(queue, 2, failed=1)
        take(connection, start + at)
    seen = of_channel(connection, "acme")
    assert [(each["at"] - start, each["completed"], each["died"]) for each in seen] == [
        (0, 4, 2),
        (60_000, 2, 1),
    ]
    assert all(each["all_channels"] for each in seen)
    assert seen[0]["from_at"] == start
    (whole,) = of_channel(connection, "acme", 86_400_000)
    assert (whole["completed"], whole["died"]) == (6, 3)
    (other,) = of_channel(connection, "nobody")
    assert (other["at"], other["all_channels"]) == (None, True)


def test_where_more_channels_were_at_work_than_are_told_apart_it_is_said(connection, queue):
    take(connection, NOW)
    for number in range(101):
        queue.create(f"tenant {number}", b"x")
    queue.create("tenant 7", b"x")
    for _ in range(102):
        queue.complete_many(list(queue.dequeue(10)))
    take(connection, NOW + 10_000)
    (seen,) = of_channel(connection, "tenant 7")
    assert (seen["completed"], seen["all_channels"]) == (2, False)
    kept = connection.execute("select count(*) from lonnymq.channel_sample").fetchone()
    assert kept == (100,)
    take(connection, NOW + 90_100_000)
    assert connection.execute("select count(*) from lonnymq.channel_sample").fetchone() == (0,)


def test_without_samples_nothing_is_known(connection):
    (seen,) = of_channel(connection, "acme")
    assert (seen["at"], seen["all_channels"], seen["from_at"]) == (None, False, None)


def test_attempts_of_the_older_cluster_are_counted_once_after_a_restore(
    dsn_18: str, server_18: Target, connect
) -> None:
    with Queue(dsn_18) as source, server_18.database() as (target, _):
        before = connect(dsn_18)
        take(before, NOW)
        settle(source, 30)
        run(target, "drop schema lonnymq cascade")
        restore(dump(dsn_18, "--schema", "lonnymq"), target)
        after = connect(target)
        with Queue(target) as restored:
            take(after, NOW + 10_000)
            take(after, NOW + 20_000)
            settle(restored, 2)
            take(after, NOW + 30_000)
            take(after, NOW + 40_000)
        assert [each["completed"] for each in samples(after)] == [0, 30, 0, 2, 0]
