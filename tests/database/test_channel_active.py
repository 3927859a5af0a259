"""channel_active: the channels in which something goes on, at a cost that does not grow with the others."""

import re
from typing import Any

import psycopg
import pytest

import lonnymq
from lonnymq.errors import InvalidArgument
from lonnymq.results import ChannelActivity


@pytest.fixture
def queue(dsn: str):
    with lonnymq.Queue(dsn) as queue:
        yield queue


def active(queue: lonnymq.Queue, **options) -> dict[str, ChannelActivity]:
    return {each.channel: each for each in queue.channel_active(**options)}


def test_an_empty_queue_has_none(queue: lonnymq.Queue) -> None:
    assert queue.channel_active() == []


def test_a_channel_that_no_dequeue_has_looked_at_yet_is_there(queue: lonnymq.Queue) -> None:
    queue.channel("acme").create_many([b"a", b"b"])
    assert (active(queue)["acme"].state, active(queue)["acme"].waiting) == ("ready", 2)


def test_the_settings_of_the_queue_are_no_channel(
    queue: lonnymq.Queue, connection: psycopg.Connection
) -> None:
    queue.set(default_weight=2)  # its note is folded by the next dequeue
    assert queue.channel_active() == []
    assert list(queue.channel_stats()) == []
    names = connection.execute("select channel from lonnymq.channel_names()").fetchall()
    assert names == [(None,)]
    queue.channel("acme").create(b"a")
    queue.set(max_concurrency=5)
    assert list(active(queue)) == ["acme"]
    assert [each.channel for each in queue.channel_stats()] == ["acme"]


def test_each_state_of_a_channel_is_told(queue: lonnymq.Queue) -> None:
    queue.channel("full").set(max_concurrency=1)
    queue.channel("slow").set(min_interval_ms=3_600_000)
    for channel in ("full", "slow", "busy", "held"):
        queue.channel(channel).create_many([b"1", b"2", b"3"])
    queue.channel("later").create(b"1", delay_ms=3_600_000)
    queue.dequeue(limit=3)
    queue.dequeue(limit=1)
    while queue.dequeue(limit=1, lease_ms=3_600_000):
        pass
    queue.channel("busy").create(b"4")
    queue.channel("held").create(b"4")
    queue.channel("held").pause()
    found = active(queue)
    assert {name: each.state for name, each in found.items()} == {
        "full": "saturated",
        "slow": "throttled",
        "busy": "ready",
        "held": "paused",
        "later": "scheduled",
    }
    assert (found["full"].in_flight, found["full"].waiting) == (1, 2)
    assert found["slow"].next_at is not None
    assert found["slow"].next_at > found["slow"].now_at
    assert (found["later"].scheduled, found["later"].waiting) == (1, 0)


def test_an_urgent_message_waits_since_it_was_created(queue: lonnymq.Queue) -> None:
    queue.channel("acme").create(b"urgent", dequeue_at=-1)
    seen = active(queue)["acme"]
    assert seen.waiting_since is not None
    assert 0 <= seen.now_at - seen.waiting_since < 60_000


def test_what_finished_lately_is_counted(queue: lonnymq.Queue) -> None:
    queue.channel("acme").create_many([b"x"] * 30)
    queue.complete_many(queue.dequeue(limit=30))
    assert (active(queue)["acme"].finished, active(queue)["acme"].state) == (30, "idle")


def test_without_history_nobody_knows_what_finished(queue: lonnymq.Queue) -> None:
    queue.set(history="off")
    queue.channel("acme").create(b"x")
    assert active(queue)["acme"].finished is None


def test_named_channels_are_shown_though_nothing_goes_on_in_them(queue: lonnymq.Queue) -> None:
    queue.channel("quiet").set(weight=2)
    queue.channel("loud").create(b"x")
    for _ in range(3):  # what was set is told to a dequeue, and then there is nothing to say
        queue.complete_many(queue.dequeue())
    assert list(active(queue)) == ["loud"]
    assert list(active(queue, channels=["quiet", "nobody"])) == ["quiet"]


def test_counting_stops_where_it_is_told(queue: lonnymq.Queue) -> None:
    queue.channel("acme").create_many([b"x"] * 20)
    seen = active(queue, count=10)["acme"]
    assert (seen.waiting, seen.counted_exactly) == (10, False)
    assert active(queue, count=100)["acme"].counted_exactly


@pytest.mark.parametrize("bad", [{"limit": 0}, {"limit": 1001}, {"count": 0}, {"count": 10_001}])
def test_a_limit_out_of_range_is_refused(queue: lonnymq.Queue, bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        queue.channel_active(**bad)


async def test_the_async_half_answers_the_same(queue: lonnymq.Queue, dsn: str) -> None:
    queue.channel("acme").create(b"x")
    async with lonnymq.AsyncQueue(dsn) as other:
        assert [each.channel for each in await other.channel_active()] == ["acme"]


def test_the_fullest_channels_are_found_among_many_that_are_ready(queue: lonnymq.Queue) -> None:
    queue.create_many([lonnymq.NewMessage(b"x", channel=f"tenant {i}") for i in range(400)])
    queue.channel("zeppelin").create_many([b"x"] * 300)
    queue.maintain()
    found = active(queue, limit=5)
    assert found["zeppelin"].waiting == 300
    assert len(found) < 30


def pages(connection: psycopg.Connection, statement: str) -> int:
    """How many pages a statement touches, once its caches are warm."""
    query = f"explain (analyze, buffers, costs off, timing off, summary off) {statement}"
    for _ in range(3):
        plan = "\n".join(row[0] for row in connection.execute(query.encode()))
    found = re.search(r"Buffers: shared (?:hit=(\d+))?\s*(?:read=(\d+))?", plan)
    assert found, plan
    return sum(int(each or 0) for each in found.groups())


MANY = """
insert into lonnymq.message (channel, content, dequeue_at)
select 'tenant ' || g, 'x', 1 from generate_series(1, {0}) g;
select lonnymq.message_announce(array(select 'tenant ' || g from generate_series(1, {0}) g));
"""


def test_the_cost_does_not_grow_with_the_number_of_channels(dsn_18: str, connect) -> None:
    connection = connect(dsn_18)
    costs = {}
    for channels in (2_000, 40_000):
        connection.execute(MANY.format(channels).encode())
        with lonnymq.Queue(dsn_18) as queue:
            for _ in range(4):
                queue.maintain()
        costs[channels] = pages(connection, "select from lonnymq.channel_active(50, 1000)")
    assert costs[40_000] < 3 * costs[2_000], costs
