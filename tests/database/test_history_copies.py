"""A reader of history through dumps, failovers, backups, upgrades and replication: each row once, none missed.

Ids of transactions mean something else in another cluster. The reader here keeps rows and its place by itself, as a
lake does, and asks the database before each slice where to go on.
"""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from lonnymq import Queue
from lonnymq.embedded_postgres import TemporaryServer, temporary
from lonnymq.errors import AboveHorizon
from server_copies import (
    archiving,
    base_backup,
    caught_up,
    cut_off,
    dump,
    promote,
    restore,
    restored_to,
    run,
    spend_ids,
    standby,
    upgraded,
)
from support import eventually

pytestmark = pytest.mark.timeout(300)
ALL = "select message_id, attempt from lonnymq.history order by 1, 2"

LEASED = """
    insert into lonnymq.message (channel, content, token, lease_until, dequeued_at, attempt)
    values ('acme', 'x', gen_random_uuid(), lonnymq.epoch() + 600000, lonnymq.epoch(), 1) returning id, token
"""


class Reader:
    """Keeps the rows that it has read by their positions."""

    def __init__(self) -> None:
        self.position = 0
        self.rows: list[tuple[int, int, int]] = []

    def read(self, dsn: str, *, confirm: bool = True) -> str:
        """All that is settled, in one slice; what the database said where to go on."""
        with psycopg.connect(dsn) as connection:
            queue = Queue(connection)
            found = queue.history_resume("reader", self.position)
            if found.answer == "rewind":
                self.rows = [row for row in self.rows if row[0] < found.since]
            for part in queue.history_cut(found.since, rows=10):
                for row in queue.history_read(part.since, upto=part.upto):
                    self.rows.append((row.xid, row.message_id, row.attempt))
                self.position = part.upto
            if confirm:
                queue.history_confirm("reader", upto=self.position)
        return found.answer

    def catches_up(self, dsn: str) -> str:
        """Read once nothing holds history back."""
        with Queue(dsn) as queue:
            eventually(lambda: not queue.history_lag(0).is_held)
        return self.read(dsn)

    @property
    def found(self) -> list[tuple[int, int]]:
        return sorted(row[1:] for row in self.rows)


def finish(dsn: str, count: int) -> None:
    """Messages that were worked on, each settled in a transaction of its own. Nothing is dequeued for it."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        for _ in range(count):
            leased = connection.execute(LEASED).fetchone()
            connection.execute("select lonnymq.message_complete(%s, %s)", leased)


def installed(server: TemporaryServer) -> str:
    with Queue(server.dsn) as queue:
        queue.install()
    return server.dsn


def generation(dsn: str) -> int:
    return run(dsn, "select g from lonnymq.queue_generation() g")[0][0]


@pytest.mark.parametrize(
    ("old", "new"), [(20_000, 0), (0, 20_000)], ids=["lower ids", "higher ids"]
)
def test_a_dump_is_read_on_whoever_comes_first(old: int, new: int) -> None:
    with temporary() as first, temporary() as second:
        dsn, reader = installed(first), Reader()
        spend_ids(dsn, old)
        spend_ids(second.dsn, new)
        finish(dsn, 20)
        reader.catches_up(dsn)
        finish(dsn, 5)  # in the dump, unread
        dumped = dump(dsn)
        finish(dsn, 7)  # read, and not in the dump
        reader.catches_up(dsn)
        assert len(reader.rows) == 32

        restore(dumped, second.dsn)
        assert generation(second.dsn) == 1
        finish(second.dsn, 10)  # before anybody has swept, sampled or read
        with Queue(second.dsn) as queue:
            assert (
                queue.history_lag(queue.history_resume("reader", reader.position).since).ready == 15
            )
        assert reader.catches_up(second.dsn) == "rewind"
        assert reader.found == run(second.dsn, ALL)
        finish(second.dsn, 3)
        assert reader.catches_up(second.dsn) == "continue"
        assert reader.found == run(second.dsn, ALL)
        assert len(reader.rows) == 38
        with Queue(second.dsn) as queue:
            assert queue.history_lag(reader.position).ready == 0


@pytest.mark.long
def test_each_restore_is_a_generation_of_its_own(dsn_18: str) -> None:
    finish(dsn_18, 2)
    reader = Reader()
    reader.catches_up(dsn_18)
    dsn = dsn_18
    for number in (1, 2, 3):
        dumped = dump(dsn)
        with temporary() as server:
            restore(dumped, server.dsn)
            assert generation(server.dsn) == number
            finish(server.dsn, 2)
            reader.catches_up(server.dsn)
            assert reader.found == run(server.dsn, ALL)
            assert generation(server.dsn) == number
            dumped = dump(server.dsn)
        run(dsn_18, "drop schema lonnymq cascade")
        restore(dumped, dsn_18)  # once more, into a cluster that it has been in
        run(dsn_18, "update lonnymq.queue set generation = generation - 1")
        with Queue(dsn_18) as queue:
            queue.maintain()
        assert generation(dsn_18) == number


def test_a_sweep_or_a_setting_writes_the_generation_down_and_changes_it_for_nobody(
    dsn_18: str,
) -> None:
    stored = "select q.generation, g from lonnymq.queue q, lonnymq.queue_generation() g"
    dumped = dump(dsn_18)
    for act in (lambda queue: queue.maintain(), lambda queue: queue.set(max_concurrency=3)):
        with temporary() as server:
            restore(dumped, server.dsn)
            assert run(server.dsn, stored) == [(0, 1)]
            with Queue(server.dsn) as queue:
                act(queue)
            assert run(server.dsn, stored) == [(1, 1)]


def test_a_setting_inside_a_savepoint_is_no_restore(
    dsn: str, connection: psycopg.Connection
) -> None:
    with connection.transaction(), connection.transaction():
        Queue(connection).set(max_concurrency=3)
    assert generation(dsn) == 0
    Queue(connection).set(max_concurrency=4)
    assert generation(dsn) == 0


def test_an_install_inside_a_savepoint_is_no_restore(dsn_18: str) -> None:
    with psycopg.connect(dsn_18) as connection, connection.transaction(), connection.transaction():
        Queue(connection, schema="second").install()
    assert run(dsn_18, "select g from second.queue_generation() g") == [(0,)]


def test_rows_may_move_without_being_restored(dsn_18: str) -> None:
    run(dsn_18, "vacuum full lonnymq.queue")
    run(dsn_18, "vacuum freeze lonnymq.queue")
    run(dsn_18, "vacuum full freeze lonnymq.queue")
    assert generation(dsn_18) == 0


@pytest.mark.long
def test_a_promoted_standby_that_lost_the_last_rows_is_read_again_from_what_it_knows() -> None:
    with temporary() as primary:
        dsn, reader = installed(primary), Reader()
        finish(dsn, 10)
        reader.catches_up(dsn)
        with standby(primary) as server:
            finish(dsn, 5)
            caught_up(primary, server)
            cut_off(server)
            finish(dsn, 30)  # which the standby never hears of
            reader.catches_up(dsn)
            assert len(reader.rows) == 45
            primary.stop("immediate")
            promote(server)
            finish(server.dsn, 40)  # with ids that the lost ones had
            assert reader.catches_up(server.dsn) == "rewind"
            assert reader.found == run(server.dsn, ALL)
            assert len(reader.rows) == 55
            finish(server.dsn, 2)
            assert reader.catches_up(server.dsn) == "continue"
            assert reader.found == run(server.dsn, ALL)


@pytest.mark.long
def test_a_backup_that_was_recovered_to_an_earlier_moment_is_read_again_from_there() -> None:
    with archiving() as (source, archive):
        dsn, reader = installed(source), Reader()
        finish(dsn, 10)
        with base_backup(source, "-X", "none") as cluster:
            finish(dsn, 5)
            reader.catches_up(dsn)
            finish(dsn, 5)
            run(dsn, "select pg_create_restore_point('here')")
            finish(dsn, 20)
            reader.catches_up(dsn)
            with restored_to(source, cluster, archive, "here") as server:
                finish(server.dsn, 15)
                assert reader.catches_up(server.dsn) == "rewind"
                assert reader.found == run(server.dsn, ALL)
                assert len(reader.rows) == 35


@pytest.mark.long
def test_a_crash_that_loses_what_was_not_flushed_is_read_again() -> None:
    """Commits that nobody waited for: the reader has them, the server that recovers does not."""
    with temporary(synchronous_commit=False, wal_writer_delay="10s", fsync=True) as server:
        dsn, reader = installed(server), Reader()
        finish(dsn, 5)
        reader.catches_up(dsn)
        run(dsn, "checkpoint")
        finish(dsn, 5)
        with Queue(dsn) as queue:
            eventually(lambda: not queue.history_lag(0).is_held)
        reader.read(dsn, confirm=False)
        server.stop("immediate")
        server.start()
        assert len(run(dsn, ALL)) < 10
        finish(dsn, 3)
        reader.catches_up(dsn)
        assert reader.found == run(dsn, ALL)


def test_an_upgrade_from_15_to_18_is_read_on(debian_15: Path) -> None:
    with temporary(debian_15) as old:
        dsn, reader = installed(old), Reader()
        finish(dsn, 10)
        reader.catches_up(dsn)
        finish(dsn, 5)
        old.stop()
        with upgraded(old) as server:
            assert generation(server.dsn) == 0
            finish(server.dsn, 5)
            assert reader.catches_up(server.dsn) == "continue"
            assert reader.found == run(server.dsn, ALL)
            assert len(reader.rows) == 20


@pytest.mark.long
def test_what_a_subscription_brings_is_read_once_it_is_dropped() -> None:
    """The rows come in the order of commits, and none of their positions is final while they come."""
    with temporary(wal_level="logical") as first, temporary() as second:
        dsn, reader = installed(first), Reader()
        spend_ids(second.dsn, 20_000)
        finish(dsn, 5)
        reader.catches_up(dsn)
        restore(dump(dsn, "--schema-only"), second.dsn)
        run(dsn, "create publication everything for tables in schema lonnymq")
        address = f"host={first.cluster.socket_folder} port=5432 user=postgres dbname=postgres"
        run(second.dsn, f"create subscription copy connection '{address}' publication everything")
        finish(dsn, 5)
        eventually(lambda: run(second.dsn, ALL) == run(dsn, ALL))
        with pytest.raises(AboveHorizon, match="subscription"):
            reader.read(second.dsn)
        run(second.dsn, "drop subscription copy")
        assert generation(second.dsn) == 1
        reader.catches_up(second.dsn)
        assert reader.found == run(second.dsn, ALL)
        assert len(reader.rows) == 10


def test_a_reader_that_nobody_knows_is_told_so(dsn: str) -> None:
    with Queue(dsn) as queue:
        assert (
            queue.history_resume("reader", 0).answer,
            queue.history_resume("reader", 0).since,
        ) == ("unknown", 0)
        assert queue.history_resume("reader", 5).since == 5
        assert queue.history_resume("reader", 10**12).since == 0
        queue.history_confirm("reader", upto=5)
        assert queue.history_resume("reader", 3).answer == "continue"
        found = queue.history_resume("reader", 9)
        assert (found.answer, found.since) == ("rewind", 5)


@pytest.mark.long
def test_samples_count_what_was_restored_once() -> None:
    """The ids of the restored rows are higher than any that the new cluster has had."""
    now, counted = 4_102_444_800_000, "select completed from lonnymq.sample order by at"
    with temporary() as first, temporary() as second:
        dsn = installed(first)
        spend_ids(dsn, 20_000)
        finish(dsn, 20)
        run(dsn, f"select lonnymq.sample_take({now})")
        finish(dsn, 5)
        restore(dump(dsn), second.dsn)
        finish(second.dsn, 3)
        for later in (10_000, 20_000, 30_000):
            run(second.dsn, f"select lonnymq.sample_take({now + later})")
            if later == 10_000:
                finish(second.dsn, 2)
        assert [row[0] for row in run(second.dsn, counted)] == [0, 8, 2, 0]
