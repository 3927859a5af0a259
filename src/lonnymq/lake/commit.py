"""Commits files to a Delta table of a lake, atomically and exactly once; runs on the driver."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lonnymq.lake.errors import LakeBusy
from lonnymq.lake.export import WrittenFile
from lonnymq.lake.location import HISTORY, Lake
from lonnymq.lake.tables import PARTITION_COLUMNS, ensure_table

if TYPE_CHECKING:
    from deltalake import CommitProperties, DeltaTable
    from deltalake.transaction import AddAction

MAX_TRIES = 20
THREADS = 8


@dataclass(frozen=True)
class SyncStep:
    """Makes a commit happen once: the commit moves `key` in the table's log from `since` to `upto`, or fails.

    `since` is None for the first commit. `entries` are further log entries that the commit sets. `expected` are log
    entries that must not have changed.
    """

    key: str
    since: int | None
    upto: int
    entries: tuple[tuple[str, int], ...] = ()
    expected: tuple[tuple[str, int | None], ...] = ()

    def check(self, table: DeltaTable, source: str) -> None:
        """Raise if another sync moved the key or changed an expected entry."""
        for name, value in ((self.key, self.since), *self.expected):
            if table.transaction_version(name) != value:
                raise LakeBusy(
                    f"another sync has copied {source} up to position {table.transaction_version(self.key)}. "
                    f"{LakeBusy.__doc__}"
                )

    def properties(self) -> CommitProperties:
        """The log entries of the commit, as Delta takes them."""
        from deltalake import CommitProperties, Transaction

        kept = [Transaction(self.key, self.upto), *(Transaction(*each) for each in self.entries)]
        return CommitProperties(max_commit_retries=0, app_transactions=kept)


def commit_files(
    lake: Lake, files: Sequence[WrittenFile], *, source: str, step: SyncStep | None = None
) -> DeltaTable:
    """Add the files to the history table; raises if another sync moved the key meanwhile."""
    from deltalake import CommitProperties, PostCommitHookProperties

    properties = step.properties() if step else CommitProperties(max_commit_retries=0)
    return commit_with_retries(
        lake,
        source,
        step,
        lambda table: table.create_write_transaction(
            [make_add_action(each, source) for each in files],
            mode="append",
            schema=table.schema(),
            partition_by=PARTITION_COLUMNS[HISTORY],
            commit_properties=properties,
            post_commithook_properties=PostCommitHookProperties(),
        ),
    )


def commit_rewind(lake: Lake, *, source: str, step: SyncStep) -> None:
    """Delete a source's rows from a position on, and move its progress back there, in one commit."""
    from deltalake import PostCommitHookProperties

    name = source.replace("'", "''")
    commit_with_retries(
        lake,
        source,
        step,
        lambda table: table.delete(
            f"source = '{name}' and xid >= {step.upto}",
            commit_properties=step.properties(),
            post_commithook_properties=PostCommitHookProperties(),
        ),
    )
    # Without a row to take out Delta has made no commit.
    table = ensure_table(lake, HISTORY)
    kept = ((step.key, step.upto), *step.entries)
    if any(table.transaction_version(name) != value for name, value in kept):
        commit_files(lake, [], source=source, step=step)


def commit_with_retries(
    lake: Lake, source: str, step: SyncStep | None, commit: Callable[[DeltaTable], object]
) -> DeltaTable:
    """Commit to the history table. A conflict with a commit of anything but a sync, as a compaction, is retried."""
    from deltalake.exceptions import CommitFailedError

    for tried in range(1, MAX_TRIES + 1):
        table = ensure_table(lake, HISTORY)
        if step is not None:
            step.check(table, source)
        try:
            commit(table)
            break
        except CommitFailedError:
            if tried == MAX_TRIES:
                raise
    return table


def make_add_action(file: WrittenFile, source: str) -> AddAction:
    """The log action that adds a file."""
    from deltalake.transaction import AddAction

    return AddAction(
        path=file.path,
        size=file.bytes,
        partition_values={"source": source, "date": file.day},
        modification_time=file.written_at,
        data_change=True,
        stats=file.stats,
    )


def sync_to_disk(lake: Lake, files: Sequence[WrittenFile]) -> None:
    """Flush a commit's files and its log to disk: PostgreSQL drops history that the lake confirmed.

    An object store needs no flush.
    """
    if not lake.is_local:
        return
    root = Path(lake.table(HISTORY))
    log = root / "_delta_log"
    data = [root / each.path for each in files]
    written = sorted(log.glob("*.json"))[-3:]  # ours, and what others may have added since
    # Several files at the same time take hardly longer than one.
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(fsync, [*data, *{each.parent for each in data}, *written, log]))


def fsync(path: Path) -> None:
    """Flush a file or a folder."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
