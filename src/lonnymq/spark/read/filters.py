"""The filters of a read that PostgreSQL applies, as conditions in SQL.

A filter in SQL returns at least the rows that Spark's filter would keep, and Spark filters again: times have
microseconds in Spark and milliseconds here.
"""

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
from lonnymq.spark.read.sql import quote_literal

TEXT_COLUMNS = ("channel", "kind", "outcome")
TIME_COLUMNS = ("created_at", "dequeue_at", "dequeued_at", "finished_at")
LOWER, UPPER = (GreaterThan, GreaterThanOrEqual), (LessThan, LessThanOrEqual)


def filter_conditions(filters: Iterable[Filter], columns: Sequence[Column]) -> list[str]:
    """The SQL conditions for those filters that PostgreSQL can apply."""
    names = {column.name for column in columns}
    found = (filter_condition(each, names) for each in filters)
    return [each for each in found if each]


def filter_condition(given: Filter, names: set[str]) -> str | None:
    """A filter as a SQL condition; None: only Spark applies the filter."""
    attribute: tuple[str, ...] = getattr(given, "attribute", ())
    if len(attribute) != 1 or attribute[0] not in names or not hasattr(given, "value"):
        return None
    name, value = attribute[0], given.value
    if value is None:
        return None
    if name in TEXT_COLUMNS:
        return text_condition(given, name, value)
    return time_condition(given, name, value) if name in TIME_COLUMNS else None


def text_condition(given: Filter, name: str, value: Any) -> str | None:
    """A condition on a text: equal to a value, or to one of several values."""
    if isinstance(given, EqualTo | EqualNullSafe):
        return f"r.{name} = {quote_literal(value)}"
    if isinstance(given, In):
        listed = ", ".join(quote_literal(each) for each in value if each is not None)
        return f"r.{name} in ({listed})" if listed else "false"
    return None


def time_condition(given: Filter, name: str, value: Any) -> str | None:
    """A condition on a time: equal, before or after."""
    if isinstance(value, datetime):
        low, high = surrounding_milliseconds(value)
    elif isinstance(value, int):
        low = high = value
    else:
        return None
    if isinstance(given, EqualTo | EqualNullSafe):
        return f"r.{name} between {low} and {high}"
    if isinstance(given, LOWER):
        return f"r.{name} >= {low}"
    return f"r.{name} <= {high}" if isinstance(given, UPPER) else None


def surrounding_milliseconds(value: datetime) -> tuple[int, int]:
    """The epoch milliseconds at or before, and at or after a time; without a zone it is in the driver's zone."""
    aware = value.astimezone(UTC)
    whole = int(aware.replace(microsecond=0).timestamp()) * 1000
    return whole + aware.microsecond // 1000, whole + -(-aware.microsecond // 1000)
