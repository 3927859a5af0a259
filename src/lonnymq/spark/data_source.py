"""The format `lonnymq`: tells Spark which class reads, writes and streams; each is imported when it is wanted."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource

if TYPE_CHECKING:
    from pyspark.sql.datasource import (
        DataSourceReader,
        DataSourceStreamReader,
        DataSourceStreamWriter,
        DataSourceWriter,
    )
    from pyspark.sql.types import StructType


class LonnySource(DataSource):
    """The queue as a source and a sink of Spark's. All methods run on the driver."""

    @classmethod
    def name(cls) -> str:
        """What people write in `format`."""
        return "lonnymq"

    def schema(self) -> StructType:
        """The columns of what is read, where the user gives none; a stream has columns of its own."""
        module = "stream.reader" if "stream" in self.options else "read.schemas"
        schema: StructType = part(module).default_schema(self.options)
        return schema

    def reader(self, schema: StructType) -> DataSourceReader:
        """A batch read of messages, history or channels."""
        reader: DataSourceReader = part("read.batch_reader").reader(self.options, schema)
        return reader

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """A DataFrame into the queue."""
        writer: DataSourceWriter = part("write.writers").batch_writer(
            self.options, schema, overwrite=overwrite
        )
        return writer

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 (Spark's name)
        """The queue as a stream, by durable claims."""
        reader: DataSourceStreamReader = part("stream.reader").StreamReader(self.options, schema)
        return reader

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802 (Spark's name)
        """A stream into the queue."""
        writer: DataSourceStreamWriter = part("write.writers").stream_writer(
            self.options, schema, overwrite=overwrite
        )
        return writer


def part(name: str) -> Any:
    """One of our modules: a process of Spark's needs one of them, and starts sooner without the others."""
    return import_module(f"lonnymq.spark.{name}")
