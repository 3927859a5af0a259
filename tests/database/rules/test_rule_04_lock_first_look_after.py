"""Rule 4: what is decided about a channel is decided on locked rows, so nothing is picked twice or deadlocks."""

import random
from collections import Counter
from functools import partial

import psycopg
import pytest

from database.rules.conftest import OpenSession
from database.rules.factories import Session, aside, at_once, numbered
from database.rules.random_operations import Ledger, Mixture
from support import eventually, waits_for_a_lock

DEADLOCKS = "select deadlocks from pg_stat_database where datname = current_database()"


@pytest.mark.parametrize(
    "limits", [{}, {"max_concurrency": 5000}, {"min_interval_ms": 1, "burst": 5000}]
)
def test_eight_consumers_pick_nothing_twice(
    open_session: OpenSession, dsn_18: str, limits: dict[str, int]
) -> None:
    session, channels = open_session(dsn_18), numbered("c", 3)
    for channel in channels:
        session.set(channel, **limits)
        session.fill(channel, 800)

    def consume(seed: int) -> list[int]:
        chance, consumer, had = random.Random(seed), open_session(dsn_18), []
        while leases := consumer.dequeue(chance.randint(1, 9)):
            had += [each.id for each in leases]
        return had

    picked = Counter(
        each for had in at_once([partial(consume, seed) for seed in range(8)]) for each in had
    )
    assert set(picked.values()) == {1}
    assert len(picked) == 2400
    assert session.check() == []


@pytest.mark.parametrize(
    "analysed", [False, True], ids=["statistics of an empty table", "analysed"]
)
def test_a_limit_is_a_limit_whatever_the_statistics_say(session: Session, analysed: bool) -> None:
    session.rows("analyze")  # of tables that are empty
    for channel in numbered("c", 5):
        session.set(channel, weight=3, **({"max_concurrency": 900} if channel < "c2" else {}))
        session.fill(channel, 80)
    if analysed:
        session.rows("analyze")
    for limit in (1, 2, 3, 5, 8, 40, 100):
        assert len(session.dequeue(limit)) == limit
    assert session.value("select lonnymq.message_purge('c1', 5)") == 5
    assert session.check() == []


@pytest.mark.long
@pytest.mark.timeout(180)
def test_sixteen_sessions_with_all_operations_mixed_neither_deadlock_nor_lose_anything(
    open_session: OpenSession, dsn_18: str
) -> None:
    session = open_session(dsn_18)
    session.rows(
        "alter database " + session.connection.info.dbname + " set deadlock_timeout = '100ms'"
    )
    before = session.value(DEADLOCKS)

    ledgers = at_once([partial(Mixture(dsn_18, seed).run, 1250) for seed in range(16)])

    ledger = Ledger.sum(ledgers)
    assert ledger.transactions == 20_000
    assert ledger.failures == Counter()
    assert session.value(DEADLOCKS) == before
    assert set(ledger.done) >= {*Mixture.OPERATIONS}
    assert session.check() == []

    stored = set(session.column("select id from lonnymq.message"))
    dead = set(session.column("select id from lonnymq.dead"))
    completed = set(
        session.column("select message_id from lonnymq.history where outcome = 'completed'")
    )
    assert stored & dead == set()
    assert (stored | dead) & (completed | ledger.cancelled) == set()
    assert completed == ledger.completed
    gone = ledger.created - stored - dead - completed - ledger.cancelled
    assert len(gone) == ledger.purged
    assert stored | dead <= ledger.created


def test_the_count_of_deadlocks_sees_one_that_is_made(
    open_session: OpenSession, dsn_18: str
) -> None:
    one, two, watcher = (open_session(dsn_18) for _ in range(3))
    before = watcher.value(DEADLOCKS)

    for holder, key in ((one, "x"), (two, "y")):
        holder.rows("begin")
        holder.create("a", key=key)
    first = aside(partial(one.create, "a", key="y"))
    eventually(lambda: waits_for_a_lock(watcher.connection, one.pid))
    second = aside(partial(two.create, "a", key="x"))
    failures = [second.exception()]
    two.rows("rollback")
    failures.append(first.exception())
    one.rows("rollback")
    assert [type(each) for each in failures if each] == [psycopg.errors.DeadlockDetected]
    eventually(lambda: watcher.value(DEADLOCKS) == before + 1)
