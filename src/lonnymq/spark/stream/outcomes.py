"""`set_outcomes`: complete, defer, fail or end single messages of a batch, when the batch is acknowledged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lonnymq.client._sync import connections
from lonnymq.client.call import Call, schema_name, statement
from lonnymq.errors import InvalidArgument
from lonnymq.spark.retry import FIRST_RETRY_SECONDS, run_with_retries

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

REQUIRED = {"id": "bigint", "token": "uuid", "outcome": "text"}
COLUMNS = {**REQUIRED, "delay_ms": "bigint", "error": "text", "state": "bytea"}
SPARK_TYPES = {"bigint": "bigint", "uuid": "string", "text": "string", "bytea": "binary"}
ROWS_PER_CALL = 10_000
ANSWERS_DDL = "answer string, messages long"
ANSWERS = pa.schema([("answer", pa.string()), ("messages", pa.int64())])


def set_outcomes(
    rows: DataFrame | Iterable[Mapping[str, Any]], *, url: str, schema: str = "lonnymq"
) -> dict[str, int]:
    """Set the outcomes of single messages of a batch, in `foreachBatch`. The other messages are completed.

    Each row has the `id` and the `token` of a message and an `outcome`: complete, defer, fail or dead.
    You can add `delay_ms` (until a deferred message or the next attempt), `error` and `state`.
    Pass a DataFrame, which executors process, or a list of rows. If you set an outcome twice, the last one counts.
    Returns the number of messages per answer: decided, lease_lost or not_found.
    """
    schema_name(schema)
    if not isinstance(rows, Iterable):
        return set_on_executors(rows, url, schema)
    listed = [{name: row[name] for name in field_names(row)} for row in rows]
    for row in listed:
        check_columns(row)
    return dict(send_outcomes(url, schema, [listed])) if listed else {}


def set_on_executors(rows: DataFrame, url: str, schema: str) -> dict[str, int]:
    """Let executors send the outcomes of a DataFrame."""
    check_columns(rows.columns)
    wanted = [f"cast({name} as {SPARK_TYPES[COLUMNS[name]]}) as {name}" for name in rows.columns]

    def send(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        answers = send_outcomes(url, schema, (batch.to_pylist() for batch in batches))
        columns = {"answer": list(answers.keys()), "messages": list(answers.values())}
        yield pa.RecordBatch.from_pydict(columns, schema=ANSWERS)

    found: Counter[str] = Counter()
    for answer, messages in rows.selectExpr(*wanted).mapInArrow(send, ANSWERS_DDL).collect():
        found[answer] += messages
    return dict(found)


def send_outcomes(url: str, schema: str, batches: Iterable[list[dict[str, Any]]]) -> Counter[str]:
    """Send outcomes to the queue on a new connection, with retries: to send them twice is safe."""
    answers: Counter[str] = Counter()
    source = connections.DsnSource(url)
    try:
        for rows in batches:
            for at in range(0, len(rows), ROWS_PER_CALL):
                call = decide_call(schema, rows[at : at + ROWS_PER_CALL])
                work = partial(connections.run, source, call)
                answers.update(run_with_retries(work, seconds=FIRST_RETRY_SECONDS))
    finally:
        source.close()
    return answers


def decide_call(schema: str, rows: list[dict[str, Any]]) -> Call[list[str]]:
    """The call of `claim_decide` for these rows."""
    types = " ".join(f"{each}[]" for each in COLUMNS.values())
    sql = statement(schema, "claim_decide", types, "r.answer")
    columns = tuple([row.get(name) for row in rows] for name in COLUMNS)
    return Call(sql, columns, lambda found: [row[0] for row in found])


def field_names(row: Any) -> list[str]:
    """The names in a row: of a mapping, or of a Row of Spark."""
    return list(getattr(row, "__fields__", row))


def check_columns(columns: Iterable[str]) -> None:
    """Raise if a column is missing or unknown."""
    given = set(columns)
    if missing := [name for name in REQUIRED if name not in given]:
        raise InvalidArgument(f"set_outcomes needs the columns {', '.join(missing)}")
    if unknown := sorted(given - {*COLUMNS}):
        raise InvalidArgument(
            f"set_outcomes does not know the columns {', '.join(unknown)}: "
            f"the columns are {', '.join(COLUMNS)}"
        )
