"""A channel's messages come by dequeue_at and id, among those that were committed when the dequeue began."""

import pytest

from database.rules.conftest import OpenSession

ROUNDS = 20  # the engine may put off a note for 20 ms: of so many rounds most are quicker than that


def test_a_message_that_is_committed_while_its_channel_empties_comes_before_a_later_one(
    open_session: OpenSession, dsn: str
) -> None:
    slow, quick, consumer = (open_session(dsn) for _ in range(3))
    overtaken = 0
    for _ in range(ROUNDS):
        quick.fill("a", 2)
        consumer.complete(*consumer.dequeue())
        with slow.open():
            earlier = slow.create("a")
            consumer.complete(
                *consumer.dequeue()
            )  # the channel looks empty, and is idle from here on
        later = quick.create("a")
        [first] = consumer.dequeue()
        overtaken += first.id != earlier
        assert first.id in (earlier, later)
        consumer.complete(first)
        consumer.drain()
    assert overtaken == 0


def test_a_message_that_is_committed_below_what_waits_already_comes_first(
    open_session: OpenSession, dsn: str
) -> None:
    slow, quick, canceller, consumer = (open_session(dsn) for _ in range(4))
    overtaken = 0
    for _ in range(ROUNDS):
        quick.fill("a", 2)
        consumer.complete(*consumer.dequeue())
        with slow.open():
            earlier = slow.create("a")
            later = quick.create("a")
            with canceller.connection.transaction(force_rollback=True):
                canceller.rows("select * from lonnymq.message_cancel(array[%s]::bigint[])", later)
                consumer.complete(*consumer.dequeue_once(2))
        [first] = consumer.dequeue()
        overtaken += first.id != earlier
        assert first.id in (earlier, later)
        consumer.complete(first)
        consumer.drain()
    assert overtaken == 0


@pytest.mark.parametrize("limit", [1, 5])
def test_a_message_that_is_committed_while_another_dequeue_is_open_comes_before_a_later_one(
    open_session: OpenSession, dsn: str, limit: int
) -> None:
    slow, quick, other, consumer = (open_session(dsn) for _ in range(4))
    with slow.open():
        earlier = slow.create("a")
        quick.fill("a", 4)
        consumer.complete(*consumer.dequeue())
        other.connection.execute("begin")
        assert len(other.dequeue_once()) == 1
    had = consumer.dequeue_once(limit)
    other.connection.execute("commit")
    had += consumer.dequeue(limit)
    assert had[0].id == earlier


@pytest.mark.parametrize("limit", [1, 5])
def test_an_urgent_message_comes_first_while_another_dequeue_is_open(
    open_session: OpenSession, dsn: str, limit: int
) -> None:
    producer, other, consumer = (open_session(dsn) for _ in range(3))
    producer.fill("a", 4)
    consumer.complete(*consumer.dequeue())
    with other.open():
        assert len(other.dequeue_once()) == 1
        urgent = producer.create("a", dequeue_at=producer.now() - 60_000)
        had = consumer.dequeue_once(limit)
    had += consumer.dequeue(limit)
    assert had[0].id == urgent


@pytest.mark.parametrize("limit", [1, 5])
def test_a_message_that_was_deferred_to_an_earlier_moment_comes_first_while_another_dequeue_is_open(
    open_session: OpenSession, dsn_18: str, limit: int
) -> None:
    producer, other, consumer = (open_session(dsn_18) for _ in range(3))
    producer.fill("a", 6)
    [lease] = consumer.dequeue()
    with other.open():
        assert len(other.dequeue_once()) == 1
        consumer.settle("defer", [lease], dequeue_ats=[lease.dequeue_at - 1])
        had = consumer.dequeue_once(limit)
    had += consumer.dequeue(limit)
    assert had[0].id == lease.id


@pytest.mark.parametrize("limit", [1, 5])
def test_messages_that_came_in_by_copy_come_first_while_another_dequeue_is_open(
    open_session: OpenSession, dsn: str, limit: int
) -> None:
    producer, holder, consumer = (open_session(dsn) for _ in range(3))
    producer.fill("a", 2)
    producer.fill("held", 2)
    assert len(holder.dequeue(2)) == 2
    with holder.open():
        assert holder.dequeue_once()
        with producer.open():
            with producer.connection.cursor().copy(
                "copy lonnymq.message (channel, content, dequeue_at) from stdin"
            ) as rows:
                rows.write_row(("a", b"", 1))
            producer.rows("select lonnymq.message_announce('{a}')")
        had = [each for _ in range(3) for each in consumer.dequeue_once(limit)]
    assert next(each for each in had if each.channel == "a").dequeue_at == 1


def test_a_dequeue_that_takes_nothing_of_a_limited_channel_locks_nothing_of_it(
    open_session: OpenSession, dsn: str
) -> None:
    producer, holder, other, consumer = (open_session(dsn) for _ in range(4))
    producer.set("limited", max_concurrency=3)
    made = producer.fill("limited", 4)
    producer.fill("else", 1)
    assert len(consumer.dequeue(2)) == 2
    holder.connection.execute("begin")
    holder.dequeue_once()
    other.connection.execute("begin")
    other.dequeue_once()
    holder.connection.execute("commit")
    had = consumer.dequeue_once()
    other.connection.execute("rollback")
    assert [each.id for each in had] == [made[2]]
