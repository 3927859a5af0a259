"""The streaming source that Spark calls: the driver makes claims, executors read the messages of the claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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

from lonnymq.errors import InvalidArgument
from lonnymq.spark.connection import conninfo
from lonnymq.spark.options import Options, read_options
from lonnymq.spark.read.schemas import Column, columns, select_columns, spark_schema
from lonnymq.spark.stream.claim_reader import ClaimRange, read_ranges, split_parts

if TYPE_CHECKING:  # executors do without the modules of the driver
    from lonnymq.spark.stream.driver import Offset, StreamDriver

COLUMNS = (
    *columns("r", id="long", channel="text", kind="text", key="text", dequeue_at="long"),
    *columns("r", created_at="instant", attempt="integer"),
    Column("token", "text", "r.token::text"),
    *columns("r", dequeued_at="instant", headers="json", error="text"),
    *columns("r", state="bytes", content="bytes"),
)
CONTENT_COLUMNS = ("content", "state")


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
        self.driver.limit_to_present()

    def initialOffset(self) -> Offset:  # noqa: N802 (Spark's name)
        """The start of a query without a checkpoint."""
        return self.driver.initial_offset()

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802 (Spark's name)
        """Acknowledge the messages up to `start`, and return the end of the next batch, which is one claim."""
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        if not isinstance(limit, ReadMaxRows | ReadAllAvailable):
            most = self.options["maxMessagesPerTrigger"]
        return self.driver.latest_offset(start, most)

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """Split a batch among tasks."""
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
