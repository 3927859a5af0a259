"""Small files become large ones, files that are nobody's go away, and readers see the same rows all the time."""

from __future__ import annotations

import os
import time
from datetime import timedelta
from pathlib import Path
from threading import Thread

import pytest
from deltalake import DeltaTable

import lonnymq.lake
from commands import run
from lake.history_fixture import DAY, NOON, HistoryFixture
from lonnymq.errors import InvalidArgument


def test_compaction_keeps_the_rows_and_the_place(
    sync, history_fixture: HistoryFixture, found, tmp_path: Path
) -> None:
    for day in range(2):
        for _ in range(3):
            history_fixture.add(2, at=NOON + day * DAY)
            sync()
    history, channels = lonnymq.lake.compact(tmp_path / "lake")
    assert (history.table, history.files_before, history.files_after) == ("history", 6, 2)
    assert channels.table == "channels"
    assert found() == history_fixture.made
    assert sync().rows == 0
    history_fixture.add(1)
    assert sync().rows == 1
    assert found() == history_fixture.made


@pytest.mark.long
def test_the_place_survives_a_checkpoint_of_the_log(
    sync, history_fixture: HistoryFixture, found, tmp_path: Path
) -> None:
    history_fixture.add(2)
    sync()
    table = DeltaTable(tmp_path / "lake" / "history")
    table.create_checkpoint()
    for each in (tmp_path / "lake" / "history" / "_delta_log").glob("*.json"):
        if int(each.stem) < table.version():
            each.unlink()
    assert sync().rows == 0
    history_fixture.add(1)
    assert sync().rows == 1
    assert found() == history_fixture.made


def test_vacuum_takes_what_compaction_replaced(
    sync, history_fixture: HistoryFixture, found, tmp_path: Path
) -> None:
    for _ in range(3):
        history_fixture.add(1)
        sync()
    lake = tmp_path / "lake"
    lonnymq.lake.compact(lake)
    files = [*lake.glob("history/source=*/*/*.parquet")]
    assert len(files) == 4
    long_ago = time.time() - 3 * 3600
    log = lake / "history" / "_delta_log"
    for each in files:
        os.utime(each, (long_ago, long_ago))
    for each in log.glob("*.json"):  # when a file was replaced is written in the log
        each.write_text(each.read_text().replace('"deletionTimestamp":1', '"deletionTimestamp":0'))
    dry = run("lake", "vacuum", "--lake", lake, "--older-than", "2h", "--dry-run")
    assert dry.out.startswith("3 files would be deleted"), dry.err
    assert run("lake", "vacuum", "--lake", lake, "--older-than", "2h").out == "3 files deleted\n"
    assert len([*lake.glob("history/source=*/*/*.parquet")]) == 1
    assert found() == history_fixture.made
    assert sync().rows == 0


def test_young_files_are_never_taken(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="at least an hour"):
        lonnymq.lake.vacuum(tmp_path, older_than=timedelta(minutes=59))


@pytest.mark.long
def test_a_compaction_beside_a_sync_disturbs_neither(
    sync, history_fixture: HistoryFixture, found, tmp_path: Path
) -> None:
    history_fixture.add_each(10)
    sync(rows=4)
    history_fixture.add_each(40)
    syncing = Thread(target=sync, kwargs={"rows": 4})
    syncing.start()
    while syncing.is_alive():
        lonnymq.lake.compact(tmp_path / "lake")
    syncing.join()
    assert found() == history_fixture.made
    assert sync().rows == 0


def test_compact_answers_in_json(sync, history_fixture: HistoryFixture, tmp_path: Path) -> None:
    sync()
    ran = run("lake", "compact", "--lake", tmp_path / "lake", "--json")
    assert ran.code == 0, ran.err
    assert [each["table"] for each in ran.json] == ["history", "channels"]
