"""What channels were set to is in the lake, once for each change that a sync saw."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable, Schema
from pyspark.sql import SparkSession

import lonnymq.lake
from lonnymq import Queue
from lonnymq.lake.tables import FORMAT, FORMAT_KEY, delta_schema


def rows(spark: SparkSession, lake: Path) -> list[tuple[Any, ...]]:
    frame = lonnymq.lake.read_channels(spark, lake).orderBy("taken_at", "channel")
    return [(row.channel, row.max_concurrency, row.weight, row.paused) for row in frame.collect()]


def test_the_defaults_stand_for_all_channels_that_were_never_set(
    spark: SparkSession, sync, dsn_18: str, tmp_path: Path
) -> None:
    with Queue(dsn_18) as queue:
        queue.create("acme", b"x")
        queue.dequeue()[0].complete()
    sync()
    assert rows(spark, tmp_path / "lake") == [("", None, 1, False)]


def test_a_change_is_a_row_and_no_change_is_none(
    spark: SparkSession, sync, dsn_18: str, tmp_path: Path
) -> None:
    with Queue(dsn_18) as queue:
        queue.channel("acme").set(max_concurrency=2)
        sync()
        sync()
        assert rows(spark, tmp_path / "lake") == [("", None, 1, False), ("acme", 2, 1, False)]
        queue.channel("acme").pause()
        queue.channel("globex").set(weight=3)
        queue.set(default_weight=2)
        sync()
        sync()
    assert rows(spark, tmp_path / "lake")[2:] == [
        ("", None, 2, False),
        ("acme", 2, 1, True),
        ("globex", None, 3, False),
    ]


@pytest.mark.long
def test_the_limit_of_the_whole_queue_is_a_change_of_the_defaults(
    spark: SparkSession, sync, dsn_18: str, tmp_path: Path
) -> None:
    with Queue(dsn_18) as queue:
        queue.channel("acme").set(weight=2)
        sync()
        queue.set(max_concurrency=7)
        sync()
        sync()
    frame = lonnymq.lake.read_channels(spark, tmp_path / "lake").orderBy("taken_at", "channel")
    found = [(row.channel, row.queue_max_concurrency) for row in frame.collect()]
    assert found == [("", None), ("acme", None), ("", 7)]


@pytest.mark.long
def test_a_lake_that_was_made_before_the_limit_of_the_whole_queue_was_kept_learns_of_it(
    spark: SparkSession, sync, dsn_18: str, tmp_path: Path
) -> None:
    """As the version before this one made the table: `queue_max_concurrency` was not among its columns."""
    before = [
        each for each in delta_schema("channels").fields if each.name != "queue_max_concurrency"
    ]
    DeltaTable.create(
        tmp_path / "lake" / "channels",
        Schema(before),
        partition_by=["source"],
        configuration={FORMAT_KEY: str(FORMAT)},
        raise_if_key_not_exists=False,
    )
    with Queue(dsn_18) as queue:
        queue.set(max_concurrency=7)
        sync()
    frame = lonnymq.lake.read_channels(spark, tmp_path / "lake")
    assert [(row.channel, row.queue_max_concurrency) for row in frame.collect()] == [("", 7)]


@pytest.mark.long
def test_a_channel_that_was_born_under_other_defaults_is_told_of(
    spark: SparkSession, sync, dsn_18: str, tmp_path: Path
) -> None:
    with Queue(dsn_18) as queue:
        queue.create("old", b"x")
        queue.dequeue()[0].complete()
        sync()
        queue.set(default_max_concurrency=5)
        sync()
    assert rows(spark, tmp_path / "lake") == [
        ("", None, 1, False),
        ("", 5, 1, False),
        ("old", None, 1, False),
    ]


@pytest.mark.long
def test_more_channels_than_a_page_holds(
    spark: SparkSession, sync, dsn_18: str, tmp_path: Path, connect
) -> None:
    connect(dsn_18).execute(
        "select lonnymq.channel_set('channel ' || i, '{\"weight\": 2}') from generate_series(1, 2500) i"
    )
    sync()
    assert len(rows(spark, tmp_path / "lake")) == 2501
