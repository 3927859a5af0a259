"""A queue that was dumped and restored into another cluster delivers everything, whatever its transaction ids are."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from database.rules.conftest import OpenSession
from database.rules.factories import Session
from lonnymq.embedded_postgres import temporary
from lonnymq.embedded_postgres.cluster import embedded_binaries
from lonnymq.testing import run, with_database
from support import Target

AHEAD = 30_000


def use_ids(session: Session, count: int) -> None:
    """Let so many transactions pass, so that the cluster's ids go on by as many."""
    session.rows(
        f"do $$ begin for i in 1 .. {count} loop perform pg_current_xact_id(); commit; end loop; end $$"
    )


def last_id(session: Session) -> int:
    return session.value("select pg_snapshot_xmax(pg_current_snapshot())::text::bigint")


@pytest.fixture
def fresh_server() -> Iterator[str]:
    """A cluster that has just been made: its transaction ids are low."""
    with temporary(max_connections=30) as server:
        yield server.dsn


def dump_and_restore(source: str, server: str, folder: Path) -> str:
    """Carry a database over with pg_dump and psql, and return the DSN of the new one."""
    file = folder / "dump.sql"
    dump = [str(embedded_binaries() / "pg_dump"), "--no-owner", "--file", str(file), source]
    subprocess.run(dump, check=True)
    run(server, "create database restored")
    target = with_database(server, "restored")
    restore = [str(embedded_binaries() / "psql"), "-q", "-v", "ON_ERROR_STOP=1", "-o", "/dev/null"]
    subprocess.run([*restore, "-f", str(file), target], check=True)
    return target


def make_traffic(session: Session) -> set[int]:
    """Messages that are seated, leased, held at a limit, asleep, or told of and not folded; returns their ids."""
    session.set("limited", max_concurrency=2)
    session.create("idle")
    session.drain()
    session.fill("seated", 3)
    session.fill("limited", 3)
    session.create("asleep", delay_ms=10_000)
    assert len(session.dequeue(4, 1000)) == 4
    session.create("idle")
    session.create("not folded")
    return set(session.column("select id from lonnymq.message"))


def deliver_all(session: Session, clock_ms: int) -> set[int]:
    """Dequeue and complete until nothing is to be had any more, some time later; no sweep, no repair."""
    session.rows(
        "create or replace function lonnymq.epoch(p_at timestamptz default clock_timestamp()) returns bigint"
        f" language sql volatile as 'select floor(extract(epoch from p_at) * 1000)::bigint + {clock_ms}'"
    )
    return {each.id for each in session.drain()}


@pytest.mark.long
@pytest.mark.parametrize("first", ["producers", "consumers"])
@pytest.mark.parametrize("server", ["server_18", "server_15"], indirect=True)
def test_everything_is_delivered_after_a_restore_into_a_cluster_with_lower_ids(
    open_session: OpenSession,
    server: Target,
    dsn: str,
    fresh_server: str,
    tmp_path: Path,
    first: str,
) -> None:
    source = open_session(dsn)
    use_ids(source, AHEAD)
    expected = make_traffic(source)
    restored = open_session(dump_and_restore(dsn, fresh_server, tmp_path))
    assert last_id(restored) < last_id(source)
    if first == "consumers":
        assert len(restored.dequeue(1, 1)) == 1
    for number in range(3):
        expected |= {restored.create("idle"), restored.create(f"new {number}")}
    use_ids(restored, last_id(source) - last_id(restored) + 1000)
    expected |= {restored.create("idle"), restored.create("newest")}
    assert expected - deliver_all(restored, 60_000) == set()
    assert restored.check() == []


@pytest.mark.parametrize("first", ["producers", "consumers"])
def test_everything_is_delivered_after_a_restore_into_a_cluster_with_higher_ids(
    open_session: OpenSession, dsn_18: str, fresh_server: str, tmp_path: Path, first: str
) -> None:
    source, elsewhere = open_session(dsn_18), open_session(fresh_server)
    expected = make_traffic(source)
    use_ids(elsewhere, last_id(source) + AHEAD)
    restored = open_session(dump_and_restore(dsn_18, fresh_server, tmp_path))
    assert last_id(restored) > last_id(source)
    if first == "consumers":
        assert len(restored.dequeue(1, 1)) == 1
    expected |= {restored.create("idle"), restored.create("new")}
    assert expected - deliver_all(restored, 60_000) == set()
    assert restored.check() == []


@pytest.mark.long
def test_a_restored_queue_that_has_nothing_to_fold_delivers_what_comes_after_its_backlog(
    open_session: OpenSession, dsn_18: str, fresh_server: str, tmp_path: Path
) -> None:
    source = open_session(dsn_18)
    use_ids(source, AHEAD)
    made = source.fill("seated", 3)
    assert len(source.dequeue()) == 1
    source.maintain()
    restored = open_session(dump_and_restore(dsn_18, fresh_server, tmp_path))
    assert [each.id for _ in made[1:] for each in restored.dequeue()] == made[1:]
    new = restored.create("new")
    assert [each.id for each in restored.drain()] == [new]
    assert restored.check() == []


@pytest.mark.long
def test_what_a_restored_queue_does_not_deliver_by_itself_is_found_by_its_check(
    open_session: OpenSession, dsn_18: str, fresh_server: str, tmp_path: Path
) -> None:
    source = open_session(dsn_18)
    use_ids(source, AHEAD)
    source.create("idle")
    source.drain()
    assert source.dequeue() == []
    restored = open_session(dump_and_restore(dsn_18, fresh_server, tmp_path))
    made = restored.create("idle")
    use_ids(restored, last_id(source) - last_id(restored) + 1000)
    found = restored.check()
    had = restored.drain()
    if not had:
        assert found != []
        restored.rows("select * from lonnymq.queue_repair()")
        had = restored.drain()
    assert [each.id for each in had] == [made]
