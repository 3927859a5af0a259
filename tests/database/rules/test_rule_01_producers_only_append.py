"""Rule 1: a producer takes no lock that anybody could wait for, except on an equal key.

Both sessions are impatient: where one waits for a lock of the other, the test fails with an error.
"""

import random
from functools import partial

import pytest

from database.rules.conftest import OpenSession, on_18
from database.rules.factories import Lease, Session, aside, at_once
from lonnymq.testing import Clock
from support import eventually, waits_for_a_lock


def test_an_open_transaction_that_made_a_channel_s_first_message_holds_up_nobody(
    session: Session, another: Session
) -> None:
    with another.open():
        late = another.create("new")
        early = session.create("new")
        elsewhere = session.create("elsewhere")
        had = session.drain()
        assert {each.id for each in had} == {early, elsewhere}
    assert [each.id for each in session.drain()] == [late]
    assert session.check() == []


@on_18
@pytest.mark.parametrize(
    "limits", [{}, {"max_concurrency": 2}, {"max_size": 100}, {"min_interval_ms": 1}]
)
def test_an_open_transaction_in_a_busy_channel_delays_only_its_own_messages(
    session: Session, another: Session, clock: Clock, limits: dict[str, int]
) -> None:
    session.set("busy", **limits)
    _, waiting = session.fill("busy", 2)
    session.drain(1, most=1)
    with another.open():
        late = another.create("busy")
        other = another.create_many(["busy", "elsewhere"])
        flowing = [session.create("busy") for _ in range(3)]
        clock.advance(10)
        assert [each.id for each in taken_in_turn(session, clock, 4)] == [waiting, *flowing]
    had = taken_in_turn(session, clock, 3)
    assert {each.id for each in had} == {late, *(each.id for each in other)}
    assert session.check() == []


def test_settings_of_a_new_channel_that_are_not_yet_committed_hold_up_nobody(
    session: Session, another: Session
) -> None:
    with another.open():
        assert another.set("new", max_concurrency=1, max_size=1) == "created"
        assert session.create_answer("new").answer == "created"
        assert session.create_answer("new").answer == "created"
        assert len(session.dequeue(10)) == 2


@on_18
@pytest.mark.parametrize(
    "change",
    [
        "select lonnymq.channel_set('a', '{\"max_concurrency\": 1}')",
        "select lonnymq.channel_pause('a')",
        "select lonnymq.channel_retire('a')",
        "select lonnymq.queue_set('{\"max_concurrency\": 1}')",
        "select lonnymq.message_purge('a', 1)",
        "select lonnymq.message_announce(array['a'])",
    ],
)
def test_a_change_that_is_not_yet_committed_holds_up_nobody(
    session: Session, another: Session, change: str
) -> None:
    session.fill("a", 3)
    held = session.dequeue()
    with another.open():
        another.rows(change)
        assert session.create_answer("a").answer == "created"
        assert len(session.dequeue()) == 1
        assert session.settle("heartbeat", held) == ["extended"]
        assert session.complete(*held) == ["completed"]
        session.maintain()
    assert session.check() == []


@on_18
@pytest.mark.parametrize("how", ["complete", "defer", "fail", "heartbeat"])
@pytest.mark.parametrize("limits", [{}, {"max_concurrency": 5}])
def test_a_settlement_in_an_open_transaction_holds_up_nobody_else(
    session: Session, another: Session, how: str, limits: dict[str, int]
) -> None:
    session.set("a", **limits)
    session.fill("a", 5)
    first, second = session.dequeue(2)
    with another.open():
        another.settle(how, [first])
        session.create("a")
        assert session.settle(how, [second]) != ["lease_lost"]
        assert len(session.dequeue(2)) == 2
        session.maintain()
    assert session.check() == []


def test_two_transactions_that_write_to_the_same_new_channels_in_opposite_order_do_not_wait(
    session: Session, another: Session
) -> None:
    with another.open(), session.open():
        session.create("a")
        another.create("b")
        session.create("b")
        another.create("a")
        session.create_many(["c", "d"])
        another.create_many(["d", "c"])
    assert len(session.dequeue(10)) == 8


def test_a_producer_holds_no_lock_but_those_that_go_with_any_insert(
    session: Session, another: Session
) -> None:
    session.set("limited", max_concurrency=1, max_size=9, min_interval_ms=1)
    session.fill("limited", 2)
    session.dequeue()
    with another.open():
        for channel in ("limited", "new"):
            another.create(channel)
            another.create_many([channel, channel])
        pid = another.value("select pg_backend_pid()")
        locks = session.rows("select locktype, mode from pg_locks where pid = %s", pid)
        # A row lock shows as the row's xmax.
        marked = session.value(
            "select count(*) from lonnymq.channel c join lonnymq.queue q on true"
            " where %s in (c.xmax::text, q.xmax::text)",
            str(another.value("select pg_current_xact_id()::xid")),
        )
    assert {each.locktype for each in locks} <= {"relation", "virtualxid", "transactionid"}
    relations = {each.mode for each in locks if each.locktype == "relation"}
    assert relations <= {"AccessShareLock", "RowExclusiveLock"}
    assert marked == 0


def test_an_equal_name_waits_for_its_holder_and_then_is_a_duplicate(
    open_session: OpenSession, dsn_18: str
) -> None:
    holder, other, watcher = (open_session(dsn_18) for _ in range(3))

    with holder.open():
        held = holder.create("a", key="n")
        waiting = aside(partial(other.create_answer, "a", key="n"))
        eventually(lambda: waits_for_a_lock(watcher.connection, other.pid))
    answer = waiting.result()
    assert (answer.answer, answer.id) == ("duplicate", held)


def test_calls_with_equal_keys_in_opposite_order_cannot_deadlock(
    open_session: OpenSession, dsn_18: str
) -> None:
    holder, first, second, watcher = (open_session(dsn_18) for _ in range(4))
    with holder.connection.transaction(force_rollback=True):
        holder.create("a", key="m")
        one = aside(partial(first.create_many, ["a"] * 3, keys=["z", "m", "a"]))
        eventually(lambda: waits_for_a_lock(watcher.connection, first.pid))
        two = aside(partial(second.create_many, ["a"] * 3, keys=["a", "m", "z"]))
        eventually(lambda: waits_for_a_lock(watcher.connection, second.pid))
    assert [each.answer for each in one.result()] == ["created"] * 3
    assert [each.answer for each in two.result()] == ["duplicate"] * 3


@pytest.mark.heavy
def test_transactions_over_many_channels_in_random_order_never_deadlock(
    open_session: OpenSession, dsn_18: str
) -> None:
    def produce(seed: int) -> None:
        chance = random.Random(seed)
        producer = open_session(dsn_18)
        for _ in range(40):
            with producer.open():
                for channel in chance.sample("abcdefgh", 5):
                    producer.create(channel)
            keys = chance.sample("klmnopqrst", 6)
            producer.create_many([chance.choice("abc") for _ in keys], keys=keys)

    watcher = open_session(dsn_18)
    deadlocks = "select deadlocks from pg_stat_database where datname = current_database()"
    before = watcher.value(deadlocks)
    at_once([partial(produce, seed) for seed in range(8)])
    assert watcher.value(deadlocks) == before
    assert watcher.check() == []


def taken_in_turn(session: Session, clock: Clock, count: int) -> list[Lease]:
    """So many messages, one after the other, with time for the rate between them."""
    had = []
    for _ in range(count):
        had += session.drain(1, most=1)
        clock.advance(1)
    return had
