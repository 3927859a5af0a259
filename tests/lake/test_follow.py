"""A sync that goes on: what comes is brought, an outage is waited for, and a word ends it."""

from __future__ import annotations

from pathlib import Path
from threading import Event, Thread

import pytest
from pyspark.sql import SparkSession

from lake.history_fixture import HistoryFixture
from lonnymq import Queue
from lonnymq.embedded_postgres import temporary
from lonnymq.lake import WrongDatabase
from lonnymq.lake.location import resolve_lake
from lonnymq.lake.source import identify_source
from lonnymq.lake.syncer import Syncer, SyncResult
from support import eventually


@pytest.mark.long
def test_a_database_that_was_away_is_gone_on_with(
    spark: SparkSession, found, tmp_path: Path
) -> None:
    until, done = Event(), list[SyncResult]()

    def rows() -> int:
        return sum(each.rows for each in done)

    with temporary() as server:
        Queue(server.dsn).install()
        history_fixture = HistoryFixture(server.dsn)
        history_fixture.add(3)
        lake, origin = resolve_lake(tmp_path / "lake"), identify_source(server.dsn, source="shop")

        def follow() -> None:
            with Syncer(spark, lake, origin) as syncer:
                for each in syncer.follow(until, interval=0.1):
                    done.append(each)

        following = Thread(target=follow)
        following.start()
        try:
            eventually(lambda: rows() == 3, within=240)
            server.stop("immediate")
            server.start()
            history_fixture.add(2)
            eventually(lambda: rows() == 5, within=240)
        finally:
            until.set()
            following.join(240)
    assert not following.is_alive()
    assert found() == history_fixture.made


def test_a_refusal_is_not_tried_again(
    spark: SparkSession, sync, history_fixture: HistoryFixture, dsn_18: str, tmp_path: Path
) -> None:
    history_fixture.add(1)
    sync()
    Queue(dsn_18, schema="second").install()
    other = identify_source(dsn_18, schema="second", source="shop")
    with (
        pytest.raises(WrongDatabase),
        Syncer(spark, resolve_lake(tmp_path / "lake"), other) as syncer,
    ):
        list(syncer.follow(Event(), interval=0.1))


def test_nothing_is_begun_once_somebody_said_to_stop(
    spark: SparkSession, history_fixture: HistoryFixture, dsn_18: str, tmp_path: Path, found
) -> None:
    history_fixture.add_each(9)
    until = Event()
    with Syncer(spark, resolve_lake(tmp_path / "lake"), identify_source(dsn_18), rows=4) as syncer:
        for _ in syncer.follow(until, interval=0.1):
            until.set()
    assert 0 < len(found()) < 9
