"""Transactions that stay open for minutes while a sync goes on: what they wrote is brought late, once and whole."""

from __future__ import annotations

from pathlib import Path
from threading import Event, Thread

import psycopg
import pytest
from pyspark.sql import SparkSession

import lonnymq.lake
from lake.history_fixture import HistoryFixture, settle
from lonnymq.lake.location import resolve_lake
from lonnymq.lake.source import identify_source
from lonnymq.lake.syncer import Syncer, SyncResult
from support import eventually

OPEN_SECONDS = 150
AGE = """
    select extract(epoch from clock_timestamp() - xact_start) from pg_stat_activity
    where datname = current_database() and state = 'idle in transaction' and backend_xid is not null
    order by xact_start limit 1
"""


@pytest.mark.long
@pytest.mark.timeout(900)
def test_transactions_open_for_minutes_lose_nothing_and_repeat_nothing(
    spark: SparkSession,
    history_fixture: HistoryFixture,
    watcher: psycopg.Connection,
    found,
    tmp_path: Path,
) -> None:
    until, done = Event(), list[SyncResult]()
    lake, origin = tmp_path / "lake", identify_source(history_fixture.dsn, source="shop")

    def follow() -> None:
        with Syncer(spark, resolve_lake(lake), origin) as syncer:
            for each in syncer.follow(until, interval=0.2):
                done.append(each)

    def brought() -> int:
        return sum(each.rows for each in done)

    before = history_fixture.add(3)
    settle(history_fixture.dsn)
    following = Thread(target=follow)
    following.start()
    try:
        eventually(lambda: brought() == 3, within=240)
        with history_fixture.adding(2) as first:
            with history_fixture.adding(2) as second:
                grow(history_fixture, watcher, OPEN_SECONDS)
                assert found() == before  # what has ended since may not go past who is still open
                behind = lonnymq.lake.read_status(
                    lake, url=history_fixture.dsn, source="shop"
                ).behind
                assert behind is not None
                assert behind.rows_held == len(history_fixture.made) - len(before) - len(
                    first + second
                )
                assert behind.lag.holder_state == "idle in transaction"
            grow(
                history_fixture, watcher, OPEN_SECONDS + 5
            )  # the second has committed, the first holds on
            assert found() == before
        eventually(lambda: brought() == len(history_fixture.made), within=240)
        late = history_fixture.add(1)
        eventually(lambda: brought() == len(history_fixture.made), within=240)
    finally:
        until.set()
        following.join(240)
    assert not following.is_alive()
    assert len(history_fixture.made) > OPEN_SECONDS
    assert late[0] in found()
    assert found() == sorted(history_fixture.made)


def grow(history_fixture: HistoryFixture, watcher: psycopg.Connection, seconds: int) -> None:
    """Commit a row for each second, until the oldest transaction has been open for so long."""
    last = 0

    def is_old() -> bool:
        nonlocal last
        row = watcher.execute(AGE).fetchone()
        age = int(row[0]) if row else 0
        if age > last:
            history_fixture.add(age - last if last else 1)
            last = age
        return age >= seconds

    eventually(is_old, within=seconds + 300)
