"""A lake through failovers, dumps, backups and upgrades: it has what the database has, row by row, and says so.

The tasks of a slice are done where the test is, without Spark.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from deltalake import DeltaTable
from faults.proxy import proxy

import lonnymq.lake
from lake.history_fixture import settle
from lake.killed_sync import export_here
from lonnymq import Queue
from lonnymq.analytics.refresh import compute_day_versions
from lonnymq.embedded_postgres import TemporaryServer, temporary
from lonnymq.errors import Unreachable
from lonnymq.lake import DatabaseRestored, IdentifierHidden, LakeBusy, ServerReplaced, WrongDatabase
from lonnymq.lake.location import resolve_lake
from lonnymq.lake.source import identify_source, lock_source, read_rewinds
from lonnymq.lake.syncer import Syncer
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

pytestmark = [pytest.mark.timeout(300), pytest.mark.long]
ALL = "select xid::text::bigint, message_id, attempt, finished_at from lonnymq.history order by 1, 2, 3"
LEASED = """
    insert into lonnymq.message (channel, content, token, lease_until, dequeued_at, attempt)
    values ('acme', 'x', gen_random_uuid(), lonnymq.epoch() + 600000, lonnymq.epoch(), 1) returning id, token
"""
Sync = Callable[..., int]


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    return tmp_path / "lake"


@pytest.fixture
def bring(lake: Path, monkeypatch: pytest.MonkeyPatch) -> Sync:
    """Syncs a database into the lake, without Spark; how many rows were brought."""
    monkeypatch.setattr("lonnymq.lake.syncer.run_export", export_here)

    def sync(dsn: str, *, adopt: bool = False, source: str = "shop", rows: int = 8) -> int:
        settle(dsn)
        with syncer(dsn, lake, adopt=adopt, source=source, rows=rows) as ours:
            return sum(each.rows for each in ours.sync_batches(Event()))

    return sync


def syncer(
    dsn: str, lake: Path, *, rows: int = 8, kind: type[Syncer] = Syncer, **options: Any
) -> Syncer:
    spark: Any = SimpleNamespace(sparkContext=SimpleNamespace(defaultParallelism=2))
    origin = identify_source(dsn, **{"source": "shop", **options})
    return kind(spark, resolve_lake(lake), origin, rows=rows)


def finish(dsn: str, count: int) -> None:
    """Messages that were worked on, each settled in a transaction of its own."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        for _ in range(count):
            leased = connection.execute(LEASED).fetchone()
            connection.execute("select lonnymq.message_complete(%s, %s)", leased)


def rows_of(lake: Path, source: str = "shop") -> list[tuple[Any, ...]]:
    """The rows in the lake, as often as they are in it."""
    table = DeltaTable(lake / "history").to_pyarrow_table(filters=[("source", "=", source)])
    found = table.select(["xid", "message_id", "attempt", "finished_at"]).to_pylist()
    return sorted(
        (
            row["xid"],
            row["message_id"],
            row["attempt"],
            round(row["finished_at"].timestamp() * 1000),
        )
        for row in found
    )


def behind(dsn: str, lake: Path) -> int:
    settle(dsn)
    found = lonnymq.lake.read_status(lake, url=dsn, source="shop").behind
    assert found
    return found.rows


def installed(server: TemporaryServer) -> str:
    with Queue(server.dsn) as queue:
        queue.install()
    return server.dsn


def test_a_promoted_standby_that_lost_the_last_rows(bring: Sync, lake: Path) -> None:
    with temporary() as primary:
        dsn = installed(primary)
        finish(dsn, 20)
        bring(dsn)
        with standby(primary) as server:
            finish(dsn, 5)
            caught_up(primary, server)
            cut_off(server)
            finish(dsn, 60)
            bring(dsn)
            assert len(rows_of(lake)) == 85
            promote(server)  # while the old one still runs
            finish(server.dsn, 70)
            assert behind(server.dsn, lake) == 75
            assert bring(server.dsn) == 75
            assert rows_of(lake) == run(server.dsn, ALL)
            assert behind(server.dsn, lake) == 0

            finish(dsn, 3)
            with pytest.raises(ServerReplaced, match="--adopt"):
                bring(dsn)
            assert rows_of(lake) == run(server.dsn, ALL)

            bring(dsn, adopt=True)  # it was the right one after all
            assert rows_of(lake) == run(dsn, ALL)
            finish(dsn, 3)
            assert bring(dsn) == 3
            with pytest.raises(ServerReplaced):
                bring(server.dsn)


@pytest.mark.parametrize(
    ("old", "new"), [(20_000, 0), (0, 20_000)], ids=["lower ids", "higher ids"]
)
def test_a_restored_dump_is_adopted_at_once(bring: Sync, lake: Path, old: int, new: int) -> None:
    with temporary() as first, temporary() as second:
        dsn = installed(first)
        spend_ids(dsn, old)
        spend_ids(second.dsn, new)
        finish(dsn, 20)
        bring(dsn)
        finish(dsn, 10)
        dumped = dump(dsn)
        finish(dsn, 30)
        bring(dsn)
        restore(dumped, second.dsn)
        finish(second.dsn, 40)
        with pytest.raises(WrongDatabase, match="--adopt"):
            bring(second.dsn)
        assert bring(second.dsn, adopt=True) == 50
        assert rows_of(lake) == run(second.dsn, ALL)
        finish(second.dsn, 5)
        assert behind(second.dsn, lake) == 5
        assert bring(second.dsn) == 5
        assert rows_of(lake) == run(second.dsn, ALL)

        # The first one is still there: as another source it is brought whole, as the same one it is rejected.
        with pytest.raises(WrongDatabase):
            bring(dsn)
        assert bring(dsn, source="first") == 60
        assert rows_of(lake, "first") == run(dsn, ALL)
        # To go back to it is to go back to where they parted.
        bring(dsn, adopt=True)
        assert rows_of(lake) == run(dsn, ALL)


def test_a_dump_restored_in_its_own_place_needs_no_word(
    bring: Sync, lake: Path, dsn_18: str
) -> None:
    finish(dsn_18, 10)
    bring(dsn_18)
    dumped = dump(dsn_18)
    finish(dsn_18, 10)
    bring(dsn_18)
    run(dsn_18, "drop schema lonnymq cascade")
    restore(dumped, dsn_18)
    finish(dsn_18, 3)
    bring(dsn_18)
    assert rows_of(lake) == run(dsn_18, ALL)
    assert len(rows_of(lake)) == 13


def test_an_upgraded_server_is_adopted_and_nothing_is_brought_twice(
    bring: Sync, lake: Path, debian_15: Path
) -> None:
    with temporary(debian_15) as old:
        dsn = installed(old)
        finish(dsn, 10)
        bring(dsn)
        finish(dsn, 5)
        old.stop()
        with upgraded(old) as server:
            finish(server.dsn, 5)
            with pytest.raises(WrongDatabase):
                bring(server.dsn)
            assert bring(server.dsn, adopt=True) == 10
            assert rows_of(lake) == run(server.dsn, ALL)


def test_a_backup_that_was_recovered_to_an_earlier_moment(bring: Sync, lake: Path) -> None:
    with archiving() as (source, archive):
        dsn = installed(source)
        finish(dsn, 10)
        with base_backup(source, "-X", "none") as cluster:
            finish(dsn, 5)
            bring(dsn)
            finish(dsn, 5)
            run(dsn, "select pg_create_restore_point('here')")
            finish(dsn, 20)
            bring(dsn)
            assert len(rows_of(lake)) == 40
            with restored_to(source, cluster, archive, "here") as server:
                finish(server.dsn, 15)
                bring(server.dsn)
                assert rows_of(lake) == run(server.dsn, ALL)
                assert len(rows_of(lake)) == 35
                assert behind(server.dsn, lake) == 0


def test_files_that_were_put_back_under_a_server_are_noticed(bring: Sync, lake: Path) -> None:
    """A disk's snapshot has the same identifier and timeline as what became of it since."""
    with temporary() as server:
        dsn = installed(server)
        finish(dsn, 10)
        bring(dsn)
        server.stop()
        kept = copy_of(server)
        server.start()
        finish(dsn, 10)
        bring(dsn)
        server.stop()
        put_back(server, kept)
        server.start()
        finish(dsn, 15)
        assert behind(dsn, lake) == 15
        bring(dsn)
        assert rows_of(lake) == run(dsn, ALL)


def copy_of(server: TemporaryServer) -> Path:
    import subprocess

    kept = server.cluster.folder / "kept"
    subprocess.run(["cp", "-a", server.cluster.data, kept], check=True)
    return kept


def put_back(server: TemporaryServer, kept: Path) -> None:
    server.cluster.data.rename(server.cluster.folder / "gone")
    kept.rename(server.cluster.data)


def test_a_database_from_before_the_first_sync_is_refused(bring: Sync, lake: Path) -> None:
    with temporary() as first, temporary() as second:
        dsn = installed(first)
        finish(dsn, 5)
        dumped = dump(dsn)
        bring(dsn)
        restore(dumped, second.dsn)
        with pytest.raises(DatabaseRestored, match="--source"):
            bring(second.dsn, adopt=True)
        assert rows_of(lake) == run(dsn, ALL)
        assert bring(second.dsn, source="second") == 5


def test_figures_of_days_that_were_replaced_are_computed_again(
    bring: Sync, lake: Path, dsn_18: str
) -> None:
    """A day may have as many rows as before, and others."""
    finish(dsn_18, 5)
    bring(dsn_18)
    before = compute_day_versions(DeltaTable(lake / "history"))
    dumped = dump(dsn_18)
    finish(dsn_18, 5)
    bring(dsn_18)
    old = compute_day_versions(DeltaTable(lake / "history"))
    run(dsn_18, "drop schema lonnymq cascade")
    restore(dumped, dsn_18)
    finish(dsn_18, 5)
    bring(dsn_18)
    new = compute_day_versions(DeltaTable(lake / "history"))
    assert [rows for _, rows in new.values()] == [rows for _, rows in old.values()] == [10]
    assert len({*before.values(), *old.values(), *new.values()}) == 3


@pytest.mark.parametrize("source", ["o'hara", "ü / %41 [*]"])
def test_only_the_rows_of_the_source_are_taken_out(
    bring: Sync, lake: Path, dsn_18: str, source: str
) -> None:
    finish(dsn_18, 9)
    bring(dsn_18)
    bring(dsn_18, source=source)
    dumped = dump(dsn_18)
    finish(dsn_18, 9)
    bring(dsn_18)
    bring(dsn_18, source=source)
    lonnymq.lake.compact(lake)  # files have rows from before and after
    before = rows_of(lake)
    run(dsn_18, "drop schema lonnymq cascade")
    restore(dumped, dsn_18)
    finish(dsn_18, 2)
    bring(dsn_18, source=source)
    assert rows_of(lake) == before
    assert rows_of(lake, source) == run(dsn_18, ALL)


def test_a_reader_that_was_forgotten_goes_on(bring: Sync, lake: Path, dsn_18: str) -> None:
    finish(dsn_18, 5)
    bring(dsn_18)
    with Queue(dsn_18) as queue:
        [reader] = queue.history_reader_list()
        queue.history_forget(reader.name)
    finish(dsn_18, 5)
    assert bring(dsn_18) == 5
    assert rows_of(lake) == run(dsn_18, ALL)


def test_a_sync_of_the_old_server_cannot_commit_once_the_lake_went_on(
    bring: Sync, lake: Path, dsn_18: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each server has a lock of its own: two syncs may be at work at once."""
    finish(dsn_18, 5)
    bring(dsn_18)
    finish(dsn_18, 5)
    settle(dsn_18)
    with syncer(dsn_18, lake) as ours:
        done = ours.commit

        def late(files: Any, since: int | None, upto: int) -> None:
            """Another sync goes back, and comes to where this one began."""
            with syncer(dsn_18, lake) as other:
                other.database = ours.database
                table = other.table()
                other.rewinds = read_rewinds(table, "shop")
                assert since is not None
                other.rewind(table, since, since - 1)
                other.commit([], since - 1, since)
            done(files, since, upto)

        monkeypatch.setattr(ours, "commit", late)
        with pytest.raises(LakeBusy):
            list(ours.sync_batches(Event()))


def test_a_slice_is_confirmed_on_the_server_that_cut_it(
    bring: Sync, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A standby takes over, at the same address, between the commit of a slice and its confirmation."""
    with temporary() as primary, proxy(primary.cluster.socket_folder) as address:
        finish(installed(primary), 5)
        bring(address.dsn)
        with standby(primary) as server:
            caught_up(primary, server)
            cut_off(server)
            finish(address.dsn, 5)
            settle(address.dsn)
            with syncer(address.dsn, lake) as ours:
                commit = ours.commit

                def fails_over(*given: Any) -> None:
                    commit(*given)
                    address.upstream = server.cluster.socket_folder
                    primary.stop("immediate")
                    promote(server)
                    finish(server.dsn, 20)
                    settle(server.dsn)

                monkeypatch.setattr(ours, "commit", fails_over)
                with pytest.raises(psycopg.OperationalError):
                    list(ours.sync_batches(Event()))
            assert behind(address.dsn, lake) == 20
            assert bring(address.dsn) == 20
            assert rows_of(lake) == run(server.dsn, ALL)


def test_a_standby_is_looked_at_and_waited_for(bring: Sync, lake: Path) -> None:
    with temporary() as primary:
        dsn = installed(primary)
        finish(dsn, 5)
        bring(dsn)
        with standby(primary) as server:
            finish(dsn, 3)
            caught_up(primary, server)
            version = DeltaTable(lake / "history").version()
            with pytest.raises(Unreachable, match="is a standby"), syncer(server.dsn, lake) as ours:
                list(ours.sync_batches(Event()))
            assert DeltaTable(lake / "history").version() == version
            found = lonnymq.lake.read_status(lake, url=server.dsn, source="shop").behind
            assert found
            assert (found.rows, found.rewind_to) == (3, None)
            assert bring(dsn) == 3


def test_who_may_not_ask_for_the_identifier_is_told_what_to_grant() -> None:
    with temporary() as server:
        dsn = installed(server)
        run(dsn, "revoke execute on function pg_control_system() from public")
        run(dsn, "create role somebody login; grant pg_read_all_data to somebody")
        with pytest.raises(IdentifierHidden, match="grant execute on function pg_control_system"):
            identify_source(dsn.replace("postgres@", "somebody@"))


def test_a_turn_holds_nothing_back_before_it_confirms(dsn_18: str, lake: Path) -> None:
    with (
        syncer(dsn_18, lake) as ours,
        lock_source(ours.database, ours.reader, Event()) as transaction,
    ):
        assert transaction is not None
        ours.find_start(transaction)
        transaction.queue.history_cut(0)
        transaction.release_snapshot()
        pid = transaction.connection.info.backend_pid
        seen = f"select backend_xid, backend_xmin from pg_stat_activity where pid = {pid}"
        assert run(dsn_18, seen) == [(None, None)]
