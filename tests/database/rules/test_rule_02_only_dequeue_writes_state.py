"""Rule 2: everybody else leaves notes, which commit with what they tell of; the next dequeue folds them in."""

import random
from functools import partial
from threading import Event

import pytest

from database.rules.conftest import OpenSession
from database.rules.factories import Session, at_once, numbered

STATE = (
    "select xmin::text, ctid::text, c::text from lonnymq.channel c"
    " union all select xmin::text, ctid::text, m::text from lonnymq.channel_counter m order by 3"
)


def test_nothing_but_a_dequeue_writes_what_turns_and_limits_are_decided_by(
    session: Session,
) -> None:
    session.set("a", max_concurrency=5, max_size=50)
    session.fill("a", 9)
    completed, deferred, failed, held = session.dequeue(4)
    before = session.rows(STATE)

    session.complete(completed)
    session.settle("defer", [deferred])
    session.settle("fail", [failed])
    session.settle("heartbeat", [held])
    session.create("a")
    session.create("new")
    session.create_many(["a", "other"])
    session.rows("select lonnymq.message_cancel(%s)", session.create("a"))
    session.rows("select lonnymq.message_purge('a', 2)")
    session.set("a", max_concurrency=4)
    session.rows("select lonnymq.channel_pause('a')")
    session.rows("select lonnymq.channel_resume('a')")

    assert session.rows(STATE) == before
    session.dequeue()
    assert session.rows(STATE) != before
    assert session.check() == []


def test_what_a_rolled_back_create_told_is_never_heard(session: Session) -> None:
    with session.connection.transaction(force_rollback=True):
        session.create("a")
    assert session.dequeue() == []
    assert session.answer == "empty"
    assert session.value("select count(*) from lonnymq.channel") == 0


def test_a_slot_is_free_again_when_the_completing_transaction_commits_and_not_before(
    session: Session, another: Session
) -> None:
    session.set("a", max_concurrency=1)
    session.fill("a", 2)
    [lease] = session.dequeue()
    with another.connection.transaction(force_rollback=True):
        another.complete(lease)
        assert session.dequeue() == []
    assert session.dequeue() == []
    with another.open():
        another.complete(lease)
        assert session.dequeue() == []
    assert len(session.dequeue()) == 1
    assert session.check() == []


def test_a_message_is_found_whenever_its_transaction_commits(
    session: Session, another: Session
) -> None:
    with another.open():
        late = another.create("a")
        for _ in range(3):  # folds pass over what is not committed yet
            session.create("a")
            session.drain()
        session.create("b")
        session.drain()
    assert [each.id for each in session.drain()] == [late]
    assert session.check() == []


def test_a_note_whose_channel_another_dequeue_holds_waits_for_the_next_fold(
    open_session: OpenSession, dsn: str
) -> None:
    folder, holder, session = (open_session(dsn, impatient=True) for _ in range(3))
    session.set("a", max_concurrency=9)
    session.fill("a", 5)
    session.fill("b", 2)
    [lease] = [each for each in session.dequeue(2) if each.channel == "a"]
    with holder.connection.transaction():
        with folder.connection.transaction():
            folder.rows("select lonnymq.fold_lock()")  # the next one only dequeues
            assert "a" in {each.channel for each in holder.dequeue_once(3)}
        session.complete(lease)
        session.create("c")
        leases = session.dequeue_once(10)
        assert {"c"} <= {each.channel for each in leases} <= {"b", "c"}
        results = "select channel from lonnymq.change where message_ids is null"
        assert session.column(results) == ["a"]
        assert session.check() == []
    session.dequeue()
    assert session.column(results) == []
    assert session.check() == []


def test_a_bulk_load_is_a_copy_and_one_note_for_each_channel(session: Session) -> None:
    with (
        session.open(),
        session.connection.cursor() as cursor,
    ):
        with cursor.copy("copy lonnymq.message (channel, content) from stdin") as copy:
            for number in range(100):
                copy.write_row((f"c{number % 4}", "x"))
        results = session.value(
            "select lonnymq.message_announce(%s)", [f"c{number}" for number in range(4)] * 2
        )
    assert results == 4
    assert len(session.drain(7)) == 100
    assert session.check() == []


def test_messages_that_nobody_told_of_are_what_queue_check_finds(session: Session) -> None:
    session.rows("insert into lonnymq.message (channel, content) values ('a', '')")
    assert {each.invariant for each in session.check()} == {"reachable"}


def test_capacity_is_overshot_only_by_what_is_uncommitted_and_says_so(
    session: Session, another: Session
) -> None:
    session.set("a", max_size=3)
    with another.open():
        unseen = another.create_answer("a")
        seen = [session.create_answer("a") for _ in range(4)]
        assert [(each.answer, each.size) for each in seen] == [
            ("created", 1),
            ("created", 2),
            ("created", 3),
            ("rejected", 3),
        ]
        own = another.create_answer("a")  # it sees the three that are committed, and its own
        assert (unseen.answer, own.answer, own.reason, own.size) == (
            "created",
            "rejected",
            "full",
            4,
        )
    after = session.create_answer("a")
    assert (after.answer, after.size, after.max_size) == ("rejected", 4, 3)
    session.complete(*session.dequeue(2))
    assert session.create_answer("a").size == 3
    assert session.check() == []


def test_a_capacity_given_to_a_channel_that_has_messages_counts_them_at_once(
    session: Session,
) -> None:
    session.fill("a", 10)
    session.set("a", max_size=5)
    answer = session.create_answer("a")
    assert (answer.answer, answer.size) == ("rejected", 10)


@pytest.mark.long
@pytest.mark.parametrize(
    "limits", [{}, {"max_concurrency": 1}, {"max_concurrency": 3, "weight": 2}]
)
def test_no_wake_up_is_lost_while_channels_go_idle_and_come_back(
    open_session: OpenSession, dsn_18: str, limits: dict[str, int]
) -> None:
    channels = numbered("c", 6)
    setter = open_session(dsn_18)
    for channel in channels:
        setter.set(channel, **limits)
    produced = Event()

    def produce(seed: int) -> set[int]:
        chance, producer = random.Random(seed), open_session(dsn_18)
        made = set()
        for _ in range(60):
            with producer.open():
                made |= {
                    producer.create(chance.choice(channels)) for _ in range(chance.choice((1, 3)))
                }
        return made

    def produce_all() -> set[int]:
        try:
            return set().union(*at_once([partial(produce, seed) for seed in range(4)]))
        finally:
            produced.set()

    def consume() -> set[int]:
        consumer, had = open_session(dsn_18), set()
        while True:
            last = produced.is_set()
            leases = consumer.dequeue(2)
            consumer.complete(*leases)
            had |= {each.id for each in leases}
            if last and not leases:
                return had

    made, *had = at_once([produce_all, *[consume] * 6])
    # What the others were holding when one of them gave up is there for this one.
    left = {each.id for each in setter.drain()}
    assert set().union(left, *had) == made
    assert setter.check() == []
