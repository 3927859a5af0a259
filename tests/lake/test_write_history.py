"""A DataFrame of history goes into a lake without any database."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import lonnymq.lake
from lonnymq.errors import InvalidArgument
from lonnymq.lake.export import folder_name
from lonnymq.lake.location import resolve_lake

ROWS = (
    "id as message_id", "'acme' as channel", "'completed' as outcome", "1 as attempt",
    "timestamp'2030-01-01 12:00:00' + make_dt_interval(id % 3) as finished_at",
)  # fmt: skip


def test_rows_are_written_by_their_day(spark: SparkSession, tmp_path: Path, found) -> None:
    frame = spark.range(0, 90, 1, 2).selectExpr(*ROWS)
    assert lonnymq.lake.write_history(frame, tmp_path / "lake", source="made up") == 90
    assert found() == list(range(90))
    assert found(begin=date(2030, 1, 2), end=date(2030, 1, 3)) == list(range(1, 90, 3))
    row = lonnymq.lake.read_history(spark, tmp_path / "lake").first()
    assert row is not None
    assert (row.source, row.kind, row.attempt, row.content) == ("made up", None, 1, None)


def test_what_is_written_once_is_there_once(spark: SparkSession, tmp_path: Path, found) -> None:
    frame = spark.range(0, 10, 1, 2).selectExpr(*ROWS)
    written = [
        lonnymq.lake.write_history(frame, tmp_path / "lake", source="s", once=("load", number))
        for number in (1, 1, 2)
    ]
    assert written == [10, 0, 10]
    assert found() == sorted([*range(10)] * 2)


def test_no_rows_make_a_lake_without_rows(spark: SparkSession, tmp_path: Path, found) -> None:
    frame = spark.range(0).selectExpr(*ROWS)
    assert lonnymq.lake.write_history(frame, tmp_path / "lake", source="s") == 0
    assert found() == []


def test_rows_without_what_history_needs_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="lacks columns of history: outcome, finished_at"):
        lonnymq.lake.write_history(
            spark.range(1).selectExpr("'a' as channel"), tmp_path, source="s"
        )


def test_a_folder_is_named_with_plain_characters_only() -> None:
    assert folder_name("shop-1.eu_west") == "shop-1.eu_west"
    assert folder_name("a/b ü~") == "a_2Fb_20_C3_BC_7E"


def test_a_lake_shows_no_keys() -> None:
    assert "secret" not in repr(
        resolve_lake("s3://bucket/lake", {"aws_secret_access_key": "secret"})
    )


def test_a_place_must_be_given() -> None:
    with pytest.raises(InvalidArgument, match="the location of the lake is empty"):
        resolve_lake(" ")
