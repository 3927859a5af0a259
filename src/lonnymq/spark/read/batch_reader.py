"""Batch reads of `messages`, `history` and `channels`: planned on the driver, read by tasks, nothing consumed.

All tasks see one state. History only grows, and each of its rows has a position: a snapshot as text is enough and stays
valid for ever. Messages come and go: where several tasks read them, a process holds a snapshot open for the tasks.

Each task reads ranges of pages, which cost nothing to find and are read in the order of the file. A row that a snapshot
sees lies in one place only, unless the table is rewritten (VACUUM FULL, CLUSTER): so each range remembers the file that
the table was in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from lonnymq.errors import LonnyMQError
from lonnymq.spark.connection import (
    MissingPrivilege,
    check_granted,
    check_installed,
    conninfo,
    open_connection,
    queue_outdated,
    run_call,
)
from lonnymq.spark.options import Options, read_options
from lonnymq.spark.read.arrow_reader import ArrowConnection, Error, read_batches, read_transaction
from lonnymq.spark.read.schemas import Column, all_columns, select_columns
from lonnymq.spark.read.sql import build_select, function_source, quote_literal
from lonnymq.spark.spark_process import freeze_imports, plain_errors
from lonnymq.spark.versions import require

if TYPE_CHECKING:
    from psycopg import Connection
    from pyspark.sql.datasource import Filter

CHANNELS_PER_CALL = 10_000  # the maximum of channel_stats
CHANNEL = Column("channel", "text", "r.channel")
GRANT_ADVICE = (
    "grant pg_read_all_data to the user beside the viewer role, which reads channels only"
)
MAY_CALL = "select has_function_privilege(to_regprocedure(%s), 'execute'), current_user::text"
TABLE_NAMES = {"messages": "message", "history": "history", "channels": "channel"}
PARTITION_BYTES = 32 * 1024 * 1024
MAX_PARTITIONS = 200


class SnapshotExpired(LonnyMQError):
    """The snapshot of this DataFrame has expired: load the DataFrame again, or raise `snapshotTimeout`."""


class TableRewritten(LonnyMQError):
    """VACUUM FULL or retention rewrote or dropped the table during the read: load the DataFrame again."""


@dataclass(frozen=True)
class ReadPartition(InputPartition):
    """The pages that a task reads, under a snapshot that is held open (`held`) or given as text (`visible`)."""

    pages: tuple[PageRange, ...] = ()
    address: str = ""
    held: str | None = None
    visible: str | None = None

    def __repr__(self) -> str:
        return f"ReadPartition(pages={self.pages})"


def create_reader(given: Mapping[str, str], schema: StructType) -> DataSourceReader:
    """The reader for these options; it pushes filters down only if the options ask for that."""
    options = read_options(given, "read")
    if not options["pushDownPredicate"]:
        return BatchReader(options, schema)
    require("filters in PostgreSQL")
    return FilteringReader(options, schema)


class BatchReader(DataSourceReader):
    """A read of one table. `partitions` runs on the driver, `read` on an executor."""

    def __init__(self, options: Options, schema: StructType) -> None:
        self.options = options
        self.columns = select_columns(all_columns(options), schema, table=options.table)
        self.table = options.table or ""
        self.relation = f"{options.schema}.{TABLE_NAMES[self.table]}"
        self.requested = options["numPartitions"] if "numpartitions" in options.given else None
        self.conditions: list[str] = []

    def partitions(self) -> Sequence[InputPartition]:
        """The partitions of the read, on the driver."""
        address = conninfo(self.options, name="lonnymq read")
        freeze_imports()
        with plain_errors(), open_connection(self.options) as connection:
            check_installed(connection, self.options, table=TABLE_NAMES[self.table])
            if self.table != "channels":
                check_granted(connection, self.relation, "select", advice=GRANT_ADVICE)
            if self.table == "history":
                return self.history_partitions(connection, address)
            if self.table == "messages":
                return self.message_partitions(connection, address)
        return [ReadPartition(address=address)]

    def history_partitions(self, connection: Connection[Any], address: str) -> list[ReadPartition]:
        """Pages of the days that can match the filters, under a snapshot as text."""
        visible = fetch_history_snapshot(connection, self.options.schema)
        matching = self.matching_tables(connection) if self.conditions else None
        found = fetch_leaf_tables(connection, self.relation)
        tables = [table for table in found if matching is None or table.name in matching]
        tasks = split_tables(tables, count_partitions(tables, self.requested))
        return [ReadPartition(tuple(task), address, visible=visible) for task in tasks]

    def message_partitions(self, connection: Connection[Any], address: str) -> list[ReadPartition]:
        """Pages under a held snapshot; the whole table where it is small or an index finds the rows."""
        tables = fetch_leaf_tables(connection, self.relation)
        count = count_partitions(tables, self.requested)
        if count == 1 or any(each.startswith("r.channel") for each in self.conditions):
            return [ReadPartition((PageRange(self.relation, 0, 0, 0),), address)]
        from psycopg.conninfo import make_conninfo

        from lonnymq.spark.read.snapshot_holder import start_snapshot_holder

        name = f"lonnymq read {uuid4().hex[:12]}"  # the holder recognises its readers by this name
        address = make_conninfo(address, application_name=name)
        timeout = self.options["snapshotTimeout"]
        held = start_snapshot_holder(address, name=name, timeout_ms=timeout)
        # Measured after the snapshot was taken: all rows that it sees lie on these pages.
        tasks = split_tables(fetch_leaf_tables(connection, self.relation), count)
        return [ReadPartition(tuple(task), address, held=held) for task in tasks]

    def matching_tables(self, connection: Connection[Any]) -> set[str]:
        """The tables that PostgreSQL would scan for the conditions."""
        plan = f"explain (format json) {build_select(self.columns, self.relation, self.conditions)}"
        row = connection.execute(plan.encode()).fetchone()
        return {f"{self.options.schema}.{name}" for name in plan_relations(row and row[0])}

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a partition, on an executor."""
        assert isinstance(partition, ReadPartition)  # noqa: S101 (`partitions` made it)
        read = self.read_channels if self.table == "channels" else self.read_pages
        with plain_errors():
            yield from read(partition)

    def read_pages(self, partition: ReadPartition) -> Iterator[pa.RecordBatch]:
        """The rows on the pages of a partition."""
        for pages in partition.pages:
            with read_transaction(partition.address, keep=partition.held is None) as connection:
                if partition.held:
                    use_snapshot(connection, partition.held)
                found = [pages.condition] if pages.end else []
                if pages.file:
                    check_not_rewritten(connection, pages)
                if partition.visible:
                    found.append(f"pg_visible_in_snapshot(r.xid, '{partition.visible}')")
                query = build_select(self.columns, pages.table, [*found, *self.conditions])
                yield from read_batches(connection, query, self.columns)

    def read_channels(self, partition: ReadPartition) -> Iterator[pa.RecordBatch]:
        """All channels, by name, in one transaction, which ends before Spark, perhaps slowly, takes the rows."""
        columns, after, rows = (*self.columns, CHANNEL), "", CHANNELS_PER_CALL
        found: list[pa.RecordBatch] = []
        with read_transaction(partition.address, keep=True) as connection:
            while rows == CHANNELS_PER_CALL:
                source = function_source(
                    self.options.schema, "channel_stats", None, after, CHANNELS_PER_CALL
                )
                rows = 0
                for batch in read_batches(connection, build_select(columns, source), columns):
                    rows += batch.num_rows
                    after = batch.column(len(columns) - 1)[-1].as_py()
                    found.append(batch.select(range(len(columns) - 1)))
        yield from found


class FilteringReader(BatchReader):
    """A read that lets PostgreSQL filter too. Spark rejects a reader with this method unless a setting allows it."""

    def pushFilters(self, filters: list[Filter]) -> Iterator[Filter]:  # noqa: N802 (Spark's name)
        """Note the filters that SQL can express, on the driver; Spark applies all filters again."""
        from lonnymq.spark.read.filters import filter_conditions

        self.conditions = filter_conditions(filters, self.columns)
        yield from filters


def fetch_history_snapshot(connection: Connection[Any], schema: str) -> str:
    """The present snapshot as text, in positions of history, which stay valid after a restore."""
    from lonnymq.client import calls

    function = f"{schema}.history_snapshot()"
    row = connection.execute(MAY_CALL, (function,)).fetchone()
    if row is None or row[0] is None:
        raise queue_outdated(schema)
    if not row[0]:
        raise MissingPrivilege(f"the user {row[1]} may not call {function}: {GRANT_ADVICE}")
    return run_call(connection, calls.history_snapshot(schema))


def use_snapshot(connection: ArrowConnection, snapshot: str) -> None:
    """Read under a held snapshot from here on."""
    try:
        connection.execute(f"set transaction snapshot {quote_literal(snapshot)}")
    except Error as error:
        raise SnapshotExpired(f"{SnapshotExpired.__doc__} ({error})") from None


def check_not_rewritten(connection: ArrowConnection, pages: PageRange) -> None:
    """Raise if the table is in another file now; the lock keeps it in this file from here on."""
    try:
        connection.execute(f"lock table {pages.table} in access share mode")
        query = f"select pg_relation_filenode({quote_literal(pages.table)}::regclass)"
        file = connection.execute(query).read_all().column(0)[0].as_py()
    except Error as error:
        raise TableRewritten(f"{TableRewritten.__doc__} ({error})") from None
    if file != pages.file:
        raise TableRewritten(f"{TableRewritten.__doc__} ({pages.table})")


def plan_relations(plan: Any) -> Iterator[str]:
    """The names of the tables in a query plan."""
    if isinstance(plan, dict):
        if "Relation Name" in plan:
            yield plan["Relation Name"]
        plan = list(plan.values())
    if isinstance(plan, list):
        for each in plan:
            yield from plan_relations(each)


@dataclass(frozen=True, slots=True)
class LeafTable:
    """A table with rows of its own: name, file, number of pages, and bytes including TOAST."""

    name: str
    file: int
    pages: int
    bytes: int


@dataclass(frozen=True, slots=True)
class PageRange:
    """The pages of a leaf table from `first` up to but not including `end`."""

    table: str
    file: int
    first: int
    end: int

    @property
    def condition(self) -> str:
        """The SQL condition for the rows on these pages."""
        return f"r.ctid >= '({self.first},0)'::tid and r.ctid < '({self.end},0)'::tid"


PARTITION_LEAVES = """
    select t.relid::regclass::text, pg_relation_filenode(t.relid),
      pg_relation_size(t.relid) / current_setting('block_size')::bigint, pg_table_size(t.relid)
    from pg_partition_tree(%s::regclass) t
    where t.isleaf
    order by t.relid
"""
SINGLE_TABLE = """
    select %s::regclass::text, pg_relation_filenode(%s::regclass),
      pg_relation_size(%s::regclass) / current_setting('block_size')::bigint,
      pg_table_size(%s::regclass)
"""


def fetch_leaf_tables(connection: Connection[Any], table: str) -> list[LeafTable]:
    """The tables that hold the rows of a table: the table itself, or its partitions."""
    found = connection.execute(PARTITION_LEAVES, (table,)).fetchall()
    rows = found or connection.execute(SINGLE_TABLE, (table,) * 4).fetchall()
    return [LeafTable(*row) for row in rows]


def count_partitions(tables: Sequence[LeafTable], requested: int | None) -> int:
    """The requested number of partitions, or one per 32 MiB; never more than pages."""
    size = sum(table.bytes for table in tables)
    wanted = requested or min(ceil(size / PARTITION_BYTES), MAX_PARTITIONS)
    return max(1, min(wanted, sum(table.pages for table in tables)))


def split_tables(tables: Sequence[LeafTable], count: int) -> list[list[PageRange]]:
    """The page ranges of each of `count` partitions, with equal numbers of pages."""
    per_partition = max(1, ceil(sum(table.pages for table in tables) / count))
    partitions: list[list[PageRange]] = [[]]
    room = per_partition
    for table in tables:
        first = 0
        while first < table.pages:
            if room == 0:
                partitions.append([])
                room = per_partition
            end = min(first + room, table.pages)
            partitions[-1].append(PageRange(table.name, table.file, first, end))
            first, room = end, room - (end - first)
    return partitions
