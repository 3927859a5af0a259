"""queue_check finds every state from which a message would never be delivered, and one queue_repair mends it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from database.rules.conftest import OpenSession, on_18
from database.rules.factories import Session
from lonnymq.testing import Clock

MINUTE = 60_000
# What the engine writes down when it has looked at every lease and every channel that sleeps.
ALL_WAS_LOOKED_AT = """
update lonnymq.checkpoint
set lease_mark = lonnymq.epoch(), wake_mark = lonnymq.epoch(), made_by = pg_current_xact_id()
"""
ALL_WAS_READ = """
update lonnymq.checkpoint
set until_xid = pg_snapshot_xmax(pg_current_snapshot()), running_xids = '{}', made_by = pg_current_xact_id()
"""


def a_note_that_was_passed(session: Session, clock: Clock) -> None:
    session.create("a")
    session.rows(ALL_WAS_READ)


def a_setting_that_was_passed(session: Session, clock: Clock) -> None:
    session.create("a")
    session.rows("select lonnymq.channel_pause('a')")
    assert session.dequeue() == []
    session.rows("select lonnymq.channel_resume('a')")
    session.rows(ALL_WAS_READ)


def a_slot_that_was_passed(session: Session, clock: Clock) -> None:
    session.set("a", max_concurrency=1)
    session.fill("a", 2)
    session.complete(*session.dequeue())
    session.rows(ALL_WAS_READ)


def a_lease_that_nobody_watches(session: Session, clock: Clock) -> None:
    session.create("a")
    assert len(session.dequeue(1, MINUTE)) == 1
    assert session.dequeue() == []  # the lease is in its table
    session.rows(f"update lonnymq.lease set due_at = due_at - {10 * MINUTE}")
    session.rows(ALL_WAS_LOOKED_AT)


def a_channel_that_nobody_wakes(session: Session, clock: Clock) -> None:
    session.create("a", delay_ms=1000)
    assert session.dequeue() == []
    clock.advance(10 * MINUTE)
    session.rows(ALL_WAS_LOOKED_AT)


def a_rate_that_nobody_waits_for(session: Session, clock: Clock) -> None:
    session.set("a", min_interval_ms=1000)
    session.fill("a", 2)
    session.complete(*session.dequeue())
    assert session.dequeue() == []
    clock.advance(10 * MINUTE)
    session.rows(ALL_WAS_LOOKED_AT)


FORGOTTEN = [
    a_note_that_was_passed,
    a_setting_that_was_passed,
    a_slot_that_was_passed,
    a_lease_that_nobody_watches,
    a_channel_that_nobody_wakes,
    a_rate_that_nobody_waits_for,
]


@on_18
@pytest.mark.parametrize("forget", FORGOTTEN)
def test_a_check_finds_it_and_one_repair_has_it_delivered(
    session: Session, clock: Clock, forget: Callable[[Session, Clock], None]
) -> None:
    session.create_many(["a", "a"])  # the channel exists, and is idle
    session.drain()
    assert session.dequeue() == []
    assert session.check() == []
    forget(session, clock)
    assert session.check() != []
    assert session.rows("select * from lonnymq.queue_repair()") != []
    assert session.check() == []
    clock.advance(MINUTE)
    assert [each.channel for each in session.drain()] == ["a"]


@pytest.mark.long
def test_the_check_of_many_channels_is_short_whatever_the_planner_believes(
    open_session: OpenSession, dsn_18: str
) -> None:
    session = open_session(dsn_18)
    session.create_many([f"channel {number}" for number in range(8000)])
    while session.dequeue(10_000):
        pass
    session.rows("vacuum analyze lonnymq.channel, lonnymq.channel_position")
    session.rows(
        "update pg_class set reltuples = 1"
        " where oid in ('lonnymq.channel'::regclass, 'lonnymq.channel_position'::regclass)"
    )
    session.rows("set statement_timeout = '10s'")
    assert session.check() == []


@on_18
def test_the_check_finds_single_messages_by_index_whatever_the_planner_prefers(
    session: Session,
) -> None:
    session.create_many(["dead"] * 2000)
    leases = session.dequeue(2000)
    session.settle("fail", leases, deads=[True] * len(leases))
    session.create_many([f"live {number}" for number in range(5000)])
    for setting in ("enable_indexscan", "enable_bitmapscan"):
        session.rows(f"set {setting} = off")
    assert session.buffers("select * from lonnymq.queue_check()") < 50_000


@on_18
def test_a_lease_that_ran_out_under_a_settler_is_checked_in_time_after_a_clock_was_set_back(
    session: Session, another: Session, clock: Clock
) -> None:
    session.create("a")
    leases = session.dequeue(1, 50)
    with another.connection.transaction(force_rollback=True):
        another.complete(*leases)
        clock.advance(1000)
        assert session.dequeue() == []
        clock.set(clock.now() - 2000)
    assert session.check() == []
    assert session.dequeue() == []  # the clock is before the end of the lease
    clock.advance(1100)
    assert [each.channel for each in session.dequeue()] == ["a"]
