"""Rows into the queue by its own create, with its answer to each: for names, capacities, and few rows."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from psycopg import Connection

from lonnymq.spark.options import Options
from lonnymq.spark.write.counts import Counts, counted
from lonnymq.spark.write.validation import BAD_SCHEMA, SCHEMA

MOST = 10_000  # message_create_many takes so many
CREATE = """
    select r.answer, r.reason
    from {schema}.message_create_many(%s::text[], %s::bytea[], %s::bigint[], %s::bigint[], %s::text[], %s::text[],
      %s::text[]::jsonb[]) r
    order by r.ordinal
"""
DETAILS = {"full": "channel {} is full", "releasing": "channel {} is being released"}


def create_rows(
    connection: Connection[Any], options: Options, rows: pa.RecordBatch
) -> tuple[Counts, pa.RecordBatch | None]:
    """Create a message of each row; answers the counts, and the rows that were not taken."""
    counts, rejected = Counts(), []
    for start in range(0, rows.num_rows, MOST):
        part = rows.slice(start, MOST)
        values = [column.to_pylist() for column in part.columns]
        arguments = [
            None if column.null_count == len(column) else value
            for column, value in zip(part.columns, values, strict=True)
        ]
        statement = CREATE.format(schema=options.schema)
        answers = connection.execute(statement.encode(), arguments).fetchall()
        counts += counted(answer for answer, _ in answers)
        no = [at for at, (answer, _) in enumerate(answers) if answer in ("dropped", "refused")]
        if no:
            rejected.append(refused(part.take(pa.array(no)), [answers[at] for at in no]))
    if not rejected:
        return counts, None
    return counts, pa.Table.from_batches(rejected).combine_chunks().to_batches()[0]


def refused(rows: pa.RecordBatch, answers: list[tuple[str, str]]) -> pa.RecordBatch:
    """Rows that their channel did not take, with its answers."""
    channels = rows.column("channel").to_pylist()
    details = [
        DETAILS[reason].format(channel)
        for channel, (_, reason) in zip(channels, answers, strict=True)
    ]
    kept = [rows.column(name) for name in SCHEMA.names if name != "headers"]
    said = [
        pa.array([answer for answer, _ in answers]),
        pa.array([reason for _, reason in answers]),
        pa.array(details),
    ]
    return pa.RecordBatch.from_arrays([*kept, rows.column("headers"), *said], schema=BAD_SCHEMA)
