"""`set_outcomes`: complete, defer, fail or end single messages of a batch, when the batch is acknowledged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from lonnymq.client import calls
from lonnymq.client._sync import connections
from lonnymq.client._sync.pool import DsnSource
from lonnymq.client.call import Call, schema_name
from lonnymq.client.calls.spark import ClaimDecided
from lonnymq.errors import InvalidArgument
from lonnymq.spark.retry import CALL_SECONDS, FIRST_RETRY_SECONDS, run_with_retries

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

REQUIRED = {"id": "bigint", "token": "string", "outcome": "string"}
COLUMNS = {**REQUIRED, "delay_ms": "bigint", "error": "string", "state": "binary"}
ROWS_PER_CALL = 10_000


def set_outcomes(
    rows: DataFrame | Iterable[Mapping[str, Any]], *, url: str, schema: str = "lonnymq"
) -> dict[str, int]:
    """Set the outcomes of single messages of a batch, in `foreachBatch`. The other messages are completed.

    Each row has the `id` and the `token` of a message and an `outcome`: complete, defer, fail or dead.
    You can add `delay_ms` (until a deferred message or the next attempt), `error` and `state`.
    Pass a DataFrame, which the driver collects, or a list of rows. If you set an outcome twice, the last one counts.
    Returns the number of messages per answer: decided, lease_lost or not_found.
    """
    schema_name(schema)
    if not isinstance(rows, Iterable):
        rows = collect_rows(rows)
    listed = [{name: row[name] for name in field_names(row)} for row in rows]
    for row in listed:
        check_columns(row)
    return dict(send_outcomes(url, schema, listed)) if listed else {}


def collect_rows(rows: DataFrame) -> list[dict[str, Any]]:
    """All rows of a DataFrame. A task that sent its rows itself could not know that its input is complete."""
    check_columns(rows.columns)
    wanted = [f"cast({name} as {COLUMNS[name]}) as {name}" for name in rows.columns]
    found: list[dict[str, Any]] = rows.selectExpr(*wanted).toArrow().to_pylist()
    return found


def send_outcomes(url: str, schema: str, rows: list[dict[str, Any]]) -> Counter[str]:
    """Send outcomes to the queue on a new connection, with retries: to send them twice is safe."""
    answers: Counter[str] = Counter()
    source = DsnSource(url, timeout=CALL_SECONDS)
    try:
        for at in range(0, len(rows), ROWS_PER_CALL):
            call = decide_call(schema, rows[at : at + ROWS_PER_CALL])
            work = partial(connections.run, source, call)
            decided = run_with_retries(work, seconds=FIRST_RETRY_SECONDS)
            answers.update(each.answer for each in decided)
    finally:
        source.close()
    return answers


def decide_call(schema: str, rows: list[dict[str, Any]]) -> Call[list[ClaimDecided]]:
    """The call of `claim_decide` for these rows."""
    columns: list[list[Any]] = [[row.get(name) for row in rows] for name in COLUMNS]
    ids, tokens, outcomes, delays, errors, states = columns
    return calls.claim_decide(
        schema, ids, tokens, outcomes, delays_ms=delays, errors=errors, states=states
    )


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
