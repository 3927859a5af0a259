"""What-if over a lake: made-up history written into one, read back as a workload with its settings."""

import shutil
from dataclasses import replace

import pytest
from deltalake import DeltaTable, Schema, write_deltalake

from lonnymq.errors import InvalidArgument
from lonnymq.lake.channel_settings import ChannelSettings
from lonnymq.lake.location import resolve_lake
from lonnymq.results import HistoryRow
from lonnymq.simulate import (
    Limits,
    NoHistory,
    Scenario,
    WorkloadShape,
    build_workload,
    calibrate,
    make_history,
    read_lake_history,
    run_scenario,
    write_synthetic_history,
)
from lonnymq.simulate.lake_history import make_policy

SHAPE = WorkloadShape(
    messages=2_000, tenants=5, workers=4, load=1.1, noisy=0.5, failing=0.1, deferring=0.1
)
LIMITS = {"tenant-1": Limits(max_concurrency=1), "tenant-2": Limits(None, 50, 3, 2)}
KNOWN = Scenario(4, LIMITS, Limits(weight=2))
ROW = HistoryRow(
    xid=1, message_id=1, channel="acme", kind=None, key=None, attempt=1, worker=None,
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
    rows = make_history(SHAPE, limits=KNOWN.limits, default_limits=KNOWN.default_limits)
    assert write_synthetic_history(rows, place, source="one", scenario=KNOWN) == len(rows)
    return place


def test_what_was_written_is_read_with_the_settings_it_was_made_at(lake: str) -> None:
    rows = make_history(SHAPE, limits=KNOWN.limits, default_limits=KNOWN.default_limits)
    read = read_lake_history(lake)
    assert read.history == build_workload(rows)
    assert read.scenario == Scenario(4, LIMITS, Limits(weight=2))
    assert (read.source, read.changed) == ("one", [])
    assert (read.begin, read.end) == (
        min(row.created_at for row in rows),
        max(row.finished_at for row in rows),
    )
    assert calibrate(read.history, read.scenario).error < 0.1


def test_a_stretch_counts_what_came_within_it_and_begins_as_it_was(lake: str) -> None:
    whole = read_lake_history(lake)
    middle = (whole.begin + whole.end) // 2
    first, last = (
        read_lake_history(lake, end=middle),
        read_lake_history(lake, begin=middle, workers=4),
    )
    assert first.history.counted is not None
    assert last.history.counted is not None
    assert len(first.history.counted) + len(last.history.counted) == len(whole.history.work)
    assert calibrate(last.history, last.scenario).error < 0.1


def test_a_stretch_in_which_nothing_came_is_refused(lake: str) -> None:
    with pytest.raises(NoHistory, match="another period"):
        read_lake_history(lake, begin=4_000_000_000_000)
    with pytest.raises(NoHistory, match="another period"):
        read_lake_history(lake, end=1)
    with pytest.raises(InvalidArgument, match="ends before it begins"):
        read_lake_history(lake, begin=2, end=1)


def test_of_several_sources_one_is_to_be_named(tmp_path) -> None:
    for source in ("shop", "007", "Bücher 書店"):
        write_synthetic_history(
            [replace(ROW, channel=source)], str(tmp_path), source=source, scenario=KNOWN
        )
    with pytest.raises(InvalidArgument, match=r"--source: '007', 'Bücher 書店', 'shop'"):
        read_lake_history(str(tmp_path))
    with pytest.raises(InvalidArgument, match="no source 'shob', only 'shop'"):
        read_lake_history(str(tmp_path), source="shob")
    for source in ("007", "Bücher 書店"):
        assert read_lake_history(str(tmp_path), source=source).history.work.names == [source]


def test_a_source_is_written_once(tmp_path) -> None:
    write_synthetic_history([ROW], str(tmp_path), source="shop", scenario=KNOWN)
    with pytest.raises(InvalidArgument, match="another --source"):
        write_synthetic_history([ROW], str(tmp_path), source="shop", scenario=KNOWN)


def test_one_row_is_replayed_and_no_row_is_refused(tmp_path) -> None:
    assert write_synthetic_history([], str(tmp_path), source="shop", scenario=Scenario(1)) == 0
    with pytest.raises(NoHistory, match="no history yet"):
        read_lake_history(str(tmp_path))
    write_synthetic_history([ROW], str(tmp_path), source="shop", scenario=Scenario(1))
    read = read_lake_history(str(tmp_path))
    assert read.scenario.workers == 1
    assert calibrate(read.history, read.scenario).error == 0
    assert run_scenario(read.history, read.scenario).tenants["acme"].messages == 1


def test_any_channel_can_be_read_and_set(tmp_path) -> None:
    names = ["*", r"\*", "a.b.c", "Bücher 書店 🦀", "x=1.weight=2", " ", "n\tn", "'\"%/;"]
    names += ["שלום \u202e cba", "\x01\x1b[31m\x7f\u2028", "é" * 127 + "x", "\ufeff\uffff"]
    rows = [replace(ROW, message_id=n, channel=name) for n, name in enumerate(names)]
    limits = {name: Limits(max_concurrency=n + 1) for n, name in enumerate(names)}
    write_synthetic_history(rows, str(tmp_path), source="odd", scenario=Scenario(1, limits))
    read = read_lake_history(str(tmp_path))
    assert read.history.work.names == sorted(names)
    assert read.scenario.limits == limits


def test_settings_that_changed_within_the_stretch_are_told(tmp_path) -> None:
    rows = begun_at(10_000, 50_000)
    write_synthetic_history(
        rows, str(tmp_path), source="shop", scenario=Scenario(1, {"acme": Limits(2)})
    )
    seen = ChannelSettings(resolve_lake(str(tmp_path)), "shop")
    seen.add([make_policy("acme", Limits(2))], at=20_000)  # the same again is no change
    seen.add([make_policy("acme", Limits(3))], at=30_000)
    seen.add([replace(make_policy("other", Limits()), paused=True)], at=40_000)
    seen.add([make_policy("acme", Limits(4))], at=60_000)  # after the end
    read = read_lake_history(str(tmp_path))
    assert read.scenario.limits["acme"] == Limits(2)
    assert read.changed == [
        "'acme' was changed before 1 Jan 1970, 00:00 UTC",
        "'other' was paused before 1 Jan 1970, 00:00 UTC",
    ]
    later = read_lake_history(str(tmp_path), begin=35_000)
    assert later.scenario.limits["acme"] == Limits(3)
    assert later.changed == ["'other' was paused before 1 Jan 1970, 00:00 UTC"]


def test_the_limit_of_the_whole_queue_is_read_with_when_it_changed(tmp_path) -> None:
    rows = begun_at(10_000, 50_000)
    known = Scenario(1, max_concurrency=1)
    write_synthetic_history(rows, str(tmp_path), source="shop", scenario=known)
    assert read_lake_history(str(tmp_path), workers=1).scenario == known
    ChannelSettings(resolve_lake(str(tmp_path)), "shop").add(
        [make_policy("", Limits())], at=30_000, limit=5
    )
    read = read_lake_history(str(tmp_path))
    assert read.scenario.max_concurrency == 1
    assert read.changed == ["the limit of the whole queue was changed before 1 Jan 1970, 00:00 UTC"]
    assert read_lake_history(str(tmp_path), begin=40_000).scenario.max_concurrency == 5


def test_a_lake_that_does_not_know_of_the_queues_limit_is_read_and_grows(tmp_path) -> None:
    write_synthetic_history([ROW], str(tmp_path), source="shop", scenario=KNOWN)
    made = DeltaTable(tmp_path / "channels")
    older = made.to_pyarrow_table().drop_columns(["queue_max_concurrency"])
    about = made.metadata()
    shutil.rmtree(tmp_path / "channels")
    DeltaTable.create(
        tmp_path / "channels", Schema.from_arrow(older.schema), partition_by=about.partition_columns,
        configuration=about.configuration, raise_if_key_not_exists=False,
    )  # fmt: skip
    write_deltalake(tmp_path / "channels", older, mode="append")
    assert read_lake_history(str(tmp_path)).scenario == replace(KNOWN, workers=1)
    seen = ChannelSettings(resolve_lake(str(tmp_path)), "shop")
    assert seen.limit is None
    seen.add([make_policy("", Limits())], at=11_000, limit=5)
    assert ChannelSettings(resolve_lake(str(tmp_path)), "shop").limit == 5


def test_a_lake_without_settings_is_replayed_without_limits(tmp_path) -> None:
    write_synthetic_history([ROW], str(tmp_path), source="shop", scenario=KNOWN)
    shutil.rmtree(tmp_path / "channels")
    read = read_lake_history(str(tmp_path))
    assert (read.scenario.limits, read.scenario.default_limits) == ({}, Limits())
