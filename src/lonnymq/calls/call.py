"""A call described and not made: a statement, its values, and how to read its rows."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, Generic, TypeVar

from lonnymq.errors import BadSchemaName

Answer = TypeVar("Answer")
Row = Sequence[Any]

loads = json.loads
SCHEMA_NAME = re.compile(r"[a-z_][a-z0-9_]{0,47}")


@dataclass(frozen=True, slots=True)
class Call(Generic[Answer]):
    """A statement with `%s` placeholders, each with a cast, and what makes an answer of its rows."""

    sql: str
    parameters: tuple[Any, ...]
    parse: Callable[[Sequence[Row]], Answer]


def schema_name(schema: object) -> str:
    """The name if it passes the strict pattern: only this is ever written into a statement."""
    named = isinstance(schema, str) and SCHEMA_NAME.fullmatch(schema)
    if not named or str(schema).startswith("pg_"):
        raise BadSchemaName(f"{schema!r} cannot be a queue's schema: {BadSchemaName.__doc__}")
    return str(schema)


@lru_cache(maxsize=1024)
def statement(schema: str, function: str, types: str, columns: str) -> str:
    """A call of a function whose parameters have these types, selecting these columns as `r`."""
    placeholders = ", ".join(f"%s::{each}" for each in types.split())
    called = f"{schema_name(schema)}.{function}({placeholders})"
    return f"select {columns} from {called} r"  # noqa: S608 - schema_name has passed the schema


def scalar(schema: str, function: str, types: str, values: tuple[Any, ...]) -> Call[Any]:
    """A call of a function that answers one word or one number."""
    return Call(statement(schema, function, types, "r"), values, one_value)


def one_value(rows: Sequence[Row]) -> Any:
    """The single value of a single row."""
    return rows[0][0]


class Record(Generic[Answer]):
    """Reads rows into a dataclass, whose fields name the columns; converted ones travel as text."""

    def __init__(self, kind: Callable[..., Answer], **converters: Callable[[Any], Any]) -> None:
        names = [field.name for field in fields(kind)]  # type: ignore[arg-type]  # a dataclass
        casts = dict.fromkeys(converters, "::text")
        self.kind = kind
        self.columns = ", ".join(f"r.{name}{casts.get(name, '')}" for name in names)
        self.converters = [(names.index(name), convert) for name, convert in converters.items()]

    def call(
        self, schema: str, function: str, types: str, values: tuple[Any, ...]
    ) -> Call[list[Answer]]:
        """A call of a function that answers any number of these."""
        return Call(statement(schema, function, types, self.columns), values, self.many)

    def call_one(
        self, schema: str, function: str, types: str, values: tuple[Any, ...]
    ) -> Call[Answer]:
        """A call of a function that answers exactly one of these."""
        sql = statement(schema, function, types, self.columns)
        return Call(sql, values, lambda rows: self.one(rows[0]))

    def many(self, rows: Sequence[Row]) -> list[Answer]:
        """All rows, read."""
        return [self.one(row) for row in rows]

    def one(self, row: Row) -> Answer:
        """One row, read."""
        if not self.converters:
            return self.kind(*row)
        values = list(row)
        for index, convert in self.converters:
            if values[index] is not None:
                values[index] = convert(values[index])
        return self.kind(*values)
