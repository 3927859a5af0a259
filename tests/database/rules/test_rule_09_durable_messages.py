"""Rule 9: a crash of the server loses no message and no completion; only the commit of a dequeue is not waited for."""

from collections.abc import Iterator

import pytest

from database.rules.conftest import on_18
from database.rules.factories import Session
from lonnymq import install
from lonnymq.embedded_postgres import TemporaryServer, temporary
from lonnymq.testing import Clock

WRITERS = {
    "message_create": "select lonnymq.message_create('a', '')",
    "message_create_many": "select lonnymq.message_create_many(array['a'], array[''::bytea])",
    "message_announce": "select lonnymq.message_announce(array['a'])",
    "message_complete": "select lonnymq.message_complete({id}, '{token}')",
    "message_defer": "select lonnymq.message_defer({id}, '{token}')",
    "message_fail": "select lonnymq.message_fail({id}, '{token}')",
    "message_cancel": "select lonnymq.message_cancel({waiting})",
    "message_purge": "select lonnymq.message_purge('a')",
    "dead_redrive": "select lonnymq.dead_redrive(p_channel => 'a')",
    "dead_purge": "select lonnymq.dead_purge(p_channel => 'a')",
    "channel_set": "select lonnymq.channel_set('a', '{{\"weight\": 7}}')",
    "channel_pause": "select lonnymq.channel_pause('a')",
    "channel_retire": "select lonnymq.channel_retire('a')",
    "queue_set": "select lonnymq.queue_set('{{\"max_concurrency\": 7}}')",
}


def relaxed(session: Session) -> bool:
    return session.value("select current_setting('synchronous_commit')") == "off"


def test_the_commit_of_a_dequeue_is_relaxed_and_nothing_after_it(session: Session) -> None:
    session.create("a")
    with session.open():
        assert not relaxed(session)
        assert len(session.dequeue_once()) == 1
        assert relaxed(session)
    with session.open():
        assert not relaxed(session)


@on_18
@pytest.mark.parametrize("writer", WRITERS)
def test_what_is_written_after_a_dequeue_in_its_transaction_is_durable(
    session: Session, writer: str
) -> None:
    session.fill("a", 2)
    waiting = session.create("a", delay_ms=60_000)
    with session.open():
        [lease, *_] = session.dequeue_once()
        assert relaxed(session)
        session.rows(WRITERS[writer].format(id=lease.id, token=lease.token, waiting=waiting))
        assert not relaxed(session)


def test_two_idle_dequeues_before_a_create_leave_it_durable(session: Session) -> None:
    with session.open():
        session.dequeue_once()
        session.dequeue_once()
        session.create("a")
        assert not relaxed(session)


def test_a_caller_who_had_relaxed_the_commit_himself_keeps_it_so(session: Session) -> None:
    with session.open():
        session.rows("set local synchronous_commit = 'off'")
        session.dequeue_once()
        session.create("a")
        assert relaxed(session)


def test_creates_and_settlements_never_relax_the_caller_s_transaction(session: Session) -> None:
    session.fill("a", 4)
    leases = session.dequeue(4)
    with session.open():
        session.create("a")
        for how, lease in zip(("complete", "defer", "fail", "heartbeat"), leases, strict=True):
            session.settle(how, [lease])
            assert not relaxed(session)


@pytest.fixture(scope="module")
def fragile() -> Iterator[TemporaryServer]:
    """A server that writes what was relaxed only after ten seconds, so that a crash loses it."""
    with temporary(wal_writer_delay="10s", max_connections=30) as server:
        install(server.dsn)
        yield server


def crash(server: TemporaryServer) -> Session:
    server.stop("immediate")
    server.start()
    return Session(server.dsn)


def test_a_crash_after_a_relaxed_dequeue_loses_no_message_and_no_completion(
    fragile: TemporaryServer,
) -> None:
    with Session(fragile.dsn) as session:
        session.set("limited", max_concurrency=30)
        created = {*session.fill("a", 60), *session.fill("limited", 60)}
        completed = session.dequeue(40)
        assert set(session.complete(*completed)) == {"completed"}
        lost = session.dequeue(30)
        assert len(lost) == 30
        flushed = session.value("select pg_current_wal_flush_lsn() < pg_current_wal_insert_lsn()")
        assert flushed, "the dequeue waited for the disk"

    with crash(fragile) as session:
        assert session.check() == []
        done = set(
            session.column("select message_id from lonnymq.history where outcome = 'completed'")
        )
        assert done == {each.id for each in completed}
        assert set(session.column("select id from lonnymq.message")) == created - done
        # The leases that were lost are free at once; any that were not would run out in their time.
        clock = Clock(fragile.dsn)
        clock.advance(60_000)
        delivered = session.drain(200)
        clock.close()
        assert {each.id for each in delivered} == created - done
        assert session.check() == []


def test_a_completion_that_was_acknowledged_survives_the_crash_that_follows_at_once(
    fragile: TemporaryServer,
) -> None:
    with Session(fragile.dsn) as session:
        session.create("b")
        leases = session.dequeue()
        session.complete(*leases)
        created = session.create("c")
    with crash(fragile) as session:
        assert (
            session.value(
                "select count(*) from lonnymq.history where message_id = %s", leases[0].id
            )
            == 1
        )
        assert session.value("select count(*) from lonnymq.message where id = %s", created) == 1
        session.drain()


def test_a_create_whose_commit_is_not_waited_for_is_lost_by_such_a_crash(
    fragile: TemporaryServer,
) -> None:
    """The crash is a real one: this is what the rule guards against."""
    with Session(fragile.dsn) as session:
        session.rows("checkpoint")
        with session.open():
            session.rows("set local synchronous_commit = 'off'")
            lost = session.create("d")
    with crash(fragile) as session:
        assert session.value("select count(*) from lonnymq.message where id = %s", lost) == 0
