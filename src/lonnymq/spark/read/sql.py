"""The SQL of reads: select lists and literals."""

from __future__ import annotations

from collections.abc import Sequence

from lonnymq.spark.read.schemas import Column


def build_select(columns: Sequence[Column], source: str, conditions: Sequence[str] = ()) -> str:
    """A query for columns of a relation with the alias r; instants come in microseconds."""
    listed = ", ".join(f"{column_sql(column)} as {column.name}" for column in columns)
    where = f" where {' and '.join(conditions)}" if conditions else ""
    return f"select {listed or '1 as one'} from {source} r{where}"  # noqa: S608 (columns and conditions are ours)


def function_source(schema: str, function: str, *arguments: str | int | None) -> str:
    """A public SQL function as the source of a read, with literals: Arrow reads have no parameters.

    Tasks do not import the client, which would double the time that they take to start.
    """
    literals = ("null" if each is None else quote_literal(str(each)) for each in arguments)
    return f"{schema}.{function}({', '.join(literals)})"


def column_sql(column: Column) -> str:
    """The expression for a column."""
    return f"{column.sql} * 1000" if column.type == "instant" else column.sql


def quote_literal(value: str) -> str:
    """A string literal that means the same under all settings of the server."""
    escaped = value.replace("\\", "\\\\").replace("'", "''")
    return f"E'{escaped}'"
