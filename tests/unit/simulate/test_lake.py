"""What-if over a lake: made-up history written into one, read back as a workload with its settings."""

import shutil
from dataclasses import replace

import pytest
from deltalake import DeltaTable, Schema, write_deltalake

from lonnymq.errors import InvalidArgument
from lonnymq.lake.channel_settings import Settings
from lonnymq.lake.location import lake_at
from lonnymq.results import HistoryRow
from lonnymq.simulate import (
    Limits,
    NothingRecorded,
    Scenario,
    Shape,
    calibrate,
    history_rows,
    play,
    read_stretch,
    recorded,
    write_lake,
)
from lonnymq.simulate.lake_writer import policy

SHAPE = Shape(messages=2_000, tenants=5, workers=4, load=1.1, noisy=0.5, failing=0.1, deferring=0.1)
LIMITS = {"tenant-1": Limits(max_concurrency=1), "tenant-2": Limits(None, 50, 3, 2)}
KNOWN = Scenario(4, LIMITS, Limits(weight=2))
ROW = HistoryRow(
    xid=1, message_id=1, channel="acme", kind=None, name=None, attempt=1, worker=None,
    outcome="completed", created_at=10_000, dequeue_at=10_000, dequeued_at=10_010,
    finished_at=10_030, size=1, error=None, headers=None, content=None,
)  # fmt: skip


def begun_at(*moments: int) -> list[HistoryRow]:
    """Attempts that came and were begun at these moments."""
    return [
        replace(ROW, message_id=n, created_at=at, dequeue_at=at, dequeued_at=at, finished_at=at + 5)
        for n, at in enumerate(moments)
    ]


@pytest.fixture(scope="module")
def lake(tmp_path_factory) -> str:
    place = str(tmp_path_factory.mktemp("made up"))
    rows = history_rows(SHAPE, limits=KNOWN.limits, otherwise=KNOWN.otherwise)
    assert write_lake(rows, place, source="one", scenario=KNOWN) == len(rows)
    return place


def test_what_was_written_is_read_with_the_settings_it_was_made_at(lake: str) -> None:
    rows = history_rows(SHAPE, limits=KNOWN.limits, otherwise=KNOWN.otherwise)
    read = read_stretch(lake)
    assert read.history == recorded(rows)
    assert read.known == Scenario(4, LIMITS, Limits(weight=2))
    assert (read.source, read.changed) == ("one", [])
    assert (read.begin, read.end) == (
        min(row.created_at for row in rows),
        max(row.finished_at for row in rows),
    )
    assert calibrate(read.history, read.known).off < 0.1


def test_a_stretch_counts_what_came_within_it_and_begins_as_it_was(lake: str) -> None:
    whole = read_stretch(lake)
    middle = (whole.begin + whole.end) // 2
    first, last = read_stretch(lake, end=middle), read_stretch(lake, begin=middle, workers=4)
    assert len(first.history.counted) + len(last.history.counted) == len(whole.history.work)
    assert calibrate(last.history, last.known).off < 0.1


def test_a_stretch_in_which_nothing_came_is_refused(lake: str) -> None:
    with pytest.raises(NothingRecorded, match="another stretch"):
        read_stretch(lake, begin=4_000_000_000_000)
    with pytest.raises(NothingRecorded, match="another stretch"):
        read_stretch(lake, end=1)
    with pytest.raises(InvalidArgument, match="ends before it begins"):
        read_stretch(lake, begin=2, end=1)


def test_of_several_sources_one_is_to_be_named(tmp_path) -> None:
    for source in ("shop", "007", "Bücher 書店"):
        write_lake([replace(ROW, channel=source)], str(tmp_path), source=source, scenario=KNOWN)
    with pytest.raises(InvalidArgument, match=r"--source: '007', 'Bücher 書店', 'shop'"):
        read_stretch(str(tmp_path))
    with pytest.raises(InvalidArgument, match="no source 'shob'; it has 'shop'"):
        read_stretch(str(tmp_path), source="shob")
    for source in ("007", "Bücher 書店"):
        assert read_stretch(str(tmp_path), source=source).history.work.names == [source]


def test_a_source_is_written_once(tmp_path) -> None:
    write_lake([ROW], str(tmp_path), source="shop", scenario=KNOWN)
    with pytest.raises(InvalidArgument, match="another --source"):
        write_lake([ROW], str(tmp_path), source="shop", scenario=KNOWN)


def test_one_row_is_replayed_and_no_row_is_refused(tmp_path) -> None:
    assert write_lake([], str(tmp_path), source="shop", scenario=Scenario(1)) == 0
    with pytest.raises(NothingRecorded, match="no history yet"):
        read_stretch(str(tmp_path))
    write_lake([ROW], str(tmp_path), source="shop", scenario=Scenario(1))
    read = read_stretch(str(tmp_path))
    assert read.known.workers == 1
    assert calibrate(read.history, read.known).off == 0
    assert play(read.history, read.known).tenants["acme"].messages == 1


def test_any_channel_can_be_read_and_set(tmp_path) -> None:
    names = ["*", r"\*", "a.b.c", "Bücher 書店 🦀", "x=1.weight=2", " ", "n\tn", "'\"%/;"]
    names += ["שלום \u202e cba", "\x01\x1b[31m\x7f\u2028", "é" * 127 + "x", "\ufeff\uffff"]
    rows = [replace(ROW, message_id=n, channel=name) for n, name in enumerate(names)]
    limits = {name: Limits(max_concurrency=n + 1) for n, name in enumerate(names)}
    write_lake(rows, str(tmp_path), source="odd", scenario=Scenario(1, limits))
    read = read_stretch(str(tmp_path))
    assert read.history.work.names == sorted(names)
    assert read.known.limits == limits


def test_settings_that_changed_within_the_stretch_are_told(tmp_path) -> None:
    rows = begun_at(10_000, 50_000)
    write_lake(rows, str(tmp_path), source="shop", scenario=Scenario(1, {"acme": Limits(2)}))
    seen = Settings(lake_at(str(tmp_path)), "shop")
    seen.add([policy("acme", Limits(2))], at=20_000)  # the same again is no change
    seen.add([policy("acme", Limits(3))], at=30_000)
    seen.add([replace(policy("other", Limits()), paused=True)], at=40_000)
    seen.add([policy("acme", Limits(4))], at=60_000)  # after the end
    read = read_stretch(str(tmp_path))
    assert read.known.limits["acme"] == Limits(2)
    assert read.changed == [
        "'acme' was changed, as seen 1970-01-01 00:00 UTC",
        "'other' was paused, as seen 1970-01-01 00:00 UTC",
    ]
    later = read_stretch(str(tmp_path), begin=35_000)
    assert later.known.limits["acme"] == Limits(3)
    assert later.changed == ["'other' was paused, as seen 1970-01-01 00:00 UTC"]


def test_the_limit_of_the_whole_queue_is_read_with_when_it_changed(tmp_path) -> None:
    rows = begun_at(10_000, 50_000)
    known = Scenario(1, max_concurrency=1)
    write_lake(rows, str(tmp_path), source="shop", scenario=known)
    assert read_stretch(str(tmp_path), workers=1).known == known
    Settings(lake_at(str(tmp_path)), "shop").add([policy("", Limits())], at=30_000, limit=5)
    read = read_stretch(str(tmp_path))
    assert read.known.max_concurrency == 1
    assert read.changed == [
        "the limit of the whole queue was changed, as seen 1970-01-01 00:00 UTC"
    ]
    assert read_stretch(str(tmp_path), begin=40_000).known.max_concurrency == 5


def test_a_lake_that_does_not_know_of_the_queues_limit_is_read_and_grows(tmp_path) -> None:
    write_lake([ROW], str(tmp_path), source="shop", scenario=KNOWN)
    made = DeltaTable(tmp_path / "channels")
    older = made.to_pyarrow_table().drop_columns(["queue_max_concurrency"])
    about = made.metadata()
    shutil.rmtree(tmp_path / "channels")
    DeltaTable.create(
        tmp_path / "channels", Schema.from_arrow(older.schema), partition_by=about.partition_columns,
        configuration=about.configuration, raise_if_key_not_exists=False,
    )  # fmt: skip
    write_deltalake(tmp_path / "channels", older, mode="append")
    assert read_stretch(str(tmp_path)).known == replace(KNOWN, workers=1)
    seen = Settings(lake_at(str(tmp_path)), "shop")
    assert seen.limit is None
    seen.add([policy("", Limits())], at=11_000, limit=5)
    assert Settings(lake_at(str(tmp_path)), "shop").limit == 5


def test_a_lake_without_settings_is_replayed_without_limits(tmp_path) -> None:
    write_lake([ROW], str(tmp_path), source="shop", scenario=KNOWN)
    shutil.rmtree(tmp_path / "channels")
    read = read_stretch(str(tmp_path))
    assert (read.known.limits, read.known.otherwise) == ({}, Limits())
