"""Batch reads of `messages`, `history` and `channels`: planned on the driver, read by tasks, nothing consumed.

All tasks see one state. History only grows, and each of its rows tells its position: a snapshot in words is enough,
and holds for ever. Messages come and go: where several tasks read them, a keeper holds a snapshot for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition
from pyspark.sql.types import StructType

from lonnymq.errors import LonnyMQError, NotInstalled
from lonnymq.spark.connection import (
    NotGranted,
    check_granted,
    check_installed,
    conninfo,
    open_connection,
)
from lonnymq.spark.gc import rest
from lonnymq.spark.options import Options, read_options
from lonnymq.spark.read.arrow_reader import Connection as Reading
from lonnymq.spark.read.arrow_reader import Error, batches, reading
from lonnymq.spark.read.partitions import Slice, how_many, leaves_of, shares
from lonnymq.spark.read.schemas import Column, chosen_columns
from lonnymq.spark.read.sql import literal, select

if TYPE_CHECKING:
    from psycopg import Connection

PAGE = 10_000  # channel_stats answers so many at once
CHANNEL = Column("channel", "text", "r.channel")
TO_READ = "grant it pg_read_all_data beside the viewer's role, which alone reads channels"
MAY_CALL = "select has_function_privilege(to_regprocedure(%s), 'execute'), current_user::text"
HOME = {"messages": "message", "history": "history", "channels": "channel"}


class SnapshotGone(LonnyMQError):
    """The state that this DataFrame reads is no longer kept: load it again, or raise `snapshotTimeout`."""


class Rewritten(LonnyMQError):
    """The table was rewritten or dropped while it was read (VACUUM FULL, retention): load the DataFrame again."""


@dataclass(frozen=True)
class Part(InputPartition):
    """What one task reads: pages of tables, under a snapshot that is kept (`held`) or told in words (`seen`)."""

    slices: tuple[Slice, ...] = ()
    address: str = ""
    held: str | None = None
    seen: str | None = None

    def __repr__(self) -> str:
        return f"Part(slices={self.slices})"


def reader(given: Mapping[str, str], schema: StructType) -> DataSourceReader:
    """The reader for these options; only one that is asked to pushes filters down."""
    options = read_options(given, "read")
    kind = PushingReader if options["pushDownPredicate"] else Reader
    return kind(options, schema)


class Reader(DataSourceReader):
    """A read of one table. `partitions` runs on the driver, `read` on an executor."""

    def __init__(self, options: Options, schema: StructType) -> None:
        self.options = options
        self.columns = chosen_columns(options, schema)
        self.table = options.table or ""
        self.home = f"{options.schema}.{HOME[self.table]}"
        self.asked = options["numPartitions"] if "numpartitions" in options.given else None
        self.conditions: list[str] = []

    def partitions(self) -> Sequence[InputPartition]:
        """The parts of the read, on the driver."""
        address = conninfo(self.options, name="lonnymq read")
        rest()
        with open_connection(self.options) as connection:
            check_installed(connection, self.options, table=HOME[self.table])
            if self.table != "channels":
                check_granted(connection, self.home, "select", otherwise=TO_READ)
            if self.table == "history":
                return self.parts_of_history(connection, address)
            if self.table == "messages":
                return self.parts_of_messages(connection, address)
        return [Part(address=address)]

    def parts_of_history(self, connection: Connection[Any], address: str) -> list[Part]:
        """Pages of the days that can hold what is asked for, under a snapshot in words."""
        seen = snapshot_in_positions(connection, self.options.schema)
        kept = self.wanted_leaves(connection) if self.conditions else None
        found = leaves_of(connection, self.home)
        leaves = [leaf for leaf in found if kept is None or leaf.name in kept]
        tasks = shares(leaves, how_many(leaves, self.asked))
        return [Part(tuple(task), address, seen=seen) for task in tasks]

    def parts_of_messages(self, connection: Connection[Any], address: str) -> list[Part]:
        """Pages under a snapshot that is kept; the whole table where it is small, or an index finds the rows."""
        count = how_many(leaves_of(connection, self.home), self.asked)
        if count == 1 or any(each.startswith("r.channel") for each in self.conditions):
            return [Part((Slice(self.home, 0, 0, 0),), address)]
        from psycopg.conninfo import make_conninfo

        from lonnymq.spark.read.snapshot_holder import keep_snapshot

        name = f"lonnymq read {uuid4().hex[:12]}"  # by which the keeper sees who still reads
        address = make_conninfo(address, application_name=name)
        timeout = self.options["snapshotTimeout"]
        held = keep_snapshot(address, name=name, timeout_ms=timeout)
        # Measured after the snapshot was taken: what it sees lies on these pages.
        tasks = shares(leaves_of(connection, self.home), count)
        return [Part(tuple(task), address, held=held) for task in tasks]

    def wanted_leaves(self, connection: Connection[Any]) -> set[str]:
        """The tables that PostgreSQL would look into for the conditions."""
        plan = f"explain (format json) {select(self.columns, self.home, self.conditions)}"
        row = connection.execute(plan.encode()).fetchone()
        return {f"{self.options.schema}.{name}" for name in relations(row and row[0])}

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a part, on an executor."""
        assert isinstance(partition, Part)  # noqa: S101 (they are ours)
        if self.table == "channels":
            return self.read_channels(partition)
        return self.read_slices(partition)

    def read_slices(self, part: Part) -> Iterator[pa.RecordBatch]:
        """The rows on the pages of a part."""
        for each in part.slices:
            with reading(part.address, keep=part.held is None) as connection:
                if part.held:
                    adopt(connection, part.held)
                found = [each.condition] if each.end else []
                if each.file:
                    check_file(connection, each)
                if part.seen:
                    found.append(f"pg_visible_in_snapshot(r.xid, '{part.seen}')")
                query = select(self.columns, each.leaf, [*found, *self.conditions])
                yield from batches(connection, query, self.columns)

    def read_channels(self, part: Part) -> Iterator[pa.RecordBatch]:
        """All channels, by name, in one transaction, and given to Spark, which may be slow, after the last page."""
        columns, after, rows = (*self.columns, CHANNEL), "", PAGE
        found: list[pa.RecordBatch] = []
        with reading(part.address, keep=True) as connection:
            while rows == PAGE:
                source = f"{self.options.schema}.channel_stats(null, {literal(after)}, {PAGE})"
                rows = 0
                for batch in batches(connection, select(columns, source), columns):
                    rows += batch.num_rows
                    after = batch.column(len(columns) - 1)[-1].as_py()
                    found.append(batch.select(range(len(columns) - 1)))
        yield from found


def snapshot_in_positions(connection: Connection[Any], schema: str) -> str:
    """The present snapshot in positions of history, in words: which rows were there, also after a restore."""
    function = f"{schema}.history_snapshot()"
    row = connection.execute(MAY_CALL, (function,)).fetchone()
    if row is None or row[0] is None:
        raise NotInstalled(
            f"the queue in the schema {schema} is older than this library: "
            f"lonnymq.Queue(url, schema={schema!r}).install() upgrades it"
        )
    if not row[0]:
        raise NotGranted(f"the user {row[1]} may not call {function}: {TO_READ}")
    row = connection.execute(f"select {function}::text".encode()).fetchone()
    return str(row and row[0])


def adopt(connection: Reading, snapshot: str) -> None:
    """Read what the kept snapshot sees, from here on."""
    try:
        connection.execute(f"set transaction snapshot {literal(snapshot)}")
    except Error as error:
        raise SnapshotGone(f"{SnapshotGone.__doc__} ({error})") from None


def check_file(connection: Reading, part: Slice) -> None:
    """Raise if the table's rows lie elsewhere by now; from here on they stay where they are."""
    try:
        connection.execute(f"lock table {part.leaf} in access share mode")
        query = f"select pg_relation_filenode({literal(part.leaf)}::regclass)"
        file = connection.execute(query).read_all().column(0)[0].as_py()
    except Error as error:
        raise Rewritten(f"{Rewritten.__doc__} ({error})") from None
    if file != part.file:
        raise Rewritten(f"{Rewritten.__doc__} ({part.leaf})")


def relations(plan: Any) -> Iterator[str]:
    """The names of the tables in a plan."""
    if isinstance(plan, dict):
        if "Relation Name" in plan:
            yield plan["Relation Name"]
        plan = list(plan.values())
    if isinstance(plan, list):
        for each in plan:
            yield from relations(each)


class PushingReader(Reader):
    """A read that lets PostgreSQL filter too. Spark refuses a reader with this method unless it is set to allow it."""

    def pushFilters(self, filters: list[Filter]) -> Iterator[Filter]:  # noqa: N802 (Spark's name)
        """Note what can be had in SQL, on the driver; Spark still filters all."""
        from lonnymq.spark.read.sql import conditions

        self.conditions = conditions(filters, self.columns)
        yield from filters
