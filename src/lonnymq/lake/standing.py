"""How a lake stands: what is in it, how far it is behind a database, and what holds the rest back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from lonnymq.client import Queue
from lonnymq.lake.listing import Listed, listed
from lonnymq.lake.origin import NAME, origin_at
from lonnymq.lake.place import HISTORY, Lake, lake_at
from lonnymq.lake.tables import table_at
from lonnymq.results import HistoryLag, HistoryReader
from lonnymq.spark.connection import conninfo

if TYPE_CHECKING:
    from deltalake import DeltaTable


GENERATION_BITS = 44  # a position is the database's generation times 2^44, and the transaction's id


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """What the lake has of one source: of which days, in how many files."""

    source: str
    rows: int
    files: int
    bytes: int
    first_day: date | None
    last_day: date | None


@dataclass(frozen=True, slots=True)
class Behind:
    """How far the lake is behind a database: in rows, in milliseconds, in transactions.

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
    """A lake, and how it stands to one database; `readers` are all who keep that one's history from being dropped."""

    lake: str
    version: int
    sources: list[SourceStatus]
    behind: Behind | None
    readers: list[HistoryReader]


def status(
    lake: Lake | Path | str,
    *,
    url: str | None = None,
    schema: str = "lonnymq",
    source: str | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> LakeStatus:
    """How the lake stands, and with a `url` how far it is behind that database. Needs no Spark."""
    place = lake_at(lake, storage_options)
    table = table_at(place, HISTORY)
    behind: Behind | None = None
    readers: list[HistoryReader] = []
    if url is not None:
        behind, readers = behind_of(table, url, schema=schema, source=source)
    return LakeStatus(place.url, table.version(), contents(table), behind, readers)


def behind_of(
    table: DeltaTable, url: str, *, schema: str, source: str | None
) -> tuple[Behind, list[HistoryReader]]:
    """How far the table is behind a database."""
    origin = origin_at(url, schema=schema, source=source)
    upto, reader = origin.reached(table) or 0, origin.reader(table)
    with Queue(conninfo(origin.options, name=NAME), schema=origin.options.schema) as queue:
        since = min(upto, queue.history_resume(reader, upto).since)
        lag, readers = queue.history_lag(since), queue.history_reader_list()
    confirmed = {each.name: each.confirmed for each in readers}
    return (
        Behind(
            source=origin.source,
            reader=reader,
            upto=upto,
            confirmed=confirmed.get(reader),
            rows=lag.ready + lag.held,
            rows_held=lag.held,
            rows_exact=lag.counted_exactly,
            behind_ms=0 if lag.first_at is None else max(0, lag.now_at - lag.first_at),
            transactions=0 if lag.first_xid is None else transactions(lag.first_xid, lag.next_xid),
            lag=lag,
            rewind_to=since if since < upto else None,
        ),
        readers,
    )


def transactions(first: int, following: int) -> int:
    """How many transactions lie between two positions; of an older generation's nobody knows how many there were."""
    generation = following >> GENERATION_BITS << GENERATION_BITS
    return following - max(first, generation)


def contents(table: DeltaTable) -> list[SourceStatus]:
    """What a table has of each source, as its log tells it."""
    found: dict[str, list[Listed]] = {}
    for each in listed(table):
        found.setdefault(each.source, []).append(each)
    return [source_status(name, files) for name, files in sorted(found.items())]


def source_status(name: str, files: list[Listed]) -> SourceStatus:
    """One source, from its files."""
    days = [each.day for each in files if each.day is not None]
    return SourceStatus(
        source=name,
        rows=sum(each.rows for each in files),
        files=len(files),
        bytes=sum(each.bytes for each in files),
        first_day=min(days, default=None),
        last_day=max(days, default=None),
    )
