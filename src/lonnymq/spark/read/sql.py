"""The SQL of reads: columns, literals, and the filters that PostgreSQL can apply."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
)

from lonnymq.spark.read.schemas import Column


def select(columns: Sequence[Column], source: str, conditions: Sequence[str] = ()) -> str:
    """A query for these columns of a relation that is called r; instants are had in microseconds."""
    listed = ", ".join(f"{sql_of(column)} as {column.name}" for column in columns) or "1 as one"
    where = f" where {' and '.join(conditions)}" if conditions else ""
    return f"select {listed} from {source} r{where}"  # noqa: S608 (columns and conditions are ours)


def sql_of(column: Column) -> str:
    """The SQL of a column as it is read."""
    return f"{column.sql} * 1000" if column.type == "instant" else column.sql


def literal(value: str) -> str:
    """A string literal, which means the same whatever the server's settings are."""
    escaped = value.replace("\\", "\\\\").replace("'", "''")
    return f"E'{escaped}'"


TEXTS = ("channel", "kind", "outcome")
TIMES = ("created_at", "dequeue_at", "dequeued_at", "finished_at")
LOWER, UPPER = (GreaterThan, GreaterThanOrEqual), (LessThan, LessThanOrEqual)


def conditions(filters: Iterable[Filter], columns: Sequence[Column]) -> list[str]:
    """The SQL of those filters that can be had in SQL."""
    types = {column.name: column.type for column in columns}
    found = (condition(each, types) for each in filters)
    return [each for each in found if each]


def condition(given: Filter, types: dict[str, str]) -> str | None:
    """One filter in SQL; None: Spark will see to it alone."""
    attribute: tuple[str, ...] = getattr(given, "attribute", ())
    if len(attribute) != 1 or attribute[0] not in types or not hasattr(given, "value"):
        return None
    name, value = attribute[0], given.value
    if value is None:
        return None
    if name in TEXTS:
        return text_condition(given, name, value)
    return time_condition(given, name, value) if name in TIMES else None


def text_condition(given: Filter, name: str, value: Any) -> str | None:
    """A text that is one, or one of several."""
    if isinstance(given, EqualTo | EqualNullSafe):
        return f"r.{name} = {literal(value)}"
    if isinstance(given, In):
        listed = ", ".join(literal(each) for each in value if each is not None)
        return f"r.{name} in ({listed})" if listed else "false"
    return None


def time_condition(given: Filter, name: str, value: Any) -> str | None:
    """A moment that is one, or before or after one."""
    if isinstance(value, datetime):
        low, high = milliseconds(value)
    elif isinstance(value, int):
        low = high = value
    else:
        return None
    if isinstance(given, EqualTo | EqualNullSafe):
        return f"r.{name} between {low} and {high}"
    if isinstance(given, LOWER):
        return f"r.{name} >= {low}"
    return f"r.{name} <= {high}" if isinstance(given, UPPER) else None


def milliseconds(value: datetime) -> tuple[int, int]:
    """The milliseconds at or before, and at or after a moment; without a zone it is the driver's."""
    aware = value.astimezone(UTC)
    whole = int(aware.replace(microsecond=0).timestamp()) * 1000
    return whole + aware.microsecond // 1000, whole + -(-aware.microsecond // 1000)
