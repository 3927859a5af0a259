"""How far the lake is behind, and what holds the rest back."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import psycopg
import pytest

import lonnymq.lake
from commands import run
from lake.history_fixture import DAY, NOON, HistoryFixture, settle
from lonnymq.lake.maintenance import LakeStatus
from support import eventually, fetch_row


def status(history_fixture: HistoryFixture, lake: Path) -> LakeStatus:
    return lonnymq.lake.read_status(lake, url=history_fixture.dsn, source="shop")


def test_a_lake_that_has_all_is_not_behind(
    sync, history_fixture: HistoryFixture, tmp_path: Path
) -> None:
    history_fixture.add(2)
    history_fixture.add(3, at=NOON + DAY)
    done = sync()
    found = status(history_fixture, tmp_path / "lake")
    (source,) = found.sources
    assert (source.source, source.rows, source.files, source.bytes) == (
        "shop",
        5,
        done.files,
        done.bytes,
    )
    assert (source.first_day, source.last_day) == (date(2030, 1, 1), date(2030, 1, 2))
    behind = found.behind
    assert behind
    assert (behind.rows, behind.behind_ms, behind.transactions, behind.upto) == (0, 0, 0, done.upto)
    assert behind.confirmed == done.upto
    assert [each.name for each in found.readers] == [behind.reader]


def test_the_lag_is_told_in_rows_time_and_transactions(
    sync, history_fixture: HistoryFixture, watcher: psycopg.Connection, tmp_path: Path
) -> None:
    sync()
    [now] = fetch_row(watcher, "select lonnymq.epoch()")
    with psycopg.connect(history_fixture.dsn, autocommit=True) as connection:
        for minutes in (10, 5, 1):
            history_fixture.insert(connection, 2, at=now - minutes * 60_000)
    settle(history_fixture.dsn)
    behind = status(history_fixture, tmp_path / "lake").behind
    assert behind
    assert (behind.rows, behind.rows_held) == (6, 0)
    assert behind.behind_ms >= 10 * 60_000
    assert behind.transactions >= 3


def test_what_holds_it_back_is_named(sync, history_fixture: HistoryFixture, tmp_path: Path) -> None:
    sync()
    settle(history_fixture.dsn)
    with psycopg.connect(history_fixture.dsn, application_name="nightly job") as slow:
        pid = slow.info.backend_pid
        history_fixture.insert(slow, 1)
        history_fixture.add(4)
        behind = status(history_fixture, tmp_path / "lake").behind
        assert behind
        assert (behind.rows, behind.rows_held, behind.lag.is_held) == (4, 4, True)
        lag = behind.lag
        assert (lag.holder_pid, lag.holder_application) == (pid, "nightly job")
        assert lag.holder_state == "idle in transaction"
        shown = run(
            "lake",
            "status",
            "--lake",
            tmp_path / "lake",
            "--source",
            "shop",
            dsn=history_fixture.dsn,
        )
        assert shown.code == 0, shown.err
        assert f"pid {pid}, nightly job" in shown.out
        assert "4 rows, 0 ready, 4 held back" in shown.out
        slow.rollback()
    settle(history_fixture.dsn)
    behind = status(history_fixture, tmp_path / "lake").behind
    assert behind
    assert behind.rows_held == 0


@pytest.mark.long
def test_somebody_who_only_reads_holds_nothing_back(
    sync, history_fixture: HistoryFixture, watcher: psycopg.Connection, tmp_path: Path, found
) -> None:
    with psycopg.connect(history_fixture.dsn) as reader:
        reader.execute("set transaction isolation level repeatable read")
        reader.execute("select count(*) from lonnymq.history")
        history_fixture.add(2)
        assert sync().rows == 2
    assert found() == history_fixture.made


def test_status_answers_in_json(sync, history_fixture: HistoryFixture, tmp_path: Path) -> None:
    history_fixture.add(2)
    sync()
    history_fixture.add(3)
    ran = run(
        "lake",
        "status",
        "--lake",
        tmp_path / "lake",
        "--source",
        "shop",
        "--json",
        dsn=history_fixture.dsn,
    )
    assert ran.code == 0, ran.err
    assert ran.json["behind"]["rows"] == 3
    assert ran.json["sources"][0]["rows"] == 2


@pytest.mark.long
def test_without_a_database_status_shows_what_is_in_the_lake(
    sync, history_fixture: HistoryFixture, tmp_path: Path
) -> None:
    history_fixture.add(2)
    sync()
    asked = ("lake", "status", "--lake", tmp_path / "lake", "--schema", "nowhere")
    named = run(*asked, dsn=history_fixture.dsn)
    assert (named.code, "lonnymq install" in named.err) == (4, True)
    ran = run(*asked)
    assert ran.code == 0, ran.err
    assert "shop" in ran.out
    assert "You named no database" in ran.err


@pytest.mark.long
def test_a_lake_that_is_given_up_no_longer_keeps_history(
    sync, history_fixture: HistoryFixture, tmp_path: Path, watcher: psycopg.Connection
) -> None:
    history_fixture.add(1)
    sync()
    (reader,) = [each.name for each in status(history_fixture, tmp_path / "lake").readers]
    rejected = run("lake", "forget", reader, dsn=history_fixture.dsn)
    assert rejected.code == 1
    assert "Add --yes" in rejected.err
    assert run("lake", "forget", reader, "--yes", dsn=history_fixture.dsn).code == 0
    assert status(history_fixture, tmp_path / "lake").readers == []
    again = run("lake", "forget", reader, "--yes", dsn=history_fixture.dsn)
    assert again.code == 1
    assert "There is no reader" in again.err


@pytest.mark.long
def test_a_table_holds_back_nothing_while_a_sync_has_its_turn(
    sync, history_fixture: HistoryFixture, watcher: psycopg.Connection, monkeypatch
) -> None:
    """The lock of a sync is a transaction without an id and without a snapshot."""
    history_fixture.add(1)
    seen = []

    def look(*_: object) -> None:
        seen.append(
            watcher.execute(
                "select count(*) filter (where backend_xid is not null or backend_xmin is not null), count(*) "
                "from pg_stat_activity where application_name = 'lonnymq lake' and state = 'idle in transaction' "
                "and datname = current_database()"
            ).fetchone()
        )

    monkeypatch.setattr("lonnymq.lake.syncer.Syncer.confirm", look)
    sync()
    assert eventually(lambda: seen)[-1] == (0, 1)
