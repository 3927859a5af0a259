"""A load: counts of rows, the commit messages of tasks, and the SQL functions for loads and stages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass, field, fields
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import WriterCommitMessage

from lonnymq.spark.options import Options

if TYPE_CHECKING:
    from psycopg import Connection


@dataclass(frozen=True, slots=True)
class Counts:
    """Rows that became messages, had a name that was taken, or were not made messages and why."""

    created: int = 0
    duplicate: int = 0
    dropped: int = 0
    refused: int = 0
    invalid: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            *(getattr(self, each.name) + getattr(other, each.name) for each in fields(self))
        )

    @property
    def rejected(self) -> int:
        """Rows that the queue did not take."""
        return self.dropped + self.refused + self.invalid

    def __str__(self) -> str:
        return ", ".join(f"{getattr(self, each.name)} {each.name}" for each in fields(self))


def counted(answers: Iterable[str]) -> Counts:
    """Answers, counted."""
    found = list(answers)
    return Counts(*(found.count(each.name) for each in fields(Counts)))


@dataclass
class Written(WriterCommitMessage):
    """What a task answers that has created its rows itself."""

    counts: Counts


@dataclass
class Staged(WriterCommitMessage):
    """What a task answers that has put its rows aside: where they are, and which part of which query it was."""

    part: int
    query: str | None = None
    stage: int | None = None
    rows: int = 0
    few: bytes = field(default=b"", repr=False)


Key = tuple[str, int]
MEASURE = """
    select array(
      select octet_length(u.text::jsonb::text)
      from unnest(%s::text[]) with ordinality as u (text, place)
      order by u.place
    )
"""


def answer(connection: Connection[Any], statement: str, values: tuple[Any, ...] = ()) -> Any:
    """The first column of the one row of a statement."""
    row = connection.execute(statement.encode(), values).fetchone()
    return row[0] if row else None


def begin(connection: Connection[Any], options: Options, key: Key) -> bool:
    """Begin a load; False: it was published before."""
    return bool(answer(connection, f"select {options.schema}.load_begin(%s, %s)", key) == "begun")


def end(connection: Connection[Any], options: Options, key: Key, counts: Counts) -> None:
    """Write down what became of the rows of a load."""
    statement = f"select {options.schema}.load_end(%s, %s, %s, %s, %s, %s, %s)"
    answer(connection, statement, (*key, *astuple(counts)))


def take_stage(connection: Connection[Any], options: Options, stage: int, rows: int) -> Counts:
    """Make messages of the rows of a stage."""
    statement = f"select * from {options.schema}.stage_take(%s, %s)"  # noqa: S608 (a checked name)
    row = connection.execute(statement.encode(), (stage, rows)).fetchone()
    return Counts(*(row or ()))


def create_stage(connection: Connection[Any], options: Options) -> int:
    """Make a stage."""
    return int(answer(connection, f"select {options.schema}.stage_create()"))


def drop_stages(connection: Connection[Any], options: Options, stages: list[int]) -> None:
    """Drop stages."""
    if stages:
        answer(connection, f"select {options.schema}.stage_drop(%s)", (stages,))


def sweep(connection: Connection[Any], options: Options) -> None:
    """Drop what others left behind."""
    answer(connection, f"select {options.schema}.stage_sweep()")


def measure(connection: Connection[Any], texts: list[str]) -> list[int]:
    """How many bytes JSON texts have as the server stores them."""
    return list(answer(connection, MEASURE, (texts,)))
