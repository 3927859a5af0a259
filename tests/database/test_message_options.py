"""`expires_at`, `max_attempts` and `priority` of a single message."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from lonnymq import NewMessage, Queue, Task
from lonnymq.errors import InvalidArgument
from lonnymq.testing import Clock
from support import message_id


@pytest.fixture
def queue(dsn: str) -> Iterator[Queue]:
    with Queue(dsn) as queue:
        yield queue


@pytest.fixture
def clock(dsn: str) -> Iterator[Clock]:
    clock = Clock(dsn)
    yield clock
    clock.close()


def contents(queue: Queue, count: int = 1) -> list[bytes]:
    """What the next dequeues give, one message each."""
    return [message.content for _ in range(count) for message in queue.dequeue()]


def outcomes(connection: psycopg.Connection, message: int) -> list[tuple[str, int]]:
    query = "select outcome, attempt from lonnymq.history where message_id = %s order by xid"
    return connection.execute(query, (message,)).fetchall()


# ---- expires_at


def test_a_message_is_handed_out_until_it_expires_and_never_after(queue, clock, connection) -> None:
    now = clock.now()
    early = message_id(queue.create("acme", b"early", expires_at=now + 100))
    late = message_id(queue.create("acme", b"late", expires_at=now + 101))
    clock.advance(100)
    assert queue.status(early).state == "lapsed"
    assert queue.status(early).has_ended
    [taken] = queue.dequeue(10)
    assert taken.content == b"late"
    assert outcomes(connection, early) == [("lapsed", 0)]
    assert queue.status(early).state == "lapsed"
    clock.advance(60_000)
    taken.complete()
    assert queue.status(late).state == "completed"
    assert queue.check() == []


def test_a_message_that_comes_back_after_it_expired_is_ended_by_maintenance(
    queue, clock, connection
) -> None:
    job = message_id(queue.create("acme", b"x", expires_at=clock.now() + 100))
    [taken] = queue.dequeue()
    clock.advance(100)
    assert taken.fail("broken", retry_ms=0) == "retrying"
    assert queue.status(job).state == "lapsed"
    assert queue.explain(job).answer == "lapsed"
    assert queue.dequeue().reason in ("empty", "contended")
    assert queue.check() == []
    queue.maintain()
    assert outcomes(connection, job) == [("failed", 1), ("lapsed", 0)]


def test_the_status_is_lapsed_if_the_lease_runs_out_after_the_message_expired(
    queue, clock, connection
) -> None:
    job = message_id(queue.create("acme", b"x", expires_at=clock.now() + 100))
    assert queue.dequeue(lease_ms=1000)
    clock.advance(1000)
    queue.maintain()
    assert sorted(outcomes(connection, job)) == [("expired", 1), ("lapsed", 0)]
    assert queue.status(job).state == "lapsed"


def test_an_expired_message_gives_back_its_key_and_its_room(queue, clock) -> None:
    queue.channel("acme").set(max_size=2)
    for number in range(2):
        queue.create("acme", b"old", key=f"k{number}", expires_at=clock.now() + 100)
    assert queue.create_many([NewMessage(b"x", "acme")])[0].__class__.__name__ == "Rejected"
    clock.advance(100)
    queue.dequeue()
    created = queue.create("acme", b"new", key="k0")
    assert type(created).__name__ == "Created"
    assert contents(queue) == [b"new"]


@pytest.mark.parametrize("many", [False, True])
def test_an_expired_message_does_not_keep_its_key_even_if_nobody_dequeues(
    queue, clock, many, connection
) -> None:
    old = message_id(queue.create("acme", b"old", key="k", expires_at=clock.now() + 100))
    clock.advance(100)
    if many:
        [created] = queue.create_many([NewMessage(b"new", "acme", key="k")])
    else:
        created = queue.create("acme", b"new", key="k")
    assert message_id(created) != old
    assert outcomes(connection, old) == [("lapsed", 0)]
    assert contents(queue, 2) == [b"new"]


def test_many_messages_expire_in_bounded_folds_and_cost_the_others_nothing(queue, clock) -> None:
    expires_at = clock.now() + 100
    queue.create_many([NewMessage(b"old", "acme", expires_at=expires_at) for _ in range(2_500)])
    clock.advance(100)
    queue.create("acme", b"new")
    assert contents(queue) == [b"new"]
    queue.maintain()
    assert queue.dequeue().reason == "empty"
    assert queue.stats().waiting == 0
    assert queue.check() == []


def test_a_dequeue_of_kinds_gives_no_expired_message(queue, clock) -> None:
    queue.create("acme", b"old", kind="email", expires_at=clock.now() + 100)
    queue.create("acme", b"new", kind="email")
    assert contents(queue, 0) == []
    clock.advance(100)
    found = [message.content for _ in range(3) for message in queue.dequeue(kinds=["email", "b"])]
    assert found == [b"new"]


# ---- max_attempts


def test_the_attempts_of_a_message_count_instead_of_those_of_its_channel(queue) -> None:
    queue.channel("acme").set(max_attempts=2)
    queue.create("acme", b"once", max_attempts=1)
    assert queue.dequeue()[0].fail("broken") == "dead"
    queue.create("acme", b"thrice", max_attempts=3)
    answers = [queue.dequeue()[0].fail("broken", retry_ms=0) for _ in range(3)]
    assert answers == ["retrying", "retrying", "dead"]
    assert queue.check() == []


def test_a_message_that_kills_its_workers_has_its_own_number_of_attempts(
    queue, clock, connection
) -> None:
    queue.channel("acme").set(max_attempts=1)
    job = message_id(queue.create("acme", b"x", max_attempts=3))
    for _ in range(3):
        queue.dequeue(lease_ms=50)
        clock.advance(50)
    queue.maintain()
    assert queue.status(job).state == "dead"
    assert [outcome for outcome, _ in outcomes(connection, job)] == ["expired", "expired", "dead"]


def test_a_redriven_message_keeps_its_attempts_and_priority_and_expires_no_more(
    queue, clock
) -> None:
    queue.create("acme", b"x", max_attempts=1, priority=5, expires_at=clock.now() + 100)
    [message] = queue.dequeue()
    assert message.fail("broken") == "dead"
    clock.advance(100)
    queue.create("acme", b"y")
    queue.dead_redrive([message.id])
    assert contents(queue, 2) == [b"x", b"y"]


def test_a_deferred_message_uses_no_attempt_of_its_own(queue) -> None:
    queue.create("acme", b"x", max_attempts=1)
    for _ in range(3):
        assert queue.dequeue()[0].defer() == "deferred"
    assert queue.dequeue()[0].fail("broken") == "dead"


# ---- priority


def test_a_higher_priority_comes_first_and_equal_ones_in_their_order(queue) -> None:
    queue.create_many(
        NewMessage(f"{priority}.{number}".encode(), "acme", priority=priority)
        for number in range(2)
        for priority in (0, 1, 1000, None)
    )
    queue.create("acme", b"5", priority=5)
    found = contents(queue, 9)
    assert found == [
        b"1000.0",
        b"1000.1",
        b"5",
        b"1.0",
        b"1.1",
        b"0.0",
        b"None.0",
        b"0.1",
        b"None.1",
    ]


def test_a_delayed_message_is_urgent_when_its_time_has_come_and_not_before(queue, clock) -> None:
    later = message_id(queue.create("acme", b"later", delay_ms=1_000, priority=7))
    queue.create_many([b"1", b"2", b"3"], channel="acme")
    assert queue.status(later).state == "scheduled"
    assert contents(queue) == [b"1"]
    clock.advance(999)
    assert contents(queue) == [b"2"]
    clock.advance(1)
    [message] = queue.dequeue()
    assert message.content == b"later"
    assert message.dequeue_at == clock.now()
    assert contents(queue, 2) == [b"3"]
    assert queue.check() == []


def test_a_retry_is_as_urgent_as_the_message_was(queue, clock) -> None:
    queue.create("acme", b"urgent", priority=1)
    queue.create_many([b"1", b"2", b"3"], channel="acme")
    [urgent] = queue.dequeue()
    urgent.fail("broken", retry_ms=1_000)
    assert contents(queue) == [b"1"]
    clock.advance(1_000)
    [urgent] = queue.dequeue()
    assert urgent.content == b"urgent"
    urgent.defer()
    [urgent] = queue.dequeue(lease_ms=50)
    assert urgent.content == b"urgent"
    clock.advance(50)
    assert contents(queue, 4) == [b"urgent", b"2", b"3"]


def test_times_are_shown_without_the_priority(queue, clock) -> None:
    now = clock.now()
    job = message_id(queue.create("acme", b"x", priority=900, dequeue_at=now - 10))
    assert queue.peek("acme")[0].dequeue_at == now - 10
    assert queue.status(job).dequeue_at == now - 10
    assert queue.stats().oldest_ready_at in (None, now - 10)
    [message] = queue.dequeue()
    assert message.dequeue_at == now - 10
    message.complete()
    assert queue.status(job).dequeue_at == now - 10


def test_copied_messages_have_options_too(queue, clock) -> None:
    queue.copy(
        [
            NewMessage(b"plain", "acme"),
            NewMessage(b"urgent", "acme", priority=3, max_attempts=1),
            NewMessage(b"over", "acme", expires_at=clock.now()),
        ]
    )
    [urgent] = queue.dequeue()
    assert urgent.content == b"urgent"
    assert urgent.fail("broken") == "dead"
    assert contents(queue, 2) == [b"plain"]
    with pytest.raises(InvalidArgument, match="create_many"):
        queue.copy([NewMessage(b"x", "acme", priority=3, delay_ms=1_000)])


# ---- tasks and bad input


def test_a_task_takes_the_options(queue) -> None:
    encode = Task("encode", bytes)
    encode.create(queue, b"plain", channel="acme")
    encode.create(queue, b"urgent", channel="acme", priority=1, max_attempts=1)
    assert queue.dequeue()[0].fail("broken") == "dead"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"priority": -1}, "priority must be a whole number from 0 to 1000, not int -1"),
        ({"priority": 1001}, "priority must be a whole number from 0 to 1000, not int 1001"),
        ({"priority": True}, "priority must be a whole number"),
        ({"max_attempts": 0}, "max_attempts must be a whole number from 1, not int 0"),
        ({"expires_at": "soon"}, "expires_at must be epoch milliseconds or a datetime"),
        (
            {"priority": 1, "dequeue_at": -5},
            "dequeue_at of a message with a priority must be from 0",
        ),
    ],
)
def test_bad_options_are_rejected_with_what_is_allowed(queue, options, text) -> None:
    with pytest.raises(InvalidArgument, match=text):
        queue.create("acme", b"x", **options)
    with pytest.raises(InvalidArgument, match=text):
        queue.create_many([NewMessage(b"x", "acme", **options)])


def test_sql_rejects_what_it_does_not_know(connection) -> None:
    create = "select lonnymq.message_create('acme', 'x', p_options => %s)"
    for options, text in (
        ('{"prio": 1}', "there is no option 'prio'"),
        ('{"priority": 1.5}', "priority must be a whole number from 0 to 1000, or null for none"),
        ("[1]", "options must be a JSON object"),
    ):
        with pytest.raises(psycopg.Error, match=text) as caught:
            connection.execute(create, (options,))
        assert caught.value.sqlstate == "LM001"
