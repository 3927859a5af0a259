"""Arrow batches into PostgreSQL by COPY, in its binary form."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pgpq import ArrowToPostgresBinaryEncoder
from pgpq.encoders import BinaryEncoderBuilder, Int64EncoderBuilder, StringEncoderBuilder
from pgpq.schema import Jsonb
from psycopg import Connection

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
