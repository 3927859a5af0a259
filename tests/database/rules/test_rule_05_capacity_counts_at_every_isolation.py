"""Rule 5: a capacity is counted right, though a transaction that takes messages away began before it was set."""

from collections.abc import Callable

import psycopg
import pytest

from database.claims.claim_reader import Reader
from database.rules.conftest import OpenSession, on_18
from database.rules.factories import Session

CAPACITY = 10
LIVE = 6
Act = Callable[[Session], object]
LEVELS = {
    "read committed": psycopg.IsolationLevel.READ_COMMITTED,
    "repeatable read": psycopg.IsolationLevel.REPEATABLE_READ,
    "serializable": psycopg.IsolationLevel.SERIALIZABLE,
}
every_level = pytest.mark.parametrize("level", LEVELS)


def complete_one_by_one(session: Session) -> Act:
    leases = session.dequeue(3)
    call = "select lonnymq.message_complete(%s::bigint, %s::uuid)"
    return lambda other: [other.value(call, each.id, each.token) for each in leases]


def complete_together(session: Session) -> Act:
    leases = session.dequeue(3)
    return lambda other: other.complete(*leases)


def complete_among_many(session: Session) -> Act:
    session.fill("b", 60)
    leases = session.dequeue(66)
    return lambda other: other.complete(*leases)


def acknowledge(session: Session) -> Act:
    reader = Reader(session)
    token = reader.take(1, 3).token

    def act(other: Session) -> None:
        reader.session = other
        reader.acknowledge(1, token)

    return act


def bury(session: Session) -> Act:
    leases = session.dequeue(3)
    return lambda other: other.settle("fail", leases, deads=[True] * 3)


def cancel(session: Session) -> Act:
    ids = session.column("select id from lonnymq.message order by id limit 3")
    return lambda other: other.rows("select * from lonnymq.message_cancel(%s::bigint[])", ids)


def purge(_: Session) -> Act:
    return lambda other: other.rows("select lonnymq.message_purge('a', 3)")


def redrive(session: Session) -> Act:
    bury(session)(session)
    return lambda other: other.rows("select * from lonnymq.dead_redrive(p_channel => 'a')")


def create_named(_: Session) -> Act:
    return lambda other: other.create_many(["a"] * 3, keys=["x", "y", "z"])


WAYS = {
    each.__name__: each
    for each in (
        complete_one_by_one, complete_together, complete_among_many, acknowledge, bury, cancel,
        purge, redrive, create_named,
    )
}  # fmt: skip


@on_18
@every_level
@pytest.mark.parametrize("way", WAYS)
def test_what_an_older_transaction_does_counts_in_a_capacity_that_was_set_since(
    open_session: OpenSession, dsn: str, level: str, way: str
) -> None:
    session, other = open_session(dsn), open_session(dsn)
    session.fill("a", LIVE)
    session.dequeue(1)
    session.settle("defer", session.dequeue(LIVE))
    act = WAYS[way](session)
    other.connection.isolation_level = LEVELS[level]
    with other.open():
        other.value("select count(*) from lonnymq.channel_setting")  # here its snapshot is taken
        session.set("a", max_size=CAPACITY)
        fold(session)
        act(other)
        fold(session)
    fold(session)
    live = session.value("select count(*) from lonnymq.message where channel = 'a'")
    answers = [each.answer for each in session.create_many(["a"] * CAPACITY)]
    assert answers.count("created") == CAPACITY - live
    assert session.value("select count(*) from lonnymq.message where channel = 'a'") == CAPACITY


def fold(session: Session) -> None:
    """Let the engine take in what it was told, and count again what it wants to count."""
    session.rows("select lonnymq.channel_pause('a')")
    for _ in range(3):
        session.create("elsewhere")
        session.drain()


@on_18
def test_where_no_channel_has_a_capacity_nothing_is_told_of_sizes(session: Session) -> None:
    session.fill("a", 3)
    leases = session.dequeue(3)
    session.complete(leases[0])
    session.rows("select lonnymq.message_complete(%s::bigint, %s::uuid)", *leases[1][:2])
    session.settle("fail", leases[2:], deads=[True])
    assert session.rows("select * from lonnymq.change where size <> 0") == []
