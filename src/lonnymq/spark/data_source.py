"""The format `lonnymq`: names the classes that read, write and stream; each is imported when Spark needs it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource

from lonnymq.spark.spark_process import plain_errors

if TYPE_CHECKING:
    from pyspark.sql.datasource import (
        DataSourceReader,
        DataSourceStreamReader,
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

        Errors keep their traceback: Spark answers with an error of its own, and only the traceback names ours.
        """
        reader: DataSourceStreamReader = load_module("stream.reader").StreamReader(
            self.options, schema
        )
        return reader

    @plain_errors()
    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802 (Spark's name)
        """A stream write into the queue."""
        writer: DataSourceStreamWriter = load_module("write.writers").create_stream_writer(
            self.options, schema, overwrite=overwrite
        )
        return writer


def load_module(name: str) -> Any:
    """A module of this package: a process of Spark needs one of them and starts sooner without the others."""
    return import_module(f"lonnymq.spark.{name}")
