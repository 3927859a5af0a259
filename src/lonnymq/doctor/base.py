"""What all checks share: the queue that they look at, and the problems that they report."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from psycopg import Connection

from lonnymq.client import Queue
from lonnymq.client.call import schema_name

INSTALLED = """
select exists (
  select from pg_class c
  where c.relname = 'installed' and c.relnamespace = (select n.oid from pg_namespace n where n.nspname = %s)
)
"""

SETTING_SOURCE = """
select s.source, quote_ident(current_user), quote_ident(current_database()) from pg_settings s where s.name = %s
"""

Level = Literal["note", "warning", "broken"]


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem that a check found: a note is worth knowing, a warning will hurt, broken hurts already.

    `fix` is a command for a shell or, with a semicolon at the end, for psql.
    """

    check: str
    level: Level
    message: str
    fix: str | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """The names of the checks that ran, and the problems that they found."""

    checked: tuple[str, ...]
    problems: tuple[Problem, ...]

    @property
    def healthy(self) -> bool:
        """Whether there are no problems except notes."""
        return all(each.level == "note" for each in self.problems)


@dataclass
class CheckContext:
    """The queue that the checks look at.

    `stuck_after_ms` is how long something may not move before a check reports it. `clock` is the local time.
    """

    connection: Connection[Any]
    schema: str
    stuck_after_ms: int = 300_000
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

    @property
    def schema_option(self) -> str:
        """The option that names the schema in a command."""
        return "" if self.schema == "lonnymq" else f" --schema {self.schema}"

    @property
    def install_command(self) -> str:
        """The command that brings the schema to this version and restores what is missing."""
        return f"lonnymq install{self.schema_option}"

    @property
    def repair_command(self) -> str:
        """The command that repairs the queue and runs maintenance."""
        return f"lonnymq doctor --repair{self.schema_option}"

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows of a query, in which `{schema}` is the schema of the queue."""
        cursor = self.connection.execute(query.replace("{schema}", self.schema).encode(), values)
        return cursor.fetchall()

    def plain_rows(self, query: str) -> list[tuple[Any, ...]]:
        """The rows of a query of the installer, which has its schema and may have percent signs."""
        return self.connection.execute(query.encode()).fetchall()

    def value(self, query: str, *values: object) -> Any:
        """The first value of a query, or None without rows."""
        found = self.rows(query, *values)
        return found[0][0] if found else None

    def setting(self, name: str) -> str:
        """A setting of the server, as this session sees it."""
        return str(self.value("select current_setting(%s)", name))

    def reset_command(self, name: str) -> str | None:
        """The statement that takes a setting back where it was made. None if the DSN or the program makes it."""
        source, user, database = self.rows(SETTING_SOURCE, name)[0]
        return {
            "database user": f"alter role {user} in database {database} reset {name};",
            "user": f"alter role {user} reset {name};",
            "database": f"alter database {database} reset {name};",
            "global": f"alter role all reset {name};",
            "client": None,
            "session": None,
        }.get(source, f"alter system reset {name}; select pg_reload_conf();")


def format_names(found: list[str]) -> str:
    """The first name, and the number of the others."""
    return found[0] + (f" and {len(found) - 1} more" if len(found) > 1 else "")
