"""A call that is described and not made yet: a statement, its values, and how to decode its rows."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from typing import Any, Generic, TypeVar, get_args, get_origin, get_type_hints

from lonnymq.errors import BadSchemaName

Answer = TypeVar("Answer")
Row = Sequence[Any]

SCHEMA_NAME = re.compile(r"[a-z_][a-z0-9_]{0,47}")
# Types that not every driver knows travel as text: the cast of the column, and what Python makes of the text.
TRAVELS_AS_TEXT: dict[object, Callable[[str], Any]] = {
    Mapping: json.loads,
    "jsonb": json.loads,
    "xid8": int,
    "pg_snapshot": str,
}


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
    return Call(statement(schema, function, types, "r"), values, decode_value)


def decode_value(rows: Sequence[Row]) -> Any:
    """The single value of a single row."""
    return rows[0][0]


def converter_of(annotation: Any) -> Callable[[str], Any] | None:
    """What makes a value of a column's text, for a type that travels as text; None for all others."""
    for each in (annotation, *get_args(annotation)):
        for mark in (get_origin(each), *getattr(each, "__metadata__", ())):
            if mark in TRAVELS_AS_TEXT:
                return TRAVELS_AS_TEXT[mark]
    return None


class Record(Generic[Answer]):
    """Decodes rows into a dataclass, whose fields name the columns."""

    def __init__(self, kind: Callable[..., Answer]) -> None:
        self.kind = kind

    @cached_property
    def converters(self) -> list[tuple[int, Callable[[str], Any]]]:
        """The places of the columns that travel as text, and what makes values of them."""
        hints = get_type_hints(self.kind, include_extras=True)
        found = [converter_of(hints[each.name]) for each in fields(self.kind)]  # type: ignore[arg-type]  # a dataclass
        return [(place, convert) for place, convert in enumerate(found) if convert is not None]

    @cached_property
    def columns(self) -> str:
        """What to select."""
        names = [f"r.{each.name}" for each in fields(self.kind)]  # type: ignore[arg-type]  # a dataclass
        for place, _ in self.converters:
            names[place] += "::text"
        return ", ".join(names)

    def call(
        self, schema: str, function: str, types: str, values: tuple[Any, ...]
    ) -> Call[list[Answer]]:
        """A call of a function that answers any number of these."""
        return Call(statement(schema, function, types, self.columns), values, self.decode_all)

    def decode_all(self, rows: Sequence[Row]) -> list[Answer]:
        """All rows, decoded."""
        return [self.decode(row) for row in rows]

    def decode_one(self, rows: Sequence[Row]) -> Answer:
        """The single row, decoded."""
        return self.decode(rows[0])

    def decode(self, row: Row) -> Answer:
        """One row, decoded."""
        if not self.converters:
            return self.kind(*row)
        values = list(row)
        for place, convert in self.converters:
            if values[place] is not None:
                values[place] = convert(values[place])
        return self.kind(*values)
