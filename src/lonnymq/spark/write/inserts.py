"""Rows into tables and into the queue: batched by channel, then COPY or `message_create_many`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pgpq import ArrowToPostgresBinaryEncoder
from pgpq.encoders import BinaryEncoderBuilder, Int64EncoderBuilder, StringEncoderBuilder
from pgpq.schema import Jsonb
from psycopg import Connection

from lonnymq.spark.options import Options
from lonnymq.spark.write.loads import Counts, counted
from lonnymq.spark.write.validation import BAD_SCHEMA, SCHEMA

MOST_ROWS = 100_000
MOST_BYTES = 16 * 1024 * 1024


def runs(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of the batches, in runs."""
    gathered: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        gathered.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= MOST_ROWS or size >= MOST_BYTES:
            yield from run_of(gathered)
            gathered, rows, size = [], 0, 0
    if gathered:
        yield from run_of(gathered)


def run_of(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """Batches as one in the order of channels; as several where one cannot hold that much."""
    table = pa.Table.from_batches(batches).combine_chunks()
    ordered = table.take(
        pc.sort_indices(table.column("channel"))
    )  # which keeps the order of equals
    found: list[pa.RecordBatch] = ordered.combine_chunks().to_batches()
    return found


ENCODERS: dict[Any, Any] = {
    pa.string(): StringEncoderBuilder,
    pa.binary(): BinaryEncoderBuilder,
    pa.int64(): Int64EncoderBuilder,
}


def copy_batch(
    connection: Connection[Any],
    table: str,
    batch: pa.RecordBatch,
    *,
    as_json: tuple[str, ...] = ("headers",),
) -> None:
    """Append a batch to a table; columns that are all null are left to their defaults."""
    used = [
        name
        for at, name in enumerate(batch.schema.names)
        if batch.column(at).null_count < batch.num_rows
    ]
    if not batch.num_rows or not used:
        return
    chosen = batch.select(used)
    encoder = ArrowToPostgresBinaryEncoder.new_with_encoders(
        chosen.schema, {field.name: encoder_for(field, as_json) for field in chosen.schema}
    )
    statement = f"copy {table} ({', '.join(used)}) from stdin (format binary)"
    with connection.cursor() as cursor, cursor.copy(statement.encode()) as copy:
        copy.write(encoder.write_header())
        copy.write(encoder.write_batch(chosen))
        copy.write(encoder.finish())


def encoder_for(field: pa.Field, as_json: tuple[str, ...]) -> Any:
    """What writes a column: some texts as jsonb, everything else as what it is."""
    builder = ENCODERS[field.type]
    if field.name in as_json:
        return builder.new_with_output(field, Jsonb())
    return builder(field)


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
