"""The format `lonnymq`: names the classes that read, write and stream; each is imported when Spark needs it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

from pyspark.sql.datasource import DataSource, DataSourceStreamReader

from lonnymq.errors import LonnyMQError
from lonnymq.spark.spark_process import plain_errors

if TYPE_CHECKING:
    from pyspark.sql.datasource import (
        DataSourceReader,
        DataSourceStreamWriter,
        DataSourceWriter,
    )
    from pyspark.sql.types import StructType


class LonnyMQDataSource(DataSource):
    """The queue as a source and a sink of Spark. All methods run on the driver."""

    @classmethod
    def name(cls) -> str:
        """The name that you pass to `format`."""
        return "lonnymq"

    @plain_errors()
    def schema(self) -> StructType:
        """The columns of a read without a schema from the user."""
        module = "stream.reader" if "stream" in self.options else "read.schemas"
        if module == "stream.reader":
            require("stream reads")
        schema: StructType = load_module(module).default_schema(self.options)
        return schema

    @plain_errors()
    def reader(self, schema: StructType) -> DataSourceReader:
        """A batch read of messages, history or channels."""
        reader: DataSourceReader = load_module("read.batch_reader").create_reader(
            self.options, schema
        )
        return reader

    @plain_errors()
    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """A batch write into the queue."""
        writer: DataSourceWriter = load_module("write.writers").create_batch_writer(
            self.options, schema, overwrite=overwrite
        )
        return writer

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 (Spark's name)
        """A stream read from the queue, by durable claims.

        An error is raised by the first call of the reader: Spark hides an error that comes from here behind its own.
        """
        try:
            require("stream reads")
            reader: DataSourceStreamReader = load_module("stream.reader").StreamReader(
                self.options, schema
            )
        except LonnyMQError as error:
            return RefusedStream(error)
        return reader

    @plain_errors()
    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802 (Spark's name)
        """A stream write into the queue."""
        require("stream writes")
        writer: DataSourceStreamWriter = load_module("write.writers").create_stream_writer(
            self.options, schema, overwrite=overwrite
        )
        return writer


class RefusedStream(DataSourceStreamReader):
    """A stream that cannot start: each of Spark's calls raises the reason."""

    def __init__(self, reason: LonnyMQError) -> None:
        self.reason = reason

    @plain_errors()
    def refuse(self, *_: Any) -> NoReturn:
        """Raise the reason."""
        raise self.reason

    initialOffset = getDefaultReadLimit = refuse  # noqa: N815 (Spark's names)
    latestOffset = partitions = read = refuse  # type: ignore[assignment]  # noqa: N815 (with any arguments)


def require(feature: str) -> None:
    """Raise if this version of Spark lacks a feature."""
    load_module("versions").require(feature)


def load_module(name: str) -> Any:
    """A module of this package: a process of Spark needs one of them and starts sooner without the others."""
    return import_module(f"lonnymq.spark.{name}")
