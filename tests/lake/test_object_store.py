"""A lake in an object store: all of it over S3's protocol, with the options that were given."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from deltalake import CommitProperties, DeltaTable
from deltalake.exceptions import CommitFailedError

import lonnymq.lake
from commands import run
from lake.history_fixture import HistoryFixture
from lake.s3_server import Store, object_store
from lonnymq.lake.location import resolve_lake
from lonnymq.lake.tables import ensure_table

LAKE = "s3://bucket/a/lake"


@pytest.fixture
def store() -> Iterator[Store]:
    with object_store() as store:
        yield store


@pytest.mark.long
def test_a_sync_a_compaction_and_a_vacuum_need_nothing_but_the_options(
    sync, history_fixture: HistoryFixture, store: Store
) -> None:
    history_fixture.add(3, channel="ä/1")
    assert sync(LAKE, source="s ü", storage_options=store.options).rows == 3
    history_fixture.add(2)
    assert sync(LAKE, source="s ü", storage_options=store.options).rows == 2
    assert sync(LAKE, source="s ü", storage_options=store.options).rows == 0
    assert ids(store) == history_fixture.made
    found = lonnymq.lake.read_status(
        LAKE, url=history_fixture.dsn, source="s ü", storage_options=store.options
    )
    assert (found.sources[0].rows, found.sources[0].files) == (5, 2)
    assert found.behind
    assert found.behind.rows == 0
    history = lonnymq.lake.compact(LAKE, storage_options=store.options)[0]
    assert (history.files_before, history.files_after) == (2, 1)
    assert ids(store) == history_fixture.made
    lonnymq.lake.vacuum(LAKE, storage_options=store.options)
    assert ids(store) == history_fixture.made
    assert [each.rpartition("=")[2] for each in store.who()] == ["somebody"]


@pytest.mark.long
def test_a_commit_never_overwrites_another(
    sync, history_fixture: HistoryFixture, store: Store
) -> None:
    """The store is asked to reject that, and the sync looks again."""
    history_fixture.add(1)
    sync(LAKE, storage_options=store.options)
    place = resolve_lake(LAKE, store.options)
    stale = ensure_table(place, "history")
    history_fixture.add(1)
    sync(LAKE, storage_options=store.options)
    with pytest.raises(CommitFailedError):
        stale.create_write_transaction(
            [],
            mode="append",
            schema=stale.schema(),
            commit_properties=CommitProperties(max_commit_retries=0),
        )
    assert ids(store) == history_fixture.made


def test_what_is_no_lake_there_is_told_of(store: Store) -> None:
    words = [f"--storage-option={key}={value}" for key, value in store.options.items()]
    ran = run("lake", "compact", "--lake", LAKE, *words)
    assert ran.code == 1
    assert "There is no table history at s3://bucket/a/lake" in ran.err
    store.ask("a/lake/history/notes.txt", content=b"mine")
    ran = run("lake", "compact", "--lake", LAKE, *words)
    assert "The folder s3://bucket/a/lake/history has files, but no table of a lake" in ran.err


def ids(store: Store) -> list[int]:
    """The messages in the lake, as delta-rs reads it."""
    table = DeltaTable(f"{LAKE}/history", storage_options=store.options)
    return sorted(table.to_pyarrow_table(columns=["message_id"])["message_id"].to_pylist())
