"""Commits files into a lake's table, on the driver: all of them or none, and what is to be once, once."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lonnymq.lake.errors import LakeBusy
from lonnymq.lake.location import HISTORY, Lake
from lonnymq.lake.parquet import Written
from lonnymq.lake.tables import PARTED_BY, made_table

if TYPE_CHECKING:
    from deltalake import CommitProperties, DeltaTable
    from deltalake.transaction import AddAction

TRIES = 20


@dataclass(frozen=True)
class Once:
    """What a commit is known by: it moves `app` from `since` (None: it is the first) to `upto`, or does nothing.

    `marks` are numbers that are kept beside it, `seen` are those that must not have changed meanwhile.
    """

    app: str
    since: int | None
    upto: int
    marks: tuple[tuple[str, int], ...] = ()
    seen: tuple[tuple[str, int | None], ...] = ()

    def check(self, table: DeltaTable, source: str) -> None:
        """Raise if another moved the app, or a number that was seen."""
        for name, value in ((self.app, self.since), *self.seen):
            if table.transaction_version(name) != value:
                raise LakeBusy(
                    f"{source} was synced up to {table.transaction_version(self.app)} meanwhile. {LakeBusy.__doc__}"
                )

    def properties(self) -> CommitProperties:
        """What Delta is told to keep with the commit."""
        from deltalake import CommitProperties, Transaction

        kept = [Transaction(self.app, self.upto), *(Transaction(*each) for each in self.marks)]
        return CommitProperties(max_commit_retries=0, app_transactions=kept)


def commit_files(
    lake: Lake, files: Sequence[Written], *, source: str, once: Once | None = None
) -> DeltaTable:
    """Make the files part of the table of history; raises if another moved the app meanwhile.

    Whoever else commits at the same moment, say a compaction, is looked at again and gone past.
    """
    from deltalake import CommitProperties, PostCommitHookProperties
    from deltalake.exceptions import CommitFailedError

    properties = once.properties() if once else CommitProperties(max_commit_retries=0)
    for tried in range(TRIES):
        table = made_table(lake, HISTORY)
        if once is not None:
            once.check(table, source)
        try:
            table.create_write_transaction(
                [added(each, source) for each in files],
                mode="append",
                schema=table.schema(),
                partition_by=PARTED_BY[HISTORY],
                commit_properties=properties,
                post_commithook_properties=PostCommitHookProperties(),
            )
        except CommitFailedError:
            if tried == TRIES - 1:
                raise
        else:
            return table
    raise AssertionError("unreachable")


def commit_rewind(lake: Lake, *, source: str, once: Once) -> None:
    """Take a source's rows from a position on out of the table, and move its place back there, in one commit."""
    from deltalake import PostCommitHookProperties
    from deltalake.exceptions import CommitFailedError

    name = source.replace("'", "''")
    for tried in range(TRIES):
        table = made_table(lake, HISTORY)
        once.check(table, source)
        try:
            table.delete(
                f"source = '{name}' and xid >= {once.upto}",
                commit_properties=once.properties(),
                post_commithook_properties=PostCommitHookProperties(),
            )
            break
        except CommitFailedError:
            if tried == TRIES - 1:
                raise
    # Without a row to take out Delta has made no commit.
    table = made_table(lake, HISTORY)
    kept = ((once.app, once.upto), *once.marks)
    if any(table.transaction_version(name) != value for name, value in kept):
        commit_files(lake, [], source=source, once=once)


def added(file: Written, source: str) -> AddAction:
    """A file as Delta is told of it."""
    from deltalake.transaction import AddAction

    return AddAction(
        path=file.path,
        size=file.bytes,
        partition_values={"source": source, "date": file.day},
        modification_time=file.written_at,
        data_change=True,
        stats=file.stats,
    )


AT_ONCE = 8


def to_disk(lake: Lake, files: Sequence[Written]) -> None:
    """Wait until a commit's files and the log that names them are on the disk; an object store does so by itself."""
    if not lake.is_local:
        return
    root = Path(lake.table(HISTORY))
    log = root / "_delta_log"
    data = [root / each.path for each in files]
    written = sorted(log.glob("*.json"))[-3:]  # ours, and what others may have added since
    flush([*data, *{each.parent for each in data}, *written, log])


def flush(paths: Iterable[Path]) -> None:
    """Wait for the disk, for all of them at once: it costs hardly more than for one."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(flush_one, paths))


def flush_one(path: Path) -> None:
    """Wait for the disk, for a file or a folder."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
