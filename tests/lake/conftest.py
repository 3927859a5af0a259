"""The lake's tests share the Spark session of tests/spark: under xdist they go to the same worker."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pyspark.sql import SparkSession

import lonnymq.lake
from lake.history_fixture import HistoryFixture, settle
from lonnymq.lake.syncer import SyncResult
from spark.conftest import spark

__all__ = ["spark"]
HERE = Path(__file__).parent
Sync = Callable[..., SyncResult]


@pytest.hookimpl(tryfirst=True)  # before xdist looks at groups, wherever it is started
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture
def history_fixture(dsn_18: str) -> HistoryFixture:
    """History to bring into a lake."""
    return HistoryFixture(dsn_18)


@pytest.fixture
def sync(spark: SparkSession, dsn_18: str, tmp_path: Path) -> Sync:
    """Syncs the database of `history_fixture` into a lake of the test's own."""

    def run(
        lake: Path | str | None = None, *, held: bool = False, url: str = dsn_18, **options: Any
    ) -> SyncResult:
        if not held:  # by a transaction of the test's own
            settle(url, str(options.get("schema", "lonnymq")))
        place = tmp_path / "lake" if lake is None else lake
        return lonnymq.lake.sync(spark, place, **{"url": url, "source": "shop", **options})

    return run


@pytest.fixture
def found(spark: SparkSession, tmp_path: Path) -> Callable[..., list[int]]:
    """The ids of the messages in the lake, as often as they are in it."""

    def read(lake: Path | str | None = None, **options: Any) -> list[int]:
        frame = lonnymq.lake.read_history(spark, lake or tmp_path / "lake", **options)
        return sorted(row.message_id for row in frame.select("message_id").collect())

    return read


@pytest.fixture
def watcher(connect, dsn_18: str) -> psycopg.Connection:
    """A connection that looks."""
    return connect(dsn_18)
