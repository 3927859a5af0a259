"""A login with roles and nothing else syncs a lake; it reads history through the function that may."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest
from pyspark.sql import SparkSession

import lonnymq.lake
from database.security.conftest import fortress, guarded, login
from database.security.logins import Login
from lake.history_fixture import HistoryFixture, settle
from lonnymq.lake.source import identify_source

__all__ = ["fortress", "guarded", "login"]


def test_a_consumer_may_sync(
    spark: SparkSession, login: Login, guarded: str, found, tmp_path: Path
) -> None:
    history_fixture = HistoryFixture(guarded)
    history_fixture.add_each(10)
    settle(guarded)
    dsn = login("a_consumer")
    assert not identify_source(dsn).may_read_table
    assert lonnymq.lake.sync(spark, tmp_path / "lake", url=dsn, rows=4).rows == 10
    assert found() == history_fixture.made
    assert lonnymq.lake.sync(spark, tmp_path / "lake", url=guarded).rows == 0
    behind = lonnymq.lake.read_status(tmp_path / "lake", url=dsn).behind
    assert behind
    assert behind.rows == 0


def test_somebody_without_a_role_is_refused(
    spark: SparkSession, login: Login, tmp_path: Path
) -> None:
    with pytest.raises((psycopg.Error, lonnymq.errors.LonnyMQError)):
        lonnymq.lake.sync(spark, tmp_path / "lake", url=login("stranger"))
