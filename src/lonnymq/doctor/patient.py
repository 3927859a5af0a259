"""The queue that is examined: a connection to look through, and what every check may want to know."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from psycopg import Connection

from lonnymq.client import Queue
from lonnymq.client.call import schema_name

INSTALLED = """
select exists (
  select from pg_class c
  where c.relname = 'installed' and c.relnamespace = (select n.oid from pg_namespace n where n.nspname = %s)
)
"""


@dataclass
class Patient:
    """One queue in one schema.

    `patience_ms` is how long something may stand still before it is called stuck; `clock` is the time here.
    """

    connection: Connection[Any]
    schema: str
    patience_ms: int = 300_000
    clock: Callable[[], float] = field(default=time.time)

    def __post_init__(self) -> None:
        self.schema = schema_name(self.schema)

    @cached_property
    def queue(self) -> Queue:
        """The queue, over the same connection."""
        return Queue(self.connection, schema=self.schema)

    @cached_property
    def is_installed(self) -> bool:
        """Whether the schema has a queue of any version."""
        return bool(self.value(INSTALLED, self.schema))

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows of a query; `{schema}` in it is the queue's."""
        cursor = self.connection.execute(query.replace("{schema}", self.schema).encode(), values)
        return cursor.fetchall()

    def value(self, query: str, *values: object) -> Any:
        """The first value of a query's first row; None if there is none."""
        found = self.rows(query, *values)
        return found[0][0] if found else None

    def setting(self, name: str) -> str:
        """A setting of the server's, as this session sees it."""
        return str(self.value("select current_setting(%s)", name))
