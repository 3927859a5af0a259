"""Status and maintenance of a lake: contents, lag behind a database, compaction and vacuum. Needs no Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from lonnymq.client import Queue
from lonnymq.errors import InvalidArgument
from lonnymq.lake.location import ANALYTICS, CHANNELS, HISTORY, Lake, resolve_lake
from lonnymq.lake.source import APPLICATION_NAME, identify_source
from lonnymq.lake.tables import DataFile, list_files, open_table
from lonnymq.results import HistoryLag, HistoryReader
from lonnymq.spark.connection import conninfo

if TYPE_CHECKING:
    from deltalake import DeltaTable

GENERATION_BITS = 44  # a position is the database's generation times 2^44, and the transaction's id
MIN_HOURS = 1
DEFAULT_AGE = timedelta(days=7)
TARGET_BYTES = 128 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """The contents of one source: rows, files and days."""

    source: str
    rows: int
    files: int
    bytes: int
    first_day: date | None
    last_day: date | None


@dataclass(frozen=True, slots=True)
class SourceLag:
    """The lag of the lake behind a database: rows, milliseconds, transactions.

    `upto` is the position up to which the lake has it. The time is that since the first attempt finished that the
    lake does not have. `confirmed` is up to where PostgreSQL knows it to be safe, and may drop it.
    `rewind_to` is where the next sync goes back to: the database lost its last transactions, or the last sync was
    killed before it could confirm. Rows from there on count as missing.
    """

    source: str
    reader: str
    upto: int
    confirmed: int | None
    rows: int
    rows_held: int
    rows_exact: bool
    behind_ms: int
    transactions: int
    lag: HistoryLag
    rewind_to: int | None = None


@dataclass(frozen=True, slots=True)
class LakeStatus:
    """The status of a lake. `readers` are all readers that keep the database's history from being dropped."""

    lake: str
    version: int
    sources: list[SourceStatus]
    behind: SourceLag | None
    readers: list[HistoryReader]


def read_status(
    lake: Lake | Path | str,
    *,
    url: str | None = None,
    schema: str = "lonnymq",
    source: str | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> LakeStatus:
    """The status of the lake, and with a `url` the lag behind that database. Needs no Spark."""
    location = resolve_lake(lake, storage_options)
    table = open_table(location, HISTORY)
    behind: SourceLag | None = None
    readers: list[HistoryReader] = []
    if url is not None:
        behind, readers = measure_lag(table, url, schema=schema, source=source)
    return LakeStatus(location.url, table.version(), list_source_status(table), behind, readers)


def measure_lag(
    table: DeltaTable, url: str, *, schema: str, source: str | None
) -> tuple[SourceLag, list[HistoryReader]]:
    """Measure the lag of the table behind a database."""
    database = identify_source(url, schema=schema, source=source)
    upto, reader = database.synced_position(table) or 0, database.reader(table)
    with Queue(
        conninfo(database.options, name=APPLICATION_NAME), schema=database.options.schema
    ) as queue:
        since = min(upto, queue.history_resume(reader, upto).since)
        lag, readers = queue.history_lag(since), queue.history_reader_list()
    confirmed = {each.name: each.confirmed for each in readers}
    return (
        SourceLag(
            source=database.source,
            reader=reader,
            upto=upto,
            confirmed=confirmed.get(reader),
            rows=lag.ready + lag.held,
            rows_held=lag.held,
            rows_exact=lag.counted_exactly,
            behind_ms=0 if lag.first_at is None else max(0, lag.now_at - lag.first_at),
            transactions=0
            if lag.first_xid is None
            else count_transactions(lag.first_xid, lag.next_xid),
            lag=lag,
            rewind_to=since if since < upto else None,
        ),
        readers,
    )


def count_transactions(first: int, following: int) -> int:
    """The number of transactions between two positions; those of older generations are unknown."""
    generation = following >> GENERATION_BITS << GENERATION_BITS
    return following - max(first, generation)


def list_source_status(table: DeltaTable) -> list[SourceStatus]:
    """The contents of each source, from the table's log."""
    found: dict[str, list[DataFile]] = {}
    for each in list_files(table):
        found.setdefault(each.source, []).append(each)
    return [summarize_source(name, files) for name, files in sorted(found.items())]


def summarize_source(name: str, files: list[DataFile]) -> SourceStatus:
    """Summarize a source from its files."""
    days = [each.day for each in files if each.day is not None]
    return SourceStatus(
        source=name,
        rows=sum(each.rows for each in files),
        files=len(files),
        bytes=sum(each.bytes for each in files),
        first_day=min(days, default=None),
        last_day=max(days, default=None),
    )


@dataclass(frozen=True, slots=True)
class CompactResult:
    """What became of a table's files."""

    table: str
    files_before: int
    files_after: int


@dataclass(frozen=True, slots=True)
class VacuumResult:
    """The files of a table that were taken away, or would be."""

    table: str
    files: list[str]


def compact(
    lake: Lake | Path | str,
    *,
    target_bytes: int = TARGET_BYTES,
    storage_options: Mapping[str, str] | None = None,
) -> list[CompactResult]:
    """Merge small files into large files, day by day. Running reads continue with the small files."""
    location = resolve_lake(lake, storage_options)
    found = []
    for name in list_tables(location):
        table = open_table(location, name)
        before = len(table.file_uris())
        table.optimize.compact(target_size=target_bytes)
        found.append(CompactResult(name, before, len(table.file_uris())))
    return found


def vacuum(
    lake: Lake | Path | str,
    *,
    older_than: timedelta = DEFAULT_AGE,
    dry_run: bool = False,
    storage_options: Mapping[str, str] | None = None,
) -> list[VacuumResult]:
    """Delete files that belong to no table: replaced by a compaction, or left by a killed sync."""
    hours = int(older_than / timedelta(hours=1))
    if hours < MIN_HOURS:
        raise InvalidArgument(
            "older_than must be at least an hour: a sync or a reader may use younger files"
        )
    location = resolve_lake(lake, storage_options)
    found = []
    for name in list_tables(location):
        files = open_table(location, name).vacuum(
            retention_hours=hours, dry_run=dry_run, enforce_retention_duration=False, full=True
        )
        found.append(VacuumResult(name, sorted(files)))
    return found


def list_tables(lake: Lake) -> Iterator[str]:
    """List the tables of a lake; raises without a history table."""
    from deltalake import DeltaTable
    from pyarrow import fs

    yield HISTORY
    found = lake.files().get_file_info(fs.FileSelector(ANALYTICS, allow_not_found=True))
    for name in (CHANNELS, *sorted(f"{ANALYTICS}/{each.base_name}" for each in found)):
        if DeltaTable.is_deltatable(lake.table(name), dict(lake.options)):
            yield name
