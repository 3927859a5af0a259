"""What is no lake, or none that this version may touch, is rejected in a sentence, and left as it is."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pyarrow as pa
import pytest
from deltalake import DeltaTable, Field, Schema, write_deltalake
from deltalake.schema import PrimitiveType
from pyspark.sql import SparkSession

import lonnymq.lake
from lake.history_fixture import HistoryFixture
from lonnymq.lake import LakeBroken, LakeMissing, LakeTooNew, NotALake
from lonnymq.lake.tables import FORMAT, FORMAT_KEY, HISTORY_COLUMNS, delta_schema


def test_a_place_without_a_lake_is_told_of(spark: SparkSession, tmp_path: Path) -> None:
    for read in (lonnymq.lake.read_history, lonnymq.lake.read_channels):
        with pytest.raises(LakeMissing, match="lonnymq lake sync"):
            read(spark, tmp_path / "nowhere")
    with pytest.raises(LakeMissing):
        lonnymq.lake.read_status(tmp_path / "nowhere")
    with pytest.raises(LakeMissing):
        lonnymq.lake.compact(tmp_path / "nowhere")
    assert list(tmp_path.iterdir()) == []


def test_a_delta_table_of_somebody_elses_is_refused(sync, tmp_path: Path) -> None:
    write_deltalake(tmp_path / "lake" / "history", pa.table({"x": [1]}))
    with pytest.raises(NotALake, match="does not belong to a lake"):
        sync()
    assert DeltaTable(tmp_path / "lake" / "history").version() == 0


def test_a_folder_with_other_files_is_refused(sync, tmp_path: Path) -> None:
    (tmp_path / "lake" / "history").mkdir(parents=True)
    (tmp_path / "lake" / "history" / "notes.txt").write_text("mine")
    with pytest.raises(NotALake, match="has files, but no table of a lake"):
        sync()


def test_a_file_in_the_place_of_a_table_is_refused(sync, tmp_path: Path) -> None:
    (tmp_path / "lake").mkdir()
    (tmp_path / "lake" / "history").write_text("mine")
    with pytest.raises(NotALake, match="is a file"):
        sync()


def test_a_folder_that_cannot_be_made_is_told_of(sync, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(NotALake, match="cannot be created: Not a directory"):
        sync(tmp_path / "file" / "lake")


def test_a_log_that_cannot_be_read_is_told_of(
    sync, history_fixture: HistoryFixture, tmp_path: Path
) -> None:
    history_fixture.add(1)
    sync()
    for each in (tmp_path / "lake" / "history" / "_delta_log").glob("*.json"):
        each.write_text("{ garbage")
    with pytest.raises(LakeBroken, match="history cannot be read: "):
        sync()
    with pytest.raises(LakeBroken):
        lonnymq.lake.read_status(tmp_path / "lake")


def test_a_lake_of_a_later_version_is_refused(sync, tmp_path: Path) -> None:
    sync()
    table = DeltaTable(tmp_path / "lake" / "history")
    table.alter.set_table_properties({FORMAT_KEY: str(FORMAT + 1)}, raise_if_not_exists=False)
    with pytest.raises(LakeTooNew, match="Upgrade LonnyMQ"):
        sync()


def test_a_column_of_another_type_is_refused(sync, tmp_path: Path) -> None:
    fields = [
        Field("size", PrimitiveType("string")) if each.name == "size" else each
        for each in delta_schema("history").fields
    ]
    create(tmp_path, fields)
    with pytest.raises(NotALake, match=r"the column size of .* has type .*string"):
        sync()


@pytest.mark.long
def test_a_lake_of_an_earlier_version_gains_the_columns_that_it_lacks(
    spark: SparkSession, sync, history_fixture: HistoryFixture, tmp_path: Path
) -> None:
    """As if the columns `headers` and `worker` had been added to history since."""
    later = ("headers", "worker")
    create(tmp_path, [each for each in delta_schema("history").fields if each.name not in later])
    old = pa.schema([(each.name, each.arrow) for each in HISTORY_COLUMNS if each.name not in later])
    row = {each.name: None for each in old} | {"message_id": 1, "channel": "acme", "source": "shop"}
    first = pa.Table.from_pylist([row], old).append_column("source", pa.array(["shop"]))
    first = first.append_column("date", pa.array([21_915], pa.int32()).cast(pa.date32()))
    write_deltalake(tmp_path / "lake" / "history", first, mode="append")
    history_fixture.ids = iter(range(2, 10))
    history_fixture.add(2)
    assert sync().rows == 2
    rows = lonnymq.lake.read_history(spark, tmp_path / "lake").orderBy("message_id").collect()
    assert [(row.message_id, row.worker) for row in rows] == [
        (1, None),
        (2, "worker 1"),
        (3, "worker 1"),
    ]
    lonnymq.lake.compact(tmp_path / "lake")
    again = lonnymq.lake.read_history(spark, tmp_path / "lake").orderBy("message_id").collect()
    assert [row.asDict() for row in again] == [row.asDict() for row in rows]


@pytest.mark.long
def test_a_column_that_a_later_version_added_is_left_alone(
    spark: SparkSession, sync, history_fixture: HistoryFixture, found, tmp_path: Path
) -> None:
    history_fixture.add(1)
    sync()
    table = DeltaTable(tmp_path / "lake" / "history")
    table.alter.add_columns([Field("mood", PrimitiveType("string"))])
    history_fixture.add(1)
    assert sync().rows == 1
    assert found() == history_fixture.made
    assert "mood" in [
        each.name for each in DeltaTable(tmp_path / "lake" / "history").schema().fields
    ]


@pytest.mark.long
def test_history_that_gained_a_column_in_a_later_version_is_brought_without_it(
    spark: SparkSession,
    sync,
    history_fixture: HistoryFixture,
    found,
    watcher: psycopg.Connection,
    tmp_path: Path,
) -> None:
    history_fixture.add(1)
    sync()
    watcher.execute("alter table lonnymq.history add column mood text default 'calm'")
    history_fixture.add(2)
    assert sync().rows == 2
    assert found() == history_fixture.made
    assert "mood" not in lonnymq.lake.read_history(spark, tmp_path / "lake").columns


def create(folder: Path, fields: list[Field]) -> None:
    """A table of history as another version would have made it."""
    DeltaTable.create(
        folder / "lake" / "history",
        Schema(fields),
        partition_by=["source", "date"],
        configuration={FORMAT_KEY: str(FORMAT)},
        raise_if_key_not_exists=False,
    )
