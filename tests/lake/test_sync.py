"""History goes into the lake, each row once."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from threading import Thread
from typing import Any

import psycopg
import pytest
from pyspark.sql import Row, SparkSession

import lonnymq.lake
from lake.history_fixture import DAY, NOON, HistoryFixture, settle
from lonnymq import Queue
from lonnymq.errors import InvalidArgument
from lonnymq.lake.errors import DatabaseRestored, WrongDatabase
from lonnymq.lake.location import Lake
from server_copies import dump, restore
from server_copies import run as execute
from support import Target

ANY_NAME = "Tenant/ä=1 %2F ‮'\"\\ 🙂\t日本"


def read_row(spark: SparkSession, lake: Path, **options: Any) -> Row:
    """A row of the lake, which has one."""
    row = lonnymq.lake.read_history(spark, lake, **options).first()
    assert row is not None
    return row


def test_an_empty_history_makes_a_lake_without_rows(sync, found) -> None:
    assert sync().rows == 0
    assert found() == []


def test_one_row_arrives_with_all_its_columns(
    spark: SparkSession, sync, history_fixture: HistoryFixture, tmp_path: Path
) -> None:
    history_fixture.add(1, channel=ANY_NAME)
    done = sync()
    assert (done.rows, done.files, done.source) == (1, 1, "shop")
    row = read_row(spark, tmp_path / "lake").asDict()
    assert row.pop("xid") < done.upto
    at = datetime(2030, 1, 1, 12, tzinfo=UTC)
    assert [row.pop(each).astimezone(UTC) for each in ("finished_at",)] == [at]
    assert {row.pop(each).astimezone(UTC).date() for each in ("created_at", "dequeued_at")} == {
        at.date()
    }
    assert row == {
        "message_id": 1, "channel": ANY_NAME, "kind": "kind", "key": None, "attempt": 1, "outcome": "completed",
        "worker": "worker 1", "dequeue_at": NOON - 30, "size": 100, "error": None, "headers": '{"a": 1}',
        "content": None, "source": "shop", "date": date(2030, 1, 1),
    }  # fmt: skip


def test_a_real_attempt_arrives(spark: SparkSession, sync, dsn_18: str, tmp_path: Path) -> None:
    with Queue(dsn_18) as queue:
        queue.set(history="content")
        queue.create("acme", b"hello", kind="greeting", key="once", headers={"trace": "1"})
        queue.dequeue(worker="w 1")[0].complete()
    assert sync().rows == 1
    row = read_row(spark, tmp_path / "lake")
    assert (row.channel, row.kind, row.key, row.outcome) == (
        "acme",
        "greeting",
        "once",
        "completed",
    )
    assert (bytes(row.content), row.headers, row.worker) == (b"hello", '{"trace": "1"}', "w 1")


def test_a_second_sync_brings_what_is_new_and_nothing_again(
    sync, history_fixture: HistoryFixture, found
) -> None:
    history_fixture.add(10)
    assert sync().rows == 10
    assert sync().rows == 0
    history_fixture.add(5)
    assert sync().rows == 5
    assert found() == history_fixture.made


def test_a_sync_goes_in_slices_and_never_cuts_a_transaction(
    sync, history_fixture: HistoryFixture, found
) -> None:
    history_fixture.add_each(30)
    history_fixture.add(40)
    history_fixture.add_each(10)
    done = sync(rows=8)
    assert done.rows == 80
    assert done.files > 80 / 8
    assert found() == history_fixture.made


def test_a_row_that_commits_late_is_neither_lost_nor_repeated(
    sync, history_fixture: HistoryFixture, found
) -> None:
    before = history_fixture.add(3)
    settle(history_fixture.dsn)
    with history_fixture.adding(2) as late:
        after = history_fixture.add(4)
        assert sync(held=True).rows == 3
        assert found() == before
        assert sync(held=True).rows == 0
    assert sync().rows == 6
    assert found() == sorted(before + late + after)
    assert sync().rows == 0


@pytest.mark.long
def test_a_transaction_that_is_rolled_back_is_not_in_the_lake(
    sync, history_fixture: HistoryFixture, found
) -> None:
    with pytest.raises(ZeroDivisionError), history_fixture.adding(2):
        raise ZeroDivisionError
    kept = history_fixture.add(1)
    assert sync().rows == 1
    assert found() == kept


def test_rows_lie_by_the_day_on_which_their_attempt_finished(
    spark: SparkSession, sync, history_fixture: HistoryFixture, found, tmp_path: Path
) -> None:
    midnight = NOON + DAY // 2
    days = [history_fixture.add(2, at=at) for at in (midnight - 1, midnight, midnight + DAY, -1)]
    sync()
    folders = {
        path.parent.name for path in tmp_path.glob("lake/history/source=shop/date=*/*.parquet")
    }
    assert folders == {"date=1969-12-31", "date=2030-01-01", "date=2030-01-02", "date=2030-01-03"}
    assert found(begin=date(2030, 1, 1), end=date(2030, 1, 2)) == days[0]
    assert found(begin=datetime(2030, 1, 2)) == days[1] + days[2]
    assert found(end=datetime(2030, 1, 1, 23, 59, 59, 999_000, tzinfo=UTC)) == days[3]
    rows = lonnymq.lake.read_history(spark, tmp_path / "lake").groupBy("date").count().collect()
    assert {row.date.isoformat() for row in rows} == {
        each.removeprefix("date=") for each in folders
    }


@pytest.mark.long
def test_the_read_is_the_same_in_a_session_of_another_zone(
    spark: SparkSession, sync, history_fixture: HistoryFixture, found
) -> None:
    history_fixture.add(1, at=NOON + DAY // 2 - 1)
    sync()
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        assert found(begin=date(2030, 1, 1), end=date(2030, 1, 2)) == [1]
        assert found(begin=date(2030, 1, 2)) == []
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_contents_come_if_they_are_kept_and_wanted(
    spark: SparkSession, sync, history_fixture: HistoryFixture, tmp_path: Path
) -> None:
    history_fixture.add(1, content=b"\0secret")
    sync(tmp_path / "with")
    sync(tmp_path / "without", with_content=False)
    with_it, without = (read_row(spark, tmp_path / each).content for each in ("with", "without"))
    assert bytes(with_it) == b"\0secret"
    assert without is None


@pytest.mark.long
@pytest.mark.parametrize("source", [ANY_NAME.replace("\t", ""), "007", "a=b/c", "."])
def test_a_source_may_have_any_name(
    spark: SparkSession, sync, history_fixture: HistoryFixture, found, tmp_path, source
) -> None:
    history_fixture.add(2)
    sync(source=source)
    history_fixture.add(1)
    sync(source=source)
    lonnymq.lake.compact(tmp_path / "lake")
    assert read_row(spark, tmp_path / "lake", source=source).source == source
    assert lonnymq.lake.list_sources(tmp_path / "lake") == [source]
    assert found(source=source) == history_fixture.made
    assert found(source="another") == []


@pytest.mark.parametrize("source", ["", "a\nb", "x" * 64])
def test_a_source_that_could_be_no_folder_is_refused(sync, source: str) -> None:
    with pytest.raises(InvalidArgument, match="the name of a source"):
        sync(source=source)


def test_a_source_is_named_for_its_database_and_its_schema(sync, dsn_18: str) -> None:
    Queue(dsn_18, schema="second").install()
    name = sync(source=None).source
    assert name.startswith("test_")
    assert sync(source=None, schema="second").source == f"{name}.second"


@pytest.mark.long
def test_several_databases_go_into_one_lake(
    spark: SparkSession,
    sync,
    history_fixture: HistoryFixture,
    server_18: Target,
    tmp_path: Path,
    found,
) -> None:
    history_fixture.add(3)
    sync()
    with server_18.database() as (other, _):
        theirs = HistoryFixture(other)
        theirs.add(5)
        sync(url=other, source="office")
        with pytest.raises(WrongDatabase, match="the source shop of this lake is another database"):
            sync(url=other, source="shop")
    assert found(source="shop") == history_fixture.made
    assert found(source="office") == theirs.made
    assert lonnymq.lake.list_sources(tmp_path / "lake") == ["office", "shop"]
    counts = lonnymq.lake.read_history(spark, tmp_path / "lake").groupBy("source").count().collect()
    assert {row.source: row["count"] for row in counts} == {"shop": 3, "office": 5}


@pytest.mark.long
def test_two_queues_of_one_database_are_two_sources(
    sync, dsn_18: str, history_fixture: HistoryFixture
) -> None:
    Queue(dsn_18, schema="second").install()
    history_fixture.add(1)
    sync()
    with pytest.raises(WrongDatabase):
        sync(schema="second")


def test_a_database_that_the_lake_was_never_in_is_not_adopted(
    sync, dsn_18: str, history_fixture: HistoryFixture, found
) -> None:
    """Nobody knows which of its rows the lake has."""
    Queue(dsn_18, schema="second").install()
    history_fixture.add(1)
    sync()
    with pytest.raises(DatabaseRestored, match="does not know this lake"):
        sync(schema="second", adopt=True)
    assert found() == history_fixture.made


def test_what_a_restored_database_no_longer_has_is_taken_out_of_the_lake(
    sync, history_fixture: HistoryFixture, found, tmp_path: Path
) -> None:
    history_fixture.add_each(10)
    sync()
    dumped = dump(history_fixture.dsn)
    history_fixture.add_each(5)
    sync()
    lonnymq.lake.compact(tmp_path / "lake")
    execute(history_fixture.dsn, "drop schema lonnymq cascade")
    restore(dumped, history_fixture.dsn)
    with Queue(history_fixture.dsn) as queue:
        queue.create("acme", b"x")
        queue.dequeue()[0].complete()
    sync()
    rows = execute(history_fixture.dsn, "select message_id from lonnymq.history order by 1")
    assert found() == [row[0] for row in rows]
    assert len(found()) == 11
    assert sync().rows == 0


@pytest.mark.long
def test_one_database_goes_into_two_lakes(
    sync, history_fixture: HistoryFixture, found, tmp_path: Path
) -> None:
    history_fixture.add(3)
    sync(tmp_path / "one")
    history_fixture.add(3)
    sync(tmp_path / "two")
    sync(tmp_path / "one")
    assert found(tmp_path / "one") == found(tmp_path / "two") == history_fixture.made


@pytest.mark.long
def test_two_syncs_at_once_take_turns(sync, history_fixture: HistoryFixture, found) -> None:
    history_fixture.add_each(60)
    done = []
    settle(history_fixture.dsn)
    both = [Thread(target=lambda: done.append(sync(rows=10, held=True).rows)) for _ in range(2)]
    for each in both:
        each.start()
    for each in both:
        each.join()
    assert sum(done) == 60
    assert found() == history_fixture.made


@pytest.mark.long
def test_a_lake_that_was_moved_goes_on_where_it_was(
    sync, history_fixture: HistoryFixture, found, tmp_path: Path
) -> None:
    history_fixture.add(3)
    sync()
    (tmp_path / "lake").rename(tmp_path / "moved [1] ü")
    history_fixture.add(3)
    assert sync(tmp_path / "moved [1] ü").rows == 3
    assert found(tmp_path / "moved [1] ü") == history_fixture.made


@pytest.mark.long
def test_a_url_of_a_folder_is_as_good_as_its_path(
    sync, history_fixture: HistoryFixture, found, tmp_path: Path
) -> None:
    history_fixture.add(3)
    assert sync((tmp_path / "lake").as_uri()).rows == 3
    assert found((tmp_path / "lake").as_uri()) == found() == history_fixture.made


@pytest.mark.long
def test_an_object_store_is_written_and_read_by_its_url(
    sync, history_fixture: HistoryFixture, found, tmp_path: Path
) -> None:
    """As far as that can be seen without one: all goes through delta-rs's storage and Spark's, by URL."""
    (tmp_path / "lake").mkdir()
    lake = Lake((tmp_path / "lake").as_uri())
    assert not lake.is_local
    history_fixture.add(3)
    assert sync(lake).rows == 3
    history_fixture.add(2)
    assert sync(lake).rows == 2
    assert found(lake) == found() == history_fixture.made
    assert lonnymq.lake.compact(lake)[0].files_after == 1
    assert lonnymq.lake.vacuum(lake)[0].files == []
    assert found(lake) == history_fixture.made
    assert lonnymq.lake.read_status(lake).sources[0].rows == 5


def test_retention_drops_only_what_the_lake_has(
    sync, history_fixture: HistoryFixture, found, watcher: psycopg.Connection
) -> None:
    long_ago = NOON - 4 * 365 * DAY
    name = "history_" + datetime.fromtimestamp(long_ago / 1000, UTC).strftime("%Y%m%d")
    begin = long_ago // DAY * DAY
    watcher.execute(
        f"create table lonnymq.{name} partition of lonnymq.history for values from ({begin}) to ({begin + DAY})"
    )
    history_fixture.add(1)
    sync()
    history_fixture.add(3, at=long_ago)
    with Queue(history_fixture.dsn) as queue:
        assert queue.history_prune() == 0
        with history_fixture.adding(1, at=long_ago):
            sync(held=True)
            assert queue.history_prune() == 0  # the transaction that is open may add to that day
        sync()
        assert queue.history_prune() == 1
        assert [row.message_id for row in queue.history_read()] == [1]
    assert sync().rows == 0
    assert found() == history_fixture.made
