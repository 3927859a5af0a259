"""Loads, the record of writes: counts of rows, commit messages of tasks, SQL functions for loads and stages.

The client is imported by the functions that call SQL: a task with few rows calls none and starts sooner.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import WriterCommitMessage

from lonnymq.spark.connection import run_call
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


def begin_load(connection: Connection[Any], options: Options, key: LoadKey) -> bool:
    """Begin a load; False: it was published before."""
    from lonnymq.client import calls

    return run_call(connection, calls.load_begin(options.schema, *key)) == "begun"


def end_load(connection: Connection[Any], options: Options, key: LoadKey, counts: Counts) -> None:
    """Record the counts of a load."""
    from lonnymq.client import calls

    run_call(connection, calls.load_end(options.schema, *key, **asdict(counts)))


def take_stage(connection: Connection[Any], options: Options, stage: int, rows: int) -> Counts:
    """Create messages from the rows of a stage."""
    from lonnymq.client import calls

    taken = run_call(connection, calls.stage_take(options.schema, stage, rows=rows))
    return Counts(**asdict(taken))


def create_stage(connection: Connection[Any], options: Options) -> int:
    """Create a stage, and return its number."""
    from lonnymq.client import calls

    return run_call(connection, calls.stage_create(options.schema))


def drop_stages(connection: Connection[Any], options: Options, stages: list[int]) -> None:
    """Drop stages."""
    from lonnymq.client import calls

    if stages:
        run_call(connection, calls.stage_drop(options.schema, stages))


def cleanup_stages(connection: Connection[Any], options: Options) -> None:
    """Drop the stages that failed jobs left behind."""
    from lonnymq.client import calls

    run_call(connection, calls.stage_cleanup(options.schema))


def measure_headers(connection: Connection[Any], texts: list[str]) -> list[int]:
    """The sizes in bytes of JSON texts as the server stores them."""
    row = connection.execute(MEASURE, (texts,)).fetchone()
    return list(row[0]) if row else []
