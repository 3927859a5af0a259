"""Rule 3: a dequeue waits for nobody, never says empty while something is to be had, and writes nothing when idle."""

import time
from collections.abc import Callable

import psycopg
import pytest

from database.rules.conftest import OpenSession, on_18
from database.rules.factories import Session, at_once, numbered
from lonnymq.testing import Clock


def test_a_limited_channel_that_another_call_is_counting_is_contended_and_not_waited_for(
    session: Session, another: Session
) -> None:
    session.set("a", max_concurrency=10)
    session.fill("a", 5)
    with another.open():
        assert len(another.dequeue_once()) == 1
        assert session.dequeue_once() == []
        assert session.answer == "contended"
        assert session.retry_at is not None
        assert session.retry_at <= session.now()
    assert len(session.dequeue_once()) == 1


def test_an_unlimited_channel_serves_many_calls_at_once(session: Session, another: Session) -> None:
    session.fill("a", 6)
    session.dequeue()  # now it has a seat in the ring
    with another.open():
        theirs = another.dequeue_once(2)
        ours = session.dequeue_once(2)
    assert len({each.id for each in theirs + ours}) == 4


def test_a_call_that_finds_everything_being_taken_says_so_without_waiting(
    session: Session, another: Session
) -> None:
    session.fill("a", 2)
    with another.open():
        another.dequeue_once(2)
        assert session.dequeue_once() == []
        assert session.answer == "contended"


def test_what_another_call_gives_back_by_a_rollback_is_found_again(
    session: Session, another: Session
) -> None:
    for channel, limits in {
        "a": {},
        "b": {"max_concurrency": 5},
        "c": {"min_interval_ms": 1},
    }.items():
        session.set(channel, **limits)
        session.create(channel)
    with another.connection.transaction(force_rollback=True):
        assert len(another.dequeue_once(3)) == 3
        session.dequeue_once(3)
    assert len(session.dequeue(3)) == 3
    assert session.check() == []


@pytest.mark.long
@pytest.mark.parametrize("limit", [1, 7])
@pytest.mark.parametrize(
    "limits", [{}, {"max_concurrency": 100_000}], ids=["unlimited", "with a limit"]
)
def test_eight_consumers_never_see_empty_while_messages_wait_that_nobody_is_taking(
    open_session: OpenSession, dsn_18: str, limit: int, limits: dict[str, int]
) -> None:
    """An answer of empty at a moment after which a call began that leased an older message is false."""
    setter = open_session(dsn_18)
    setter.set("a", **limits)
    setter.fill("a", 1500 if limit == 1 else 6000)

    def consume() -> tuple[list[float], list[float]]:
        consumer = open_session(dsn_18)
        empty_at, begun_at = list[float](), list[float]()
        while len(empty_at) < 3:
            begin = time.monotonic()
            leases = consumer.dequeue(limit)
            if leases:
                begun_at.append(begin)
            else:
                empty_at.append(time.monotonic())
        return empty_at, begun_at

    results = at_once([consume] * 8)
    last_begun = max(begin for _, begun in results for begin in begun)
    false = [at for empty, _ in results for at in empty if at < last_begun]
    assert false == []
    assert setter.value("select count(*) from lonnymq.message where token is null") == 0


def idle_for_ever(session: Session) -> None:
    pass


def drained(session: Session) -> None:
    session.fill("a", 3)
    session.drain()


def leased(session: Session) -> None:
    session.fill("a", 3)
    session.dequeue(3)


def scheduled(session: Session) -> None:
    session.create("a", delay_ms=60_000)


def saturated(session: Session) -> None:
    session.set("a", max_concurrency=1)
    session.fill("a", 3)
    session.dequeue()


def throttled(session: Session) -> None:
    session.set("a", min_interval_ms=60_000)
    session.fill("a", 3)
    session.dequeue()


def paused(session: Session) -> None:
    session.fill("a", 3)
    session.rows("select lonnymq.channel_pause('a')")


def full(session: Session) -> None:
    session.queue_set(max_concurrency=1)
    session.fill("a", 3)
    session.dequeue()


IDLE = [idle_for_ever, drained, leased, scheduled, saturated, throttled, paused, full]


@on_18
@pytest.mark.parametrize("idle", IDLE)
def test_an_idle_poll_writes_nothing(session: Session, idle: Callable[[Session], None]) -> None:
    idle(session)
    assert session.dequeue() == []  # folds what is left to fold
    assert session.dequeue() == []
    with session.open():
        assert session.dequeue_once() == []
        assert session.value("select pg_current_xact_id_if_assigned()") is None


@pytest.mark.parametrize("idle", IDLE)
def test_an_idle_poll_writes_no_wal(
    open_session: OpenSession, dsn_18: str, idle: Callable[[Session], None]
) -> None:
    session = open_session(dsn_18)
    idle(session)
    written = "select pg_stat_force_next_flush(), wal_records from pg_stat_get_backend_wal(pg_backend_pid())"
    for _ in range(5):  # dead rows that a first look may still tidy away
        session.dequeue()
    session.rows(written)
    before = session.row(written).wal_records
    for _ in range(20):
        assert session.dequeue() == []
    session.rows(written)
    assert session.row(written).wal_records == before


@pytest.mark.parametrize("call", ["message_dequeue", "queue_maintain", "queue_repair"])
def test_in_the_middle_of_somebody_s_transaction_it_refuses_with_advice(
    session: Session, call: str
) -> None:
    with session.connection.transaction(force_rollback=True):
        session.create("a")
        with pytest.raises(psycopg.Error) as rejection:
            session.rows(f"select * from lonnymq.{call}()")
    assert rejection.value.sqlstate == "LM003"
    assert rejection.value.diag.message_hint
    assert session.dequeue() == []


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
@pytest.mark.parametrize("call", ["message_dequeue", "queue_maintain"])
def test_under_an_isolation_level_that_hides_what_others_did_it_refuses(
    session: Session, level: str, call: str
) -> None:
    with session.connection.transaction(force_rollback=True):
        session.rows(f"set transaction isolation level {level}")
        with pytest.raises(psycopg.Error) as rejection:
            session.rows(f"select * from lonnymq.{call}()")
    assert rejection.value.sqlstate == "LM004"
    assert rejection.value.diag.message_hint


DAY = 86_400_000
PARTITIONS = "select count(*) from pg_inherits where inhparent = 'lonnymq.history'::regclass"


def a_sweep_does_not_wait(session: Session) -> bool:
    """Whether one of many is quick: one that waits until it gives up takes its 100 ms each time."""
    for _ in range(50):
        begun = time.monotonic()
        session.maintain()
        if time.monotonic() - begun < 0.09:
            return True
    return False


def test_a_sweep_that_would_make_room_in_history_waits_for_no_open_completion(
    session: Session, another: Session, clock: Clock
) -> None:
    days = session.column("select relname from pg_class where relname ~ '^history_[0-9]{8}$'")
    for day in days:
        session.rows(f"drop table lonnymq.{day}")
    session.fill("a", 4)
    leases = session.dequeue(4, 10 * DAY)
    with another.open():
        another.complete(leases[0])  # on a day that has no partition of its own
        assert a_sweep_does_not_wait(session)
        assert session.complete(leases[1]) == ["completed"]
    session.maintain()
    assert session.value(PARTITIONS) == 4
    clock.advance(DAY)
    with another.open():
        another.complete(leases[2])  # on a later day, in its own partition
        assert a_sweep_does_not_wait(session)
        assert session.complete(leases[3]) == ["completed"]
        assert session.value(PARTITIONS) > 4


def test_a_sweep_that_would_drop_old_history_waits_for_no_open_completion(
    session: Session, another: Session, clock: Clock
) -> None:
    session.queue_set(history_keep_ms=DAY)
    session.maintain()
    clock.advance(5 * DAY)
    session.create("a")
    leases = session.dequeue()
    with another.open():
        another.complete(*leases)
        assert a_sweep_does_not_wait(session)
    assert session.maintain().partitions_dropped == 4
    assert session.value("select count(*) from lonnymq.history") == 1


def test_a_message_behind_more_notes_than_one_fold_reads_is_not_answered_with_empty(
    open_session: OpenSession, dsn_18: str
) -> None:
    session = open_session(dsn_18)
    with session.open():
        session.value(
            "select count(*) from generate_series(1, 10000) i,"
            " lateral lonnymq.message_create('later', '', p_delay_ms => 60000 + i)"
        )
        due = session.create("now")
    assert [each.id for each in session.dequeue()] == [due]


@on_18
def test_a_message_behind_more_sleepers_than_one_call_wakes_is_not_answered_with_empty(
    session: Session, clock: Clock
) -> None:
    channels = numbered("c", 1100)
    for _ in range(2):
        session.create_many(channels, dequeue_ats=[clock.now() + 1000] * 1100)
    due = session.create("last", dequeue_at=clock.now() + 1001)
    assert session.dequeue() == []
    session.rows("select lonnymq.message_purge(name) from lonnymq.channel where name <> 'last'")
    clock.advance(2000)
    assert [each.id for each in session.dequeue()] == [due]


def test_a_lease_that_ran_out_behind_many_that_ended_is_looked_for_at_once(
    session: Session, clock: Clock
) -> None:
    session.fill("a", 151)
    for _ in range(150):
        session.complete(*session.dequeue(1, 1000))
    [stuck] = session.dequeue(1, 1001)
    clock.advance(2000)
    had = session.dequeue()
    while not had and session.retry_at is not None and session.retry_at <= clock.now():
        had = session.dequeue()
    assert [each.id for each in had] == [stuck.id]


def test_every_consumer_is_told_when_to_look_again(session: Session, clock: Clock) -> None:
    def looks() -> int | None:
        session.dequeue()  # a channel that was emptied keeps its seat until the next look
        session.rest()
        assert session.dequeue() == []
        return session.retry_at

    assert looks() is None
    session.create("later", delay_ms=5000)
    assert looks() == clock.now() + 5000
    session.set("rate", min_interval_ms=700)
    session.fill("rate", 2)
    session.dequeue()
    assert looks() == clock.now() + 700
    session.fill("a", 1)
    session.dequeue(1, 300)
    assert looks() == clock.now() + 300


def test_the_next_poll_after_a_commit_sees_what_was_committed(
    open_session: OpenSession, dsn: str
) -> None:
    """While another call holds the fold lock, contended says: try again."""
    session, folder = open_session(dsn, impatient=True), open_session(dsn, impatient=True)
    session.fill("b", 1)
    with folder.open():
        folder.dequeue_once()
        session.create("new")
        assert session.dequeue_once() == []
        assert session.answer == "contended"
    assert [each.channel for each in session.dequeue_once()] == ["new"]


def test_consumers_do_not_stop_each_other_when_one_is_left_open(
    open_session: OpenSession, dsn: str
) -> None:
    """One call is left open on each of several limited channels: the other channels go on."""
    session = open_session(dsn, impatient=True)
    for channel in numbered("c", 6):
        session.set(channel, max_concurrency=10)
        session.fill(channel, 2)
    session.dequeue(6)
    with open_session(dsn).open() as one, open_session(dsn).open() as two:
        one.cursor = session.cursor
        held = {each.channel for each in one.dequeue_once(2)}
        two.cursor = one.cursor
        held |= {each.channel for each in two.dequeue_once(2)}
        rest = session.dequeue_once(6)
        assert {each.channel for each in rest} == set(numbered("c", 6)) - held
