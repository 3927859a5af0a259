"""Rule 11: there is one clock, epoch(); a test that replaces it owns all of the queue's time, and nobody sleeps."""

from datetime import UTC, datetime

from database.rules.factories import Session
from lonnymq.testing import Clock

LONG_AGO = int(datetime(2001, 1, 1, tzinfo=UTC).timestamp() * 1000)
YEAR = 366 * 86_400_000
TABLES = ["message", "channel", "channel_position", "dead", "history", "lease", "checkpoint"]


def moments(session: Session) -> dict[str, list[int]]:
    """Every time that is stored, by table and column; infinities are no times."""
    columns = session.rows(
        "select table_name as name, column_name as part from information_schema.columns"
        " where table_schema = 'lonnymq' and table_name = any (%s) and data_type = 'bigint'"
        " and column_name like '%%\\_at'",
        TABLES,
    )
    return {
        f"{each.name}.{each.part}": session.column(
            f"select {each.part} from lonnymq.{each.name}"
            f" where {each.part} is not null and abs({each.part}::numeric) < 1e18"
        )
        for each in columns
    }


def test_every_time_that_the_queue_writes_down_is_the_clock_s(
    session: Session, clock: Clock
) -> None:
    clock.set(LONG_AGO)
    session.set("a", max_attempts=1, min_interval_ms=5, max_concurrency=50)
    session.create("a")
    session.settle("fail", session.dequeue())
    for _ in range(8):
        session.create("a")
        session.create("b", delay_ms=1000)
        session.create_many(["c", "d"], delays_ms=[0, 500])
        leases = session.dequeue(2, 2000)
        for how, lease in zip(("complete", "fail"), leases, strict=False):
            session.settle(how, [lease])
        later = session.dequeue(1)
        session.settle("defer", later, delays_ms=[100] * len(later))
        session.settle("heartbeat", session.dequeue(1, 1000))
        clock.advance(700)
        session.maintain()
    seen = moments(session)
    strange = {
        column: [at for at in times if not LONG_AGO <= at <= LONG_AGO + YEAR]
        for column, times in seen.items()
    }
    assert {column: times for column, times in strange.items() if times} == {}
    assert {"message.created_at", "history.finished_at", "dead.died_at", "lease.due_at"} <= {
        column for column, times in seen.items() if times
    }


def test_no_message_is_early_by_a_millisecond_and_none_is_late(
    session: Session, clock: Clock
) -> None:
    hour = 3_600_000
    session.create("by delay", delay_ms=hour)
    session.create("by moment", dequeue_at=clock.now() + hour)
    session.fill("held", 1)
    session.settle("defer", session.dequeue(), delays_ms=[hour])
    clock.advance(hour - 1)
    assert session.dequeue(9) == []
    assert session.retry_at == clock.now() + 1
    clock.advance(1)
    assert {each.channel for each in session.dequeue(9)} == {"by delay", "by moment", "held"}


def test_a_lease_ends_by_the_clock(session: Session, clock: Clock) -> None:
    session.create("a")
    session.dequeue(1, 5000)
    clock.advance(4999)
    assert session.dequeue() == []
    clock.advance(1)
    assert len(session.dequeue()) == 1


def test_a_clock_that_is_set_back_loses_nothing(session: Session, clock: Clock) -> None:
    session.set("rate", min_interval_ms=1000)
    session.fill("rate", 3)
    session.fill("a", 3)
    held = session.dequeue(2, 5000)
    clock.set(clock.now() - 60_000)
    session.fill("a", 1)
    session.dequeue(9, 5000)
    session.complete(*held)
    had = len(held)
    for _ in range(30):
        clock.advance(5000)
        leases = session.dequeue(9, 5000)
        session.complete(*leases)
        had += len(leases)
    assert session.value("select count(*) from lonnymq.message") == 0
    assert session.check() == []


def test_what_is_created_in_one_transaction_keeps_its_order_whatever_the_clock_does(
    session: Session,
) -> None:
    with session.open():
        ids = [session.create("a") for _ in range(5)]
        ids += [each.id for each in session.create_many(["a"] * 5)]
        ids += [session.create("a") for _ in range(5)]
    assert [each.id for each in session.dequeue(15)] == ids
