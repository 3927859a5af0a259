"""queue_attention, attempt_stats, attempt_totals: the tenants in trouble are found among any number of others."""

import psycopg
import pytest

from database.plans.large_queue import add_messages, count_pages, disable_autovacuum, fold
from lonnymq import Queue
from support import Target

MINUTE = 60_000


@pytest.fixture
def queue(dsn):
    with Queue(dsn) as queue:
        queue.worker_seen("w1", concurrency=1)
        yield queue


def sample(connection: psycopg.Connection, ago_ms: int = 0) -> None:
    connection.execute("select lonnymq.sample_take(lonnymq.epoch() - %s)", (ago_ms,))


def settle(queue: Queue, channel: str, completed: int, failed: int, **options: object) -> None:
    queue.create_many([b"x"] * (completed + failed), channel=channel)
    for at, message in enumerate(queue.dequeue(completed + failed)):
        if at < completed:
            message.complete()
        else:
            message.fail("ValueError: no", **options)  # type: ignore[arg-type]  # passed on


def needs(queue: Queue, **options: int) -> dict[str | None, tuple[str, int | None]]:
    return {each.channel: (each.reason, each.figure) for each in queue.attention(**options)}


def test_a_quiet_queue_needs_no_attention(queue):
    settle(queue, "acme", 3, 0)
    assert queue.attention() == []


def test_a_tenant_of_whose_attempts_many_fail_is_named_with_the_share(connection, queue):
    sample(connection, 10_000)
    settle(queue, "half", 6, 6, retry_ms=9 * MINUTE)
    settle(queue, "well", 100, 5, retry_ms=9 * MINUTE)
    settle(queue, "few", 0, 4, retry_ms=9 * MINUTE)
    sample(connection)
    (found,) = queue.attention()
    assert (found.channel, found.reason, found.figure, found.total) == ("half", "failing", 6, 12)
    assert found.explanation == "6 of 12 attempts failed in the last 10 minutes."
    assert needs(queue, failing_percent=3).keys() == {"half", "well"}


def test_dead_messages_that_are_new_need_attention_and_old_ones_do_not(connection, queue):
    sample(connection, 10_000)
    settle(queue, "acme", 20, 1, dead=True)
    sample(connection)
    assert needs(queue) == {"acme": ("dying", 1)}
    connection.execute("update lonnymq.channel_total set window_at = window_at - 600000")
    assert needs(queue) == {}


def test_the_window_moves_with_the_time(connection, queue):
    start = 4_102_444_800_000
    for step in range(4):
        connection.execute("select lonnymq.sample_take(%s)", (start + step * 250_000,))
        settle(queue, "acme", 1, 0)
    read = "select completed from lonnymq.channel_recent('acme', %s)"
    seen = [
        connection.execute(read, (start + at,)).fetchone() for at in (750_000, 900_000, 1_300_000)
    ]
    assert seen == [(2,), (1,), (0,)]


def test_held_channels_with_late_messages_are_named_with_what_holds_them(connection, queue):
    queue.channel_set("narrow", max_concurrency=1)
    queue.channel_set("slow", min_interval_ms=3_600_000)
    for name in ("narrow", "slow", "stopped"):
        queue.create_many([b"x"] * 3, channel=name)
    queue.channel_pause("stopped")
    assert len(queue.dequeue(10, lease_ms=9 * MINUTE)) == 2
    queue.dequeue(1)
    queue.create("late", b"x")
    assert needs(queue) == {"stopped": ("paused", 3)}
    assert needs(queue, target_ms=0) | {"late": ("old", 1)} == {
        "stopped": ("paused", 3),
        "narrow": ("saturated", 2),
        "slow": ("throttled", 2),
        "late": ("old", 1),
    }


def test_a_queue_without_workers_says_so_once_messages_wait(dsn):
    with Queue(dsn) as queue:
        assert queue.attention() == []
        queue.create("acme", b"x")
        (found,) = queue.attention()
        assert (found.reason, found.channel, found.advice) == (
            "no_workers",
            None,
            "Start a worker.",
        )


def test_counters_only_grow_and_histograms_count_every_attempt(connection, queue):
    sample(connection, 20_000)
    settle(queue, "acme", 3, 1, dead=True)
    sample(connection, 10_000)
    settle(queue, "globex", 2, 0)
    sample(connection)
    read = "select channel, completed, died, waits, runs from lonnymq.attempt_totals(array['acme', 'nobody'])"
    whole, acme = connection.execute(read).fetchall()
    assert (whole[0], whole[1], whole[2], sum(whole[3]), sum(whole[4])) == ("", 5, 1, 6, 6)
    assert acme[:3] == ("acme", 3, 1)


def test_percentiles_are_within_the_bucket_of_the_true_ones(connection, queue):
    now = queue.epoch()
    sample(connection, 10_000)
    connection.execute(
        "insert into lonnymq.history (message_id, created_at, dequeue_at, dequeued_at, finished_at, size, attempt,"
        " outcome, channel, kind) select i, %(now)s, %(now)s, %(now)s, %(now)s + i, 1, 1, 'completed', 'acme', 'job'"
        " from generate_series(1, 1000) i",
        {"now": now},
    )
    sample(connection)
    for by, name in (("channel", "acme"), ("kind", "job")):
        (stats,) = queue.attempt_stats(by, start=now - MINUTE)
        assert (stats.name, stats.completed, stats.wait_p99_ms) == (name, 1000, 1)
        assert abs(stats.run_mean_ms - 500) <= 1
        assert abs((stats.run_p50_ms or 0) - 500) <= 5
        assert abs((stats.run_p95_ms or 0) - 950) <= 5
        assert abs((stats.run_p99_ms or 0) - 990) <= 5


def test_trouble_is_found_exactly_among_many_channels_at_a_bounded_cost(server_18: Target):
    cost = []
    for channels in (2_000, 20_000):
        with server_18.database() as (dsn, _), psycopg.connect(dsn, autocommit=True) as connection:
            disable_autovacuum(connection)
            with Queue(dsn) as queue:
                queue.worker_seen("w1", concurrency=1)
                queue.channel_set("a narrow one", max_concurrency=1)
                queue.create_many([b"x"] * 2, channel="a narrow one")
                queue.dequeue(2, lease_ms=3_600_000)
                queue.dequeue(1)
                queue.create_many([b"x"] * 300, channel="the paused one")
                queue.channel_pause("the paused one")
                sample(connection, 10_000)
                settle(queue, "zz failing", 0, 9, retry_ms=3_600_000)
                sample(connection)
                now = queue.epoch()
                add_messages(connection, channels * 5, f"'tenant ' || i % {channels}", str(now))
                fold(connection)
                connection.execute("vacuum analyze")
                found = needs(queue)
                assert found["zz failing"] == ("failing", 9)
                assert found["the paused one"] == ("paused", 300)
                assert needs(queue, target_ms=1)["a narrow one"] == ("saturated", 1)
                ranked = connection.execute(
                    "select channel, figure from lonnymq.channel_rank('waiting', 1)"
                ).fetchone()
                assert ranked == ("the paused one", 300)
                cost.append(count_pages(connection, "queue_attention()", times=2))
    print(f"pages touched by queue_attention: {cost}")
    assert cost[1] <= cost[0] * 1.5 + 100
