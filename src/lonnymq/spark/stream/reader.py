"""The streaming source that Spark calls: the driver makes claims, executors read the messages of the claims."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from lonnymq.errors import InvalidArgument, LonnyMQError, Unreachable
from lonnymq.spark.connection import conninfo
from lonnymq.spark.options import Options, read_options
from lonnymq.spark.read.arrow_reader import ArrowConnection, Error, read_batches, read_transaction
from lonnymq.spark.read.schemas import Column, columns, select_columns, spark_schema
from lonnymq.spark.read.sql import build_select, function_source
from lonnymq.spark.retry import RETRY_SECONDS, Backoff, is_transient
from lonnymq.spark.spark_process import plain_errors

if (
    TYPE_CHECKING
):  # executors do without the modules of the driver, without psycopg, and start sooner
    from lonnymq.client.calls.spark import ClaimPart
    from lonnymq.spark.stream.driver import Offset, StreamDriver

COLUMNS = (
    *columns("r", id="long", channel="text", kind="text", key="text", dequeue_at="long"),
    *columns("r", created_at="instant", attempt="integer"),
    Column("token", "text", "r.token::text"),
    *columns("r", dequeued_at="instant", headers="json", error="text"),
    *columns("r", state="bytes", content="bytes"),
)
CONTENT_COLUMNS = ("content", "state")
# Arrow raises its own errors without a SQLSTATE when the connection breaks between rows.
RETRIED = (Unreachable, Error, OSError, pa.ArrowException)
ID = Column("lonnymq_id", "long", "r.id")  # tells which rows the task has passed on already


class ClaimPartition(InputPartition):
    """The ranges of a claim that one task reads."""

    def __init__(self, ranges: Sequence[ClaimRange]) -> None:
        super().__init__(None)
        self.ranges = tuple(ranges)


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads a stream of claims.

    On the driver one instance lives as long as the query, and its first call opens the stream. On executors `read`
    runs on copies, which know the options and their partition only.
    """

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        self.options = read_stream_options(options)
        self.address = conninfo(self.options)
        self.columns = select_columns(COLUMNS, schema, table="a stream")
        self._driver: StreamDriver | None = None

    @property
    def driver(self) -> StreamDriver:
        """The driver's half, created by the first call on the driver and never on an executor."""
        from lonnymq.spark.stream.driver import StreamDriver

        if self._driver is None:
            self._driver = StreamDriver(self.options)
        return self._driver

    # On the driver

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 (Spark's name)
        """The maximum number of messages per batch."""
        return ReadMaxRows(self.options["maxMessagesPerTrigger"])

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 (Spark's name)
        """Let the query end after the messages that wait now."""
        with plain_errors():
            self.driver.limit_to_present()

    def initialOffset(self) -> Offset:  # noqa: N802 (Spark's name)
        """The start of a query without a checkpoint."""
        with plain_errors():
            return self.driver.initial_offset()

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802 (Spark's name)
        """Acknowledge the messages up to `start`, and return the end of the next batch, which is one claim."""
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        if not isinstance(limit, ReadMaxRows | ReadAllAvailable):
            most = self.options["maxMessagesPerTrigger"]
        with plain_errors():
            return self.driver.latest_offset(start, most)

    def reportLatestOffset(self) -> Offset | None:  # noqa: N802 (Spark's name)
        """The progress of the query, for `lastProgress` and listeners."""
        return None if self._driver is None else self._driver.report_progress()

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """Split a batch among tasks."""
        with plain_errors():
            parts = self.driver.find_parts(start, end)
        return [ClaimPartition(each) for each in split_parts(parts, self.options["numPartitions"])]

    def stop(self) -> None:
        """Close connections. The claims stay: a query that starts again continues with them."""
        if self._driver is not None:
            self._driver.stop()

    # On executors

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read the messages of a partition, the same messages in every call."""
        assert isinstance(partition, ClaimPartition)  # noqa: S101 (`partitions` made it)
        with plain_errors():
            yield from read_ranges(self.options, self.address, self.columns, partition.ranges)


def read_stream_options(given: Mapping[str, str]) -> Options:
    """Parse and check the options of a stream read."""
    options = read_options(given, "stream read")
    if not options["stream"]:
        raise InvalidArgument('a stream read needs a stream name: add .option("stream", "billing")')
    if options.table not in (None, "messages"):
        raise InvalidArgument(f"a stream can only read messages, not {options.table}")
    if options["subscribe"] and options["subscribePattern"]:
        raise InvalidArgument("set subscribe or subscribePattern, not both")
    return options


def default_schema(given: Mapping[str, str]) -> StructType:
    """The columns of a stream without a schema from the user."""
    kept = read_stream_options(given)["includeContent"]
    return spark_schema(tuple(c for c in COLUMNS if kept or c.name not in CONTENT_COLUMNS))


class ClaimLost(LonnyMQError):
    """Leases ended and other consumers may have the messages: raise leaseDuration, or set failOnLeaseLost to false."""


@dataclass(frozen=True, slots=True)
class ClaimRange:
    """Some messages of a part of a claim, from position `first` to `last`."""

    seq: int
    token: str
    part: int
    first: int
    last: int


def split_parts(parts: Sequence[ClaimPart], count: int) -> list[list[ClaimRange]]:
    """The messages of these parts in up to `count` lists of equal length."""
    size = max(1, -(-sum(part.messages for part in parts) // count))
    found: list[list[ClaimRange]] = [[]]
    room = size
    for part in parts:
        first = 1
        while first <= part.messages:
            if not room:
                found.append([])
                room = size
            last = min(part.messages, first + room - 1)
            found[-1].append(ClaimRange(part.seq, part.token, part.part, first, last))
            room -= last - first + 1
            first = last + 1
    return [each for each in found if each]


def read_ranges(
    options: Options, address: str, columns: Sequence[Column], ranges: Sequence[ClaimRange]
) -> Iterator[pa.RecordBatch]:
    """The messages of these ranges, each once, and the same messages in every call.

    While the database is unreachable the task tries again, and continues a range that broke off.
    """
    waiting, backoff = deque(ranges), Backoff(RETRY_SECONDS)
    given: list[pa.Array] = []  # the ids of the first range that the task has passed on
    while waiting:
        try:
            with read_transaction(address, keep=True) as connection:
                query = range_query(options, columns, waiting[0])
                for batch in read_new_rows(connection, query, columns, given):
                    backoff.reset()
                    yield batch
            check_complete(options, waiting.popleft(), sum(map(len, given)))
            given.clear()
        except RETRIED as error:
            if not is_transient(error) or not backoff.pause(error):
                raise


def read_new_rows(
    connection: ArrowConnection, query: str, columns: Sequence[Column], given: list[pa.Array]
) -> Iterator[pa.RecordBatch]:
    """The rows of a query whose ids are not in `given`; their ids are added to `given`."""
    before = pa.concat_arrays(given) if given else None
    for found in read_batches(connection, query, (*columns, ID)):
        new = found
        if before is not None:
            import pyarrow.compute as pc  # slow to import, and seldom needed

            new = found.filter(pc.invert(pc.is_in(found.column(len(columns)), before)))
        if new.num_rows:
            given.append(new.column(len(columns)))
            yield new.select(range(len(columns)))


def check_complete(options: Options, wanted: ClaimRange, found: int) -> None:
    """Raise if messages are missing, unless the options allow that."""
    if found <= wanted.last - wanted.first and options["failOnLeaseLost"]:
        raise ClaimLost(f"claim {wanted.seq} has lost messages: {ClaimLost.__doc__}")


def range_query(options: Options, columns: Sequence[Column], wanted: ClaimRange) -> str:
    """The query for a range."""
    source = function_source(
        options.schema,
        "claim_read",
        str(options["stream"]),
        wanted.seq,
        wanted.token,
        wanted.part,
        wanted.first,
        wanted.last,
    )
    return build_select((*columns, ID), source)
