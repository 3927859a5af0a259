"""Loads, the record of writes: counts of rows, commit messages of tasks, SQL functions for loads and stages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass, field, fields
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import WriterCommitMessage

from lonnymq.spark.options import Options

if TYPE_CHECKING:
    from psycopg import Connection

LoadKey = tuple[str, int]  # the application and the version: a load is published once per key
MEASURE = """
    select array(
      select octet_length(u.text::jsonb::text)
      from unnest(%s::text[]) with ordinality as u (text, place)
      order by u.place
    )
"""


@dataclass(frozen=True, slots=True)
class Counts:
    """How many rows became messages, had a key that exists, or were rejected, by reason."""

    created: int = 0
    duplicate: int = 0
    dropped: int = 0
    rejected: int = 0
    invalid: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            *(getattr(self, each.name) + getattr(other, each.name) for each in fields(self))
        )

    @property
    def not_created(self) -> int:
        """The number of rows that became no message."""
        return self.dropped + self.rejected + self.invalid

    def __str__(self) -> str:
        return ", ".join(f"{getattr(self, each.name)} {each.name}" for each in fields(self))


def count_answers(answers: Iterable[str]) -> Counts:
    """The counts of the answers of `message_create_many`."""
    found = list(answers)
    return Counts(*(found.count(each.name) for each in fields(Counts)))


@dataclass
class StagedCommit(WriterCommitMessage):
    """The commit message of a task: its partition and query, and the stage or the inline rows."""

    partition: int
    query: str | None = None
    stage: int | None = None
    rows: int = 0
    inline: bytes = field(default=b"", repr=False)


def fetch_value(connection: Connection[Any], statement: str, values: tuple[Any, ...] = ()) -> Any:
    """The first column of the only row of a statement."""
    row = connection.execute(statement.encode(), values).fetchone()
    return row[0] if row else None


def begin_load(connection: Connection[Any], options: Options, key: LoadKey) -> bool:
    """Begin a load; False: it was published before."""
    answer = fetch_value(connection, f"select {options.schema}.load_begin(%s, %s)", key)
    return bool(answer == "begun")


def end_load(connection: Connection[Any], options: Options, key: LoadKey, counts: Counts) -> None:
    """Record the counts of a load."""
    statement = f"select {options.schema}.load_end(%s, %s, %s, %s, %s, %s, %s)"
    fetch_value(connection, statement, (*key, *astuple(counts)))


def take_stage(connection: Connection[Any], options: Options, stage: int, rows: int) -> Counts:
    """Create messages from the rows of a stage."""
    statement = f"select * from {options.schema}.stage_take(%s, %s)"  # noqa: S608 (a checked name)
    row = connection.execute(statement.encode(), (stage, rows)).fetchone()
    return Counts(*(row or ()))


def create_stage(connection: Connection[Any], options: Options) -> int:
    """Create a stage, and return its number."""
    return int(fetch_value(connection, f"select {options.schema}.stage_create()"))


def drop_stages(connection: Connection[Any], options: Options, stages: list[int]) -> None:
    """Drop stages."""
    if stages:
        fetch_value(connection, f"select {options.schema}.stage_drop(%s)", (stages,))


def sweep_stages(connection: Connection[Any], options: Options) -> None:
    """Drop the stages that failed jobs left behind."""
    fetch_value(connection, f"select {options.schema}.stage_cleanup()")


def measure_headers(connection: Connection[Any], texts: list[str]) -> list[int]:
    """The sizes in bytes of JSON texts as the server stores them."""
    return list(fetch_value(connection, MEASURE, (texts,)))
