"""Keys: unique while live or for a period, and what a second create with the same key does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from lonnymq import NewMessage, Queue
from lonnymq.errors import DuplicateKey, InvalidArgument
from lonnymq.results import Created, Duplicate, Postponed, Replaced
from lonnymq.testing import Clock
from support import eventually, fetch_row, message_id

PRODUCERS = 16
HOUR_MS = 3_600_000
CREATE = """
select answer, id from lonnymq.message_create('acme', %s, %s, %s, 'k', p_options => %s::jsonb)
"""


@pytest.fixture
def queue(dsn: str) -> Iterator[Queue]:
    with Queue(dsn) as queue:
        yield queue


@pytest.fixture
def clock(dsn: str) -> Iterator[Clock]:
    clock = Clock(dsn)
    yield clock
    clock.close()


def contents(queue: Queue, **options: Any) -> list[bytes]:
    return [message.content for message in queue.dequeue(10, **options)]


# ---- for a period


def test_a_key_stays_taken_for_its_period_whatever_becomes_of_the_message(queue, clock) -> None:
    first = message_id(queue.create("acme", b"1", key="k", unique_for_ms=1_000))
    queue.dequeue()[0].complete()
    assert queue.create("acme", b"2", key="k") == Duplicate(first)
    assert queue.create("acme", b"2", key="k", unique_for_ms=5_000) == Duplicate(first)
    assert queue.create_many([NewMessage(b"2", "acme", key="k")]) == [Duplicate(first)]
    assert isinstance(queue.create("bloom", b"2", key="k"), Created)
    clock.advance(999)
    assert queue.create("acme", b"2", key="k") == Duplicate(first)
    clock.advance(1)
    assert message_id(queue.create("acme", b"2", key="k")) != first


def test_a_message_that_lives_longer_than_its_period_keeps_its_key(queue, clock) -> None:
    first = message_id(queue.create("acme", b"1", key="k", unique_for_ms=1_000))
    clock.advance(5_000)
    assert queue.create("acme", b"2", key="k", unique_for_ms=1_000) == Duplicate(first)
    queue.dequeue()[0].complete()
    assert isinstance(queue.create("acme", b"2", key="k"), Created)


def test_periods_that_are_over_are_deleted_by_maintenance(queue, clock, connection) -> None:
    for number in range(3):
        queue.create("acme", b"x", key=f"k{number}", unique_for_ms=1_000 * (number + 1))
    clock.advance(2_000)
    queue.maintain()
    assert connection.execute("select key from lonnymq.key_hold").fetchall() == [("k2",)]


def test_a_create_that_is_rolled_back_takes_no_key(queue, connect, direct_dsn) -> None:
    connection = connect(direct_dsn)
    with connection.transaction(force_rollback=True):
        queue.create("acme", b"1", key="k", unique_for_ms=HOUR_MS, using=connection)
    assert isinstance(queue.create("acme", b"2", key="k"), Created)


# ---- what a second create does


def test_replace_gives_a_waiting_message_new_content_at_its_place(queue) -> None:
    first = message_id(queue.create("acme", b"1", key="k", kind="a", headers={"v": 1}))
    queue.create("acme", b"next")
    again = {"key": "k", "when_duplicate": "replace", "kind": "b", "max_attempts": 1}
    assert queue.create("acme", b"2", **again) == Replaced(first)
    [message] = queue.dequeue(kinds=["b"])
    assert (message.id, message.content, message.headers) == (first, b"2", None)
    assert queue.create("acme", b"3", **again) == Duplicate(first)
    assert message.fail("broken") == "dead"
    assert isinstance(queue.create("acme", b"3", **again), Created)
    assert contents(queue) == [b"next", b"3"]
    assert queue.check() == []


def test_replaced_messages_keep_their_place_before_later_ones(queue) -> None:
    queue.create("acme", b"1", key="k")
    queue.create("acme", b"later")
    queue.create("acme", b"2", key="k", when_duplicate="replace", delay_ms=HOUR_MS)
    assert contents(queue) == [b"2", b"later"]


def test_postpone_runs_the_message_when_no_create_came_for_the_delay(queue, clock) -> None:
    def save(content: bytes) -> Any:
        options = {"key": "k", "delay_ms": 1_000, "when_duplicate": "postpone"}
        return queue.create("acme", content, max_delay_ms=2_500, **options)

    first = message_id(save(b"1"))
    for content in (b"2", b"3"):
        clock.advance(900)
        assert save(content) == Postponed(first)
        assert contents(queue) == []
    clock.advance(600)  # 2,400 after the first create
    assert save(b"4") == Postponed(first)
    clock.advance(99)
    assert contents(queue) == []
    clock.advance(1)
    assert contents(queue) == [b"4"]
    assert save(b"5") == Duplicate(first)
    assert queue.check() == []


def test_a_postponed_message_can_come_earlier_and_be_urgent(queue, clock) -> None:
    queue.create("acme", b"1", key="k", delay_ms=HOUR_MS)
    assert queue.dequeue().reason == "empty"
    queue.create("acme", b"ordinary")
    again = {"key": "k", "when_duplicate": "postpone", "priority": 5}
    assert isinstance(queue.create("acme", b"2", **again), Postponed)
    assert contents(queue) == [b"2", b"ordinary"]
    assert queue.check() == []


def test_refuse_is_an_error_and_stores_nothing(queue) -> None:
    first = message_id(queue.create("acme", b"1", key="k"))
    with pytest.raises(
        DuplicateKey, match=f"key 'k' is taken by message {first} of channel 'acme'"
    ):
        queue.create("acme", b"2", key="k", when_duplicate="refuse")
    second = NewMessage(b"3", "acme", key="k", when_duplicate="refuse")
    with pytest.raises(DuplicateKey):
        queue.create_many([b"x", second], channel="acme")
    assert contents(queue) == [b"1"]


def test_a_batch_does_what_each_of_its_messages_says(queue) -> None:
    live = message_id(queue.create("acme", b"live", key="a"))
    answers = queue.create_many(
        [
            NewMessage(b"a2", key="a", when_duplicate="replace"),
            NewMessage(b"b1", key="b"),
            NewMessage(b"b2", key="b", when_duplicate="replace"),
            NewMessage(b"b3", key="b"),
            NewMessage(b"c1", key="c", when_duplicate="replace"),
        ],
        channel="acme",
    )
    assert [type(each) for each in answers] == [Replaced, Created, Replaced, Duplicate, Created]
    assert answers[0] == Replaced(live)
    assert len({message_id(each) for each in answers[1:4]}) == 1
    assert contents(queue) == [b"a2", b"b2", b"c1"]
    assert queue.check() == []


def test_a_full_channel_still_replaces(queue) -> None:
    queue.channel("acme").set(max_size=1)
    first = message_id(queue.create("acme", b"1", key="k"))
    assert queue.create("acme", b"2", key="k", when_duplicate="replace") == Replaced(first)
    assert contents(queue) == [b"2"]


# ---- exact under 16 producers


def together(dsn: str, action: Callable[[psycopg.Connection, int], Any]) -> list[Any]:
    """What 16 connections are answered that act at the same moment."""
    barrier = Barrier(PRODUCERS)

    def act(number: int) -> Any:
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute("select 1")
            barrier.wait(timeout=60)
            return action(connection, number)

    with ThreadPoolExecutor(PRODUCERS) as threads:
        return list(threads.map(act, range(PRODUCERS)))


def create(connection: psycopg.Connection, number: int, **options: Any) -> tuple[str, int]:
    delay = options.pop("delay_ms", None)
    given = Jsonb(options) if options else None
    row = connection.execute(CREATE, (str(number).encode(), None, delay, given)).fetchone()
    assert row is not None
    return row


def words(answers: list[tuple[str, int]]) -> Counter[str]:
    return Counter(answer for answer, _ in answers)


@pytest.mark.parametrize(
    ("options", "others"),
    [
        ({}, "duplicate"),
        ({"unique_for_ms": HOUR_MS}, "duplicate"),
        ({"when_duplicate": "replace"}, "replaced"),
        ({"when_duplicate": "postpone", "delay_ms": HOUR_MS}, "postponed"),
    ],
)
def test_of_16_producers_exactly_one_creates_the_message(dsn_18: str, options, others) -> None:
    answers = together(dsn_18, lambda connection, number: create(connection, number, **options))
    assert words(answers) == {"created": 1, others: PRODUCERS - 1}
    assert len({message for _, message in answers}) == 1
    with Queue(dsn_18) as queue:
        [message] = queue.peek("acme")
        assert queue.check() == []
    winner = [number for number, (answer, _) in enumerate(answers) if answer == "created"]
    assert others != "duplicate" or message.content == str(winner[0]).encode()


def test_of_16_producers_15_are_refused(dsn_18: str) -> None:
    def attempt(connection: psycopg.Connection, number: int) -> str | None:
        try:
            return create(connection, number, when_duplicate="refuse")[0]
        except psycopg.Error as error:
            return error.sqlstate

    assert Counter(together(dsn_18, attempt)) == {"created": 1, "LM011": PRODUCERS - 1}


def test_in_a_period_one_message_runs_however_fast_messages_complete(dsn_18: str) -> None:
    """Each producer creates, takes and completes at once: without the period the key would be free again."""

    def produce(connection: psycopg.Connection, number: int) -> list[str]:
        found = []
        for _ in range(10):
            found.append(create(connection, number, **options(number))[0])
            row = connection.execute("select id, token from lonnymq.message_dequeue()").fetchone()
            connection.execute("select lonnymq.message_complete(%s::bigint, %s::uuid)", row)
        return found

    def options(number: int) -> dict[str, int]:
        return {"unique_for_ms": HOUR_MS} if number % 2 == 0 else {}

    def warm(connection: psycopg.Connection, number: int) -> str:
        return create(connection, number, unique_for_ms=HOUR_MS)[0]

    assert Counter(together(dsn_18, warm)) == {"created": 1, "duplicate": PRODUCERS - 1}
    found = Counter(word for words in together(dsn_18, produce) for word in words)
    assert found == {"duplicate": 10 * PRODUCERS}


def test_without_a_first_create_a_period_begins_once(dsn_18: str) -> None:
    """Producers with and without a period: from the create that takes the key for a period on, nobody creates."""

    def produce(connection: psycopg.Connection, number: int) -> list[tuple[str, int, bool]]:
        found = []
        for round_ in range(10):
            is_period = number == 0 and round_ == 5
            period = {"unique_for_ms": HOUR_MS} if is_period else {}
            found.append((*create(connection, number, **period), is_period))
            row = connection.execute("select id, token from lonnymq.message_dequeue()").fetchone()
            connection.execute("select lonnymq.message_complete(%s::bigint, %s::uuid)", row)
        return found

    rows = [row for rows in together(dsn_18, produce) for row in rows if row[0] == "created"]
    periods = [message for _, message, is_period in rows if is_period]
    with psycopg.connect(dsn_18, autocommit=True) as connection, Queue(dsn_18) as queue:
        for message in queue.dequeue(10):
            message.complete()
        if not periods:  # the key was taken at that moment
            periods.append(create(connection, 0, unique_for_ms=HOUR_MS)[1])
            queue.dequeue()[0].complete()
        assert create(connection, 1) == ("duplicate", periods[0])
        order = "select message_id from lonnymq.history order by xid desc limit 1"
        assert connection.execute(order).fetchone() == (periods[0],)


def test_a_create_that_waited_for_the_key_finds_the_period(dsn_18, connect) -> None:
    """The message that took the key is gone when the second create goes on: only the period is left."""
    first, second, control = connect(dsn_18), connect(dsn_18), connect(dsn_18)
    first.execute("begin")
    _, message = create(first, 1, unique_for_ms=HOUR_MS)
    waiting = "select wait_event_type = 'Lock' from pg_stat_activity where pid = %s"
    with ThreadPoolExecutor(1) as thread:
        answer = thread.submit(create, second, 2)
        pid = (second.info.backend_pid,)
        eventually(lambda: fetch_row(control, waiting, pid) == (True,))
        first.execute("select lonnymq.message_cancel(%s::bigint)", (message,))
        first.execute("commit")
        assert answer.result(timeout=60) == ("duplicate", message)
    with Queue(dsn_18) as queue:
        assert queue.peek("acme") == []


@pytest.mark.parametrize("isolation", ["repeatable read", "serializable"])
@pytest.mark.parametrize("options", [{}, {"unique_for_ms": HOUR_MS}, {"when_duplicate": "replace"}])
def test_an_older_snapshot_is_answered_exactly_or_can_be_retried(
    dsn_18, connect, isolation, options
) -> None:
    old, new = connect(dsn_18), connect(dsn_18)
    old.execute(f"begin isolation level {isolation}")
    old.execute("select count(*) from lonnymq.message")
    assert create(new, 1, unique_for_ms=HOUR_MS)[0] == "created"
    [row] = new.execute("select id, token from lonnymq.message_dequeue()").fetchall()
    new.execute("select lonnymq.message_complete(%s, %s)", row)
    with pytest.raises(psycopg.errors.SerializationFailure):
        create(old, 2, **options)
    old.execute("rollback")
    assert create(old, 2, **options) == ("duplicate", row[0])


@pytest.mark.parametrize("is_many", [False, True])
def test_an_older_snapshot_is_answered_with_its_own_message_and_not_with_one_that_is_gone(
    dsn_18, connect, is_many
) -> None:
    old, new = connect(dsn_18), connect(dsn_18)
    assert create(new, 1)[0] == "created"
    old.execute("begin isolation level repeatable read")
    old.execute("select count(*) from lonnymq.message")
    [row] = new.execute("select id, token from lonnymq.message_dequeue()").fetchall()
    new.execute("select lonnymq.message_complete(%s, %s)", row)
    word, own = create(old, 2)
    assert word == "created"
    if is_many:
        statement = (
            "select answer, id from lonnymq.message_create_many('{acme}', '{x}', p_keys => '{k}')"
        )
        assert old.execute(statement).fetchone() == ("duplicate", own)
    else:
        assert create(old, 3) == ("duplicate", own)
    old.execute("rollback")


@pytest.mark.parametrize("is_many", [False, True])
@pytest.mark.parametrize("retiring", [False, True])
def test_a_key_that_is_taken_for_a_period_is_a_duplicate_in_a_channel_that_takes_no_messages(
    queue, is_many, retiring
) -> None:
    queue.channel_set("acme", max_size=1)
    first = queue.create("acme", b"x", key="k", unique_for_ms=HOUR_MS)
    queue.dequeue()[0].complete()
    queue.create("acme", b"fills the channel")
    if retiring:
        queue.channel_retire("acme")
    if is_many:
        [second] = queue.create_many([NewMessage(b"y", "acme", key="k")])
    else:
        second = queue.create("acme", b"y", key="k")
    assert (type(second).__name__, second.id) == ("Duplicate", first.id)


# ---- bad input


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"unique_for_ms": 5}, "unique_for_ms, when_duplicate and max_delay_ms need a key"),
        ({"when_duplicate": "replace"}, "need a key"),
        (
            {"key": "k", "when_duplicate": "drop"},
            'when_duplicate must be "keep", "replace", "postpone" or "refuse"',
        ),
        (
            {"key": "k", "unique_for_ms": 0},
            "unique_for_ms must be a whole number of milliseconds from 1",
        ),
        ({"key": "k", "max_delay_ms": 5}, "max_delay_ms is only for when_duplicate postpone"),
    ],
)
def test_bad_options_are_rejected_with_what_is_allowed(queue, options, text) -> None:
    with pytest.raises(InvalidArgument, match=text):
        queue.create("acme", b"x", **options)
    with pytest.raises(InvalidArgument, match=text):
        queue.create_many([NewMessage(b"x", "acme", **options)])


def test_copy_takes_no_options_of_keys(queue) -> None:
    with pytest.raises(InvalidArgument, match="copy takes no unique_for_ms: use create_many"):
        queue.copy([NewMessage(b"x", "acme", key="k", unique_for_ms=5)])
