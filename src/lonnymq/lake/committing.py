"""Commits files into a lake's table, on the driver: all of them or none, and what is to be once, once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lonnymq.lake.columns import PARTED_BY
from lonnymq.lake.files import Written
from lonnymq.lake.place import HISTORY, Lake
from lonnymq.lake.refusals import LakeBusy
from lonnymq.lake.tables import made_table

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from deltalake.transaction import AddAction

TRIES = 20


@dataclass(frozen=True)
class Once:
    """What a commit is known by: it moves `app` from `since` (None: it is the first) to `upto`, or does nothing.

    `marks` are numbers that are kept beside it.
    """

    app: str
    since: int | None
    upto: int
    marks: tuple[tuple[str, int], ...] = ()


def commit_files(
    lake: Lake, files: Sequence[Written], *, source: str, once: Once | None = None
) -> DeltaTable:
    """Make the files part of the table of history; raises if another moved the app meanwhile.

    Whoever else commits at the same moment, say a compaction, is looked at again and gone past.
    """
    from deltalake import CommitProperties, PostCommitHookProperties, Transaction
    from deltalake.exceptions import CommitFailedError

    kept = (
        [Transaction(once.app, once.upto), *(Transaction(*each) for each in once.marks)]
        if once
        else []
    )
    properties = CommitProperties(max_commit_retries=0, app_transactions=kept)
    for tried in range(TRIES):
        table = made_table(lake, HISTORY)
        if once is not None and table.transaction_version(once.app) != once.since:
            raise LakeBusy(
                f"{source} was synced up to transaction {table.transaction_version(once.app)} meanwhile. "
                f"{LakeBusy.__doc__}"
            )
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
