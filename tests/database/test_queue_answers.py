"""Every method once against the shipped functions: the columns are there and the answers are the promised ones."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from lonnymq import AsyncQueue, Lease, NewMessage, Queue
from lonnymq.client.calls.queue import ChannelOptions
from lonnymq.errors import (
    AboveHorizon,
    ChannelFull,
    ChannelRetiring,
    InvalidArgument,
    LonnyMQError,
    TooLarge,
)
from lonnymq.results import Created, Dropped, Duplicate, Rejected


@pytest.fixture
def queue(dsn: str) -> Iterator[Queue]:
    with Queue(dsn) as queue:
        yield queue


def test_a_channels_life(queue: Queue) -> None:
    acme = queue.channel("acme")
    assert acme.pause() == acme.resume() == acme.retire() == "not_found"
    assert acme.stats() is None
    options: ChannelOptions = {
        "max_concurrency": 2,
        "retry_delays_ms": [timedelta(seconds=1)],
        "retry_jitter": 0.5,
    }
    assert [acme.set(**options), acme.set(**options), acme.set(weight=3)] == [
        "created",
        "unchanged",
        "changed",
    ]
    assert [acme.pause(), acme.pause(), acme.resume(), acme.resume()] == [
        "paused",
        "already_paused",
        "resumed",
        "not_paused",
    ]
    stats = acme.stats()
    assert stats is not None
    assert (stats.channel, stats.max_concurrency, stats.retry_delays_ms, stats.weight) == (
        "acme",
        2,
        [1000],
        3,
    )
    assert queue.channel_stats(limit=5) == [stats]
    acme.create(b"last")
    assert [acme.retire(), acme.retire()] == ["retiring", "already_retiring"]
    with pytest.raises(ChannelRetiring):
        acme.create(b"late")


def test_a_full_channel_refuses_or_drops_as_it_says(queue: Queue) -> None:
    acme = queue.channel("acme")
    acme.set(max_size=1)
    assert isinstance(acme.create(b"1"), Created)
    with pytest.raises(ChannelFull) as raised:
        acme.create(b"2")
    assert (raised.value.channel, raised.value.max_size) == ("acme", 1)
    assert [type(each) for each in acme.create_many([b"2"])] == [Rejected]
    acme.set(when_full="drop")
    assert isinstance(acme.create(b"2"), Dropped)
    assert [type(each) for each in acme.create_many([b"2"])] == [Dropped]


def test_names_are_unique_among_the_living(queue: Queue) -> None:
    first = queue.create("acme", b"1", key="n")
    assert isinstance(first, Created)
    assert queue.create("acme", b"2", key="n") == Duplicate(first.id)
    results = queue.create_many(
        [NewMessage(b"3", "acme", key="n"), NewMessage(b"4", "globex", key="n")]
    )
    assert results[0] == Duplicate(first.id)
    assert isinstance(results[1], Created)


def test_times_and_everything_else_come_back_as_they_went_in(queue: Queue) -> None:
    moment = datetime(2001, 1, 1, tzinfo=UTC)
    queue.create(
        "acme", bytes(range(256)), dequeue_at=moment, key="n", kind="k", headers={"ä": [1, None]}
    )
    [message] = queue.dequeue(worker="w1")
    assert (message.content, message.dequeue_at) == (bytes(range(256)), moment.timestamp() * 1000)
    assert (message.key, message.kind, message.headers, message.attempt) == (
        "n",
        "k",
        {"ä": [1, None]},
        1,
    )
    [seen] = queue.peek("acme")
    assert (seen.id, seen.leased, seen.worker, seen.headers) == (
        message.id,
        True,
        "w1",
        {"ä": [1, None]},
    )
    assert len({message}) == 1


def test_a_lease_can_be_settled_by_its_parts(queue: Queue) -> None:
    queue.create("acme", b"1")
    [message] = queue.dequeue()
    assert queue.complete(Lease(message.id, uuid4())) == "lease_lost"
    assert queue.complete(Lease(message.id, message.token)) == "completed"
    assert queue.complete(Lease(message.id, message.token)) == "not_found"


def test_batches_answer_for_each_in_the_order_given(queue: Queue) -> None:
    queue.create_many([b"1", b"2", b"3"], channel="acme")
    one, two, three = queue.dequeue(limit=3)
    stale, gone = Lease(two.id, uuid4()), Lease(10**9, uuid4())
    assert [each.answer for each in queue.heartbeat_many([gone, three, stale, one])] == [
        "not_found",
        "extended",
        "lease_lost",
        "extended",
    ]
    assert [(each.id, each.answer) for each in queue.complete_many([gone, three, stale, one])] == [
        (gone.id, "not_found"),
        (three.id, "completed"),
        (two.id, "lease_lost"),
        (one.id, "completed"),
    ]
    assert queue.complete_many([]) == []
    assert queue.create_many([], channel="acme") == []


def test_a_deferred_message_keeps_its_state_and_its_attempt(queue: Queue) -> None:
    queue.create("acme", b"1")
    queue.dequeue()[0].defer(state=b"half")
    [message] = queue.dequeue()
    assert (message.state, message.attempt) == (b"half", 1)


def test_the_dead_can_be_listed_redriven_and_purged(queue: Queue) -> None:
    queue.create_many([b"1", b"2"], channel="acme")
    assert [message.fail(ValueError("no"), dead=True) for message in queue.dequeue(limit=2)] == [
        "dead",
        "dead",
    ]
    first, second = queue.dead_list("acme")
    assert (first.content, first.error, first.headers) == (b"1", "ValueError: no", None)
    assert [each.answer for each in queue.dead_redrive([first.id, 10**9])] == [
        "redriven",
        "not_found",
    ]
    assert queue.dead_purge(channel="*") == 1
    assert queue.dead_list() == []
    with pytest.raises(InvalidArgument):
        queue.dead_purge()
    assert second.content == b"2"


def test_waiting_messages_can_be_cancelled_and_purged(queue: Queue) -> None:
    created = queue.create_many([b"1", b"2", b"3"], channel="acme")
    ids = [each.id for each in created if isinstance(each, Created)]
    assert queue.cancel(ids[0]) == "cancelled"
    assert [each.answer for each in queue.cancel_many(ids[:2])] == ["not_found", "cancelled"]
    assert queue.purge("acme") == 1
    assert queue.channel("acme").peek() == []


def test_a_message_is_explained(queue: Queue) -> None:
    result = queue.create("acme", b"1", delay_ms=timedelta(hours=1))
    assert isinstance(result, Created)
    explanation = queue.explain(result.id)
    assert explanation.answer in ("scheduled", "new")
    assert explanation.explanation
    assert queue.explain(10**9).answer == "not_found"


def test_the_queue_as_a_whole(queue: Queue) -> None:
    assert (
        queue.set(max_concurrency=5, default_weight=2, history_keep_ms=timedelta(days=2))
        == "changed"
    )
    assert queue.set(max_concurrency=5) == "unchanged"
    queue.create("acme", b"1")
    queue.dequeue()
    stats = queue.stats()
    assert (stats.max_concurrency, stats.leased, stats.history_keep_ms) == (5, 1, 172_800_000)
    assert abs(stats.now_at - queue.epoch()) < 60_000
    assert queue.maintain().expired == 0
    assert queue.check() == []
    assert queue.repair() == []


def test_history_is_read_in_slices_below_the_horizon(queue: Queue) -> None:
    queue.create("acme", b"12345", kind="k", headers={"h": 1})
    queue.dequeue(worker="w")[0].complete()
    horizon = queue.history_horizon()
    assert horizon.rows == 1
    [row] = queue.history_read(0, upto=horizon.upto)
    assert (row.channel, row.kind, row.outcome, row.size, row.worker, row.attempt) == (
        "acme",
        "k",
        "completed",
        5,
        "w",
        1,
    )
    assert row.headers == {"h": 1}
    assert 0 < row.xid < horizon.upto <= horizon.horizon
    with pytest.raises(AboveHorizon):
        queue.history_read(0, upto=horizon.horizon + 1000)
    assert queue.history_confirm("lake", upto=horizon.upto) == "confirmed"
    assert queue.history_confirm("lake", upto=0) == "behind"
    assert queue.history_prune() == 0


@pytest.mark.parametrize("limit", [-1, 0])
def test_a_limit_below_one_is_refused_by_every_function_that_takes_one(
    queue: Queue, limit: int
) -> None:
    for call in (
        lambda: queue.dequeue(limit),
        lambda: queue.peek("acme", limit=limit),
        lambda: queue.purge("acme", limit=limit),
        lambda: queue.dead_list(limit=limit),
        lambda: queue.dead_purge(channel="*", limit=limit),
        lambda: queue.dead_redrive(channel="*", limit=limit),
        lambda: queue.channel_stats(limit=limit),
        lambda: queue.maintain(limit=limit),
    ):
        with pytest.raises(InvalidArgument):
            call()


def test_what_is_out_of_range_is_refused_and_nothing_is_stored(queue: Queue) -> None:
    for kind, call in (
        (InvalidArgument, lambda: queue.channel("acme").set(max_concurrency=0)),
        (InvalidArgument, lambda: queue.channel("acme").set(colour="red")),  # type: ignore[call-arg]  # no option
        (InvalidArgument, lambda: queue.channel("acme").set(retry_jitter=2)),
        (InvalidArgument, lambda: queue.set(history="everything")),  # type: ignore[arg-type]  # no value of it
        (InvalidArgument, lambda: queue.create("acme", b"", delay_ms=2**63 - 1)),
        (InvalidArgument, lambda: queue.dequeue(lease_ms=0)),
        (InvalidArgument, lambda: queue.history_horizon(rows=-1)),
        (TooLarge, lambda: queue.create("acme", b"", headers={"x": "y" * 16_384})),
        (TooLarge, lambda: queue.create_many([b""] * 10_001, channel="acme")),
    ):
        with pytest.raises(kind) as raised:
            call()
        assert isinstance(raised.value, LonnyMQError)
    assert queue.peek("acme") == []
    assert queue.channel("acme").stats() is None


async def test_the_async_half_reads_the_same_answers(dsn: str) -> None:
    async with AsyncQueue(dsn) as queue:
        acme = queue.channel("acme")
        assert await acme.set(weight=2) == "created"
        assert isinstance(await acme.create(b"1"), Created)
        [message] = await queue.dequeue()
        assert await message.fail("no", dead=True) == "dead"
        assert [each.error for each in await queue.dead_list()] == ["no"]
        assert await queue.check() == []
