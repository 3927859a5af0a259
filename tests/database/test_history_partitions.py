"""The days of history: made ahead of time by whoever is there, while everybody goes on settling."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Event

import pytest

from database.rules.conftest import OpenSession, on_18, open_session, session
from database.rules.factories import Session, aside
from lonnymq.testing import Clock
from support import eventually

__all__ = ["open_session", "session"]

DAY = 86_400_000
DAYS = """
select (to_date(right(c.relname, 8), 'YYYYMMDD') - date '1970-01-01')::bigint
from pg_inherits i join pg_class c on c.oid = i.inhrelid
where i.inhparent = 'lonnymq.history'::regclass and c.relname ~ '^history_[0-9]{8}$'
order by 1
"""
FENCES = """
select conname from pg_constraint
where conrelid = 'lonnymq.history_other'::regclass and contype = 'c'
union all select tgname from pg_trigger where tgrelid = 'lonnymq.history_other'::regclass
"""
ROWS = """
insert into lonnymq.history_other (
  message_id, created_at, dequeue_at, dequeued_at, finished_at, size, attempt, outcome, channel)
select i, 1, 1, 1, lonnymq.epoch() - mod(i, 1000), 1, 1, 'completed', 'a' from generate_series(1, %s) as i
"""


@pytest.fixture
def clock(direct_dsn: str) -> Iterator[Clock]:
    """Time stands still until the test moves it, at noon: no test runs into the next day."""
    clock = Clock(direct_dsn)
    clock.set(clock.now() // DAY * DAY + DAY // 2)
    yield clock
    clock.close()


def ahead(session: Session) -> list[int]:
    """Which days have a partition, counted from today."""
    today = session.now() // DAY
    return [each - today for each in session.column(DAYS)]


def drop_days(session: Session) -> None:
    """As in a queue that nobody has swept for weeks."""
    for day in session.column(DAYS):
        name = session.value("select lonnymq.history_day_name(%s)", day)
        session.rows(f"drop table lonnymq.{name}")


def in_default(session: Session) -> int:
    return session.value("select count(*) from lonnymq.history_other")


def test_an_install_makes_two_weeks_of_days(session: Session) -> None:
    assert ahead(session) == list(range(15))


def test_what_ends_goes_into_its_day(session: Session) -> None:
    session.fill("a", 3)
    session.drain()
    assert session.value("select count(*) from lonnymq.history") == 3
    assert in_default(session) == 0


def test_sweeps_keep_two_weeks_of_days_ahead(session: Session, clock: Clock) -> None:
    clock.advance(DAY)
    session.maintain()
    assert ahead(session) == list(range(-1, 15))
    clock.advance(5 * DAY)
    for _ in range(2):
        session.maintain()
    assert ahead(session) == list(range(-6, 15))


def test_a_sweep_with_no_day_to_make_locks_nothing_of_history(session: Session) -> None:
    with session.open():
        session.rows("select lonnymq.queue_maintain()")
        locked = session.column(
            "select mode from pg_locks where relation = 'lonnymq.history_other'::regclass"
        )
    assert set(locked) <= {"AccessShareLock", "RowShareLock", "RowExclusiveLock"}


def test_a_day_of_which_there_are_rows_elsewhere_stays_there(
    session: Session, clock: Clock
) -> None:
    drop_days(session)
    session.fill("a", 1)
    session.drain()
    for _ in range(6):
        session.maintain()
    assert ahead(session) == list(range(1, 15))
    assert in_default(session) == 1
    clock.advance(DAY)
    session.fill("a", 1)
    session.drain()
    assert in_default(session) == 1


def test_a_reader_of_history_is_not_waited_for(
    session: Session, open_session: OpenSession, dsn: str, clock: Clock
) -> None:
    clock.advance(DAY)
    reader = open_session(dsn)
    with reader.open():
        reader.rows("select count(*) from lonnymq.history")
        session.maintain()  # an impatient session: what waits is an error
        assert ahead(session) == list(range(-1, 14))
    session.maintain()
    assert ahead(session) == list(range(-1, 15))


@contextmanager
def settling(
    open_session: OpenSession, dsn: str, many: int, *, most_ms: int
) -> Iterator[list[Future[int]]]:
    """So many who create and complete all the time; whoever waits longer for a lock fails."""
    over = Event()

    def settle(session: Session) -> int:
        session.rows(f"set lock_timeout = '{most_ms}ms'")
        done = 0
        while not over.is_set():
            with session.open():
                session.create("a")
            done += len(session.complete(*session.dequeue(10)))
        return done

    workers = [aside(work(settle, open_session(dsn))) for _ in range(many)]
    try:
        yield workers
    finally:
        over.set()
    assert sum(each.result(timeout=60) for each in workers) > 0


def work(settle: Callable[[Session], int], session: Session) -> Callable[[], int]:
    return lambda: settle(session)


@on_18
def test_days_are_made_while_completions_go_on_without_a_pause(
    session: Session, open_session: OpenSession, dsn: str
) -> None:
    drop_days(session)
    with settling(open_session, dsn, 3, most_ms=200):
        eventually(lambda: in_default(session) > 0)
        eventually(lambda: session.maintain() and ahead(session) == list(range(1, 15)))


@pytest.mark.long
@on_18
def test_nobody_waits_while_days_are_made_beside_300_000_rows_that_have_none(
    session: Session, open_session: OpenSession, dsn: str
) -> None:
    drop_days(session)
    session.rows(ROWS, 300_000)
    with settling(open_session, dsn, 3, most_ms=200):
        eventually(lambda: session.maintain() and ahead(session) == list(range(2, 15)))
        eventually(lambda: session.maintain() and session.column(FENCES) == [])
    assert session.value("select count(*) from lonnymq.history") >= 300_000
    assert session.check() == []


def test_rows_that_have_no_day_are_never_read_under_a_lock_that_holds_others_up(
    open_session: OpenSession, direct_dsn: str, clock: Clock
) -> None:
    session = open_session(direct_dsn)
    drop_days(session)
    session.rows(ROWS, 30_000)
    session.maintain()
    assert len(session.column(FENCES)) == 2
    with session.open():
        session.rows("select lonnymq.queue_maintain()")  # reads them
        held = "select mode from pg_locks where relation = 'lonnymq.history_other'::regclass"
        assert "AccessExclusiveLock" not in session.column(held)
    text: list[str] = []
    session.connection.add_notice_handler(lambda note: text.append(note.message_primary or ""))
    session.rows("set client_min_messages = debug1")
    for _ in range(5):
        session.maintain()
    implied = [each for each in text if "default partition" in each and "is implied" in each]
    assert len(implied) == 13, text
    assert ahead(session) == list(range(2, 15))
    assert session.column(FENCES) == []
    session.rows("reset client_min_messages")
    days = session.column(DAYS)
    session.maintain()
    assert (session.column(DAYS), session.column(FENCES)) == (days, [])


def test_nothing_fails_though_nobody_sweeps_after_a_fence_was_set(
    session: Session, clock: Clock
) -> None:
    drop_days(session)
    session.rows(ROWS, 30_000)
    session.maintain()
    fenced = (session.now() // DAY + 2) * DAY
    clock.advance(4 * DAY)
    session.fill("a", 1)
    assert len(session.drain()) == 1
    latest = "select finished_at from lonnymq.history order by xid desc limit 1"
    assert session.value(latest) == fenced - 1
    clock.advance(16 * DAY)  # the fence ends after the 14th day
    session.fill("a", 1)
    session.drain()
    assert session.value(latest) == clock.now()
    for _ in range(12):
        session.maintain()
    assert session.column(FENCES) == []
    assert ahead(session) == list(range(2, 15))
    assert in_default(session) == 30_002


@on_18
def test_days_that_are_too_old_are_dropped_while_completions_go_on(
    session: Session, open_session: OpenSession, dsn: str, clock: Clock
) -> None:
    session.queue_set(history_keep_ms=DAY)
    clock.advance(3 * DAY)
    with settling(open_session, dsn, 3, most_ms=200):
        eventually(lambda: session.maintain() and min(ahead(session)) == -1)


def test_a_sweep_leaves_the_lock_timeout_of_its_transaction_alone(
    session: Session, clock: Clock
) -> None:
    drop_days(session)
    with session.connection.transaction():
        session.rows("set local lock_timeout = '7s'")
        session.rows("select lonnymq.queue_maintain()")
        assert session.value("show lock_timeout") == "7s"


def test_maintenance_does_not_wait_for_maintenance_in_an_open_transaction(
    open_session: OpenSession, direct_dsn: str, clock: Clock
) -> None:
    """The other one has made partitions, and holds the tables of history."""
    other, session = open_session(direct_dsn), open_session(direct_dsn, impatient=True)
    drop_days(other)
    with other.open():
        other.rows("select lonnymq.queue_maintain()")
        assert ahead(other)
        session.rows("select lonnymq.queue_maintain()")
        assert session.value("select lonnymq.history_prune()") == 0
    session.rows("select lonnymq.queue_maintain()")
    assert ahead(session)
