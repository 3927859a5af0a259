"""What `foreachBatch` says of single messages: complete, defer, fail or dead, done when their batch is acknowledged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lonnymq.client._sync import connections
from lonnymq.client.call import Call, schema_name, statement
from lonnymq.errors import InvalidArgument
from lonnymq.spark.outages import FIRST_SECONDS, patiently

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

NEEDED = {"id": "bigint", "token": "uuid", "outcome": "text"}
ALLOWED = {**NEEDED, "delay_ms": "bigint", "error": "text", "state": "bytea"}
SPARK_TYPES = {"bigint": "bigint", "uuid": "string", "text": "string", "bytea": "binary"}
MOST_AT_ONCE = 10_000
ANSWERS = "answer string, messages long"


def outcomes(
    verdicts: DataFrame | Iterable[Mapping[str, Any]], *, url: str, schema: str = "lonnymq"
) -> dict[str, int]:
    """Say what is to come of messages of this batch; the others are completed.

    A verdict has the `id` and the `token` of its message, an `outcome` (complete, defer, fail, dead), and if you like
    a `delay_ms` (of a defer, or until the next attempt), an `error` and a `state`.
    Give a DataFrame, of which executors take care, or rows. Said again, as when a batch is tried again, the last
    word holds. Answers how many were decided, and how many were not: lease_lost, not_found.
    """
    schema_name(schema)
    if not isinstance(verdicts, Iterable):
        return by_executors(verdicts, url, schema)
    listed = [{name: row[name] for name in named(row)} for row in verdicts]
    for row in listed:
        refuse_columns(row)
    return dict(decide(url, schema, [listed])) if listed else {}


def by_executors(verdicts: DataFrame, url: str, schema: str) -> dict[str, int]:
    """Have executors say it, each for its part of the DataFrame."""
    refuse_columns(verdicts.columns)
    wanted = [
        f"cast({name} as {SPARK_TYPES[ALLOWED[name]]}) as {name}" for name in verdicts.columns
    ]

    def say(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        answers = decide(url, schema, (batch.to_pylist() for batch in batches))
        yield pa.RecordBatch.from_pydict(
            {"answer": list(answers.keys()), "messages": list(answers.values())},
            schema=pa.schema([("answer", pa.string()), ("messages", pa.int64())]),
        )

    found: Counter[str] = Counter()
    for answer, messages in verdicts.selectExpr(*wanted).mapInArrow(say, ANSWERS).collect():
        found[answer] += messages
    return dict(found)


def decide(url: str, schema: str, batches: Iterable[list[dict[str, Any]]]) -> Counter[str]:
    """Tell the queue, on a connection of our own; said twice it means the same, so that an outage is waited for."""
    answers: Counter[str] = Counter()
    source = connections.DsnSource(url)
    try:
        for rows in batches:
            for at in range(0, len(rows), MOST_AT_ONCE):
                call = decision(schema, rows[at : at + MOST_AT_ONCE])
                work = partial(connections.run, source, call)
                answers.update(patiently(work, seconds=FIRST_SECONDS))
    finally:
        source.close()
    return answers


def decision(schema: str, rows: list[dict[str, Any]]) -> Call[list[str]]:
    """The call for so many verdicts."""
    types = " ".join(f"{each}[]" for each in ALLOWED.values())
    sql = statement(schema, "claim_decide", types, "r.answer")
    columns = tuple([row.get(name) for row in rows] for name in ALLOWED)
    return Call(sql, columns, lambda found: [row[0] for row in found])


def named(row: Any) -> list[str]:
    """The names in a row: of a mapping, or of Spark's Row."""
    return list(getattr(row, "__fields__", row))


def refuse_columns(columns: Iterable[str]) -> None:
    """Raise at a column that is missing or not known."""
    given = set(columns)
    if missing := [name for name in NEEDED if name not in given]:
        raise InvalidArgument(f"verdicts need the columns {', '.join(missing)}")
    if unknown := sorted(given - {*ALLOWED}):
        raise InvalidArgument(
            f"verdicts have no columns {', '.join(unknown)}; known are {', '.join(ALLOWED)}"
        )
