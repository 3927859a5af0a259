"""The queue as a streaming source: Spark asks the driver's half for claims, executors read the messages of them."""

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
from lonnymq.spark.read.schemas import Column, columns, spark_schema
from lonnymq.spark.stream.claim_reader import Stretch, read_stretches

if TYPE_CHECKING:  # what the driver needs, executors do without
    from lonnymq.spark.stream.driver import Driver, Offset

COLUMNS = (
    *columns("r", id="long", channel="text", kind="text", name="text", dequeue_at="long"),
    *columns("r", created_at="instant", attempt="integer"),
    Column("token", "text", "r.token::text"),
    *columns("r", dequeued_at="instant", headers="json", error="text"),
    *columns("r", state="bytes", content="bytes"),
)
CONTENTS = ("content", "state")


class Stretches(InputPartition):
    """What one task reads."""

    def __init__(self, listed: Sequence[Stretch]) -> None:
        super().__init__(None)
        self.listed = tuple(listed)


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads a stream of claims.

    On the driver one instance lives as long as the query, and its first call opens the stream. On executors `read`
    runs on copies, which know the options and what is in their partition.
    """

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        self.options = checked(options)
        self.address = conninfo(self.options)
        self.columns = chosen(COLUMNS, schema)
        self._driver: Driver | None = None

    @property
    def driver(self) -> Driver:
        """The driver's half; made when it is first wanted, and never on an executor."""
        from lonnymq.spark.stream.driver import Driver

        if self._driver is None:
            self._driver = Driver(self.options)
        return self._driver

    # On the driver

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 (Spark's name)
        """Say how much a batch may have at most."""
        return ReadMaxRows(self.options["maxMessagesPerTrigger"])

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 (Spark's name)
        """Let the query end once all that waits at this moment is read."""
        self.driver.bound()

    def initialOffset(self) -> Offset:  # noqa: N802 (Spark's name)
        """Say where a query without a checkpoint begins."""
        return self.driver.first()

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802 (Spark's name)
        """Settle what is read up to `start`, and say where the next batch ends: at the end of one claim."""
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        if not isinstance(limit, ReadMaxRows | ReadAllAvailable):
            most = self.options["maxMessagesPerTrigger"]
        return self.driver.latest(start, most)

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """Divide a batch among tasks."""
        from lonnymq.spark.stream.driver import stretches

        found = stretches(self.driver.parts(start, end), self.options["numPartitions"])
        return [
            Stretches([Stretch(p.seq, p.token, p.part, first, last) for p, first, last in each])
            for each in found
        ]

    def stop(self) -> None:
        """Let go of connections. What is claimed stays claimed: a query that comes back goes on with it."""
        if self._driver is not None:
            self._driver.stop()

    # On executors

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read the messages of a partition; as often as it is asked, the same ones."""
        assert isinstance(partition, Stretches)  # noqa: S101 - what `partitions` made
        yield from read_stretches(self.options, self.address, self.columns, partition.listed)


def checked(given: Mapping[str, str]) -> Options:
    """The options, or what is wrong with them."""
    options = read_options(given, "stream read")
    if not options["stream"]:
        raise InvalidArgument(
            'a stream read needs a name for its claims: .option("stream", "billing")'
        )
    if options.table not in (None, "messages"):
        raise InvalidArgument(f"a stream reads messages, not {options.table}")
    if options["subscribe"] and options["subscribePattern"]:
        raise InvalidArgument("subscribe and subscribePattern exclude each other")
    return options


def default_schema(given: Mapping[str, str]) -> StructType:
    """The columns of a stream, where the user gives none."""
    options = checked(given)
    kept = options["includeContent"]
    return spark_schema(tuple(c for c in COLUMNS if kept or c.name not in CONTENTS))


def chosen(found: tuple[Column, ...], schema: StructType) -> tuple[Column, ...]:
    """Of these columns those that the user's schema names, in its order."""
    known = {column.name: column for column in found}
    for field in schema.fields:
        if field.name not in known:
            raise InvalidArgument(f"a stream has no column {field.name}; it has {', '.join(known)}")
        wanted = known[field.name].spark.dataType
        if field.dataType != wanted:
            raise InvalidArgument(
                f"column {field.name} is {wanted.simpleString()}, not {field.dataType.simpleString()}"
            )
    return tuple(known[field.name] for field in schema.fields)
