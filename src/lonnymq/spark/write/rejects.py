"""Rows that the queue did not take: counted, told of, and kept in a table if one is named."""

from __future__ import annotations

import logging
import re
from typing import Any

import pyarrow as pa
from psycopg import Connection
from psycopg.errors import DuplicateTable, Error, UniqueViolation

from lonnymq.errors import InvalidArgument, LonnyMQError
from lonnymq.spark.options import Options
from lonnymq.spark.write.inserts import copy_batch
from lonnymq.spark.write.loads import Counts
from lonnymq.spark.write.validation import BAD_SCHEMA

NAME = re.compile(r"[a-z_][a-z0-9_]*(\.[a-z_][a-z0-9_]*)?")
PLAIN = [name for name in BAD_SCHEMA.names if name != "headers_text"]
COLUMNS = ", ".join([*PLAIN, "headers", "load_app", "load_version"])
CREATE = """
    create table if not exists {table} (
      rejected_at timestamptz not null default now(),
      load_app text, load_version bigint, answer text not null, reason text not null, detail text,
      channel text, kind text, name text, dequeue_at bigint, delay_ms bigint, headers text, content bytea
    )
"""
log = logging.getLogger("lonnymq.spark")


class Rejected(LonnyMQError):
    """The queue did not take all rows, and nothing was written: leave out `failOnReject`, or mend the rows."""


def ensure_table(connection: Connection[Any], options: Options) -> None:
    """Make the table for rejects if there is none, on the driver; raise if it is not fit for them."""
    table = options["rejects"]
    if table is None:
        return
    if not NAME.fullmatch(table):
        raise InvalidArgument(
            f"the option rejects must be a table, such as rejected or public.rejected, not {table!r}"
        )
    try:
        connection.execute(CREATE.format(table=table).encode())
    except (DuplicateTable, UniqueViolation):  # another has just made it
        pass
    except Error as error:
        raise InvalidArgument(f"the table {table} for rejects cannot be made: {error}") from None
    try:
        connection.execute(f"select {COLUMNS} from {table} limit 0".encode())  # noqa: S608 (checked)
    except Error as error:
        raise InvalidArgument(f"the table {table} is not fit for rejects: {error}") from None


def keep_stage(
    connection: Connection[Any], options: Options, stage: int, key: tuple[str, int]
) -> None:
    """Copy the rejected rows of a stage into the table for them."""
    chosen = f"{', '.join(PLAIN)}, coalesce(s.headers_text, s.headers::text), %s, %s"
    statement = (
        f"insert into {options['rejects']} ({COLUMNS}) select {chosen}"  # noqa: S608 (checked)
        f" from {options.schema}.stage_{stage} s where s.answer is not null"
    )
    connection.execute(statement.encode(), key)


def keep_batch(
    connection: Connection[Any], options: Options, bad: pa.RecordBatch, key: tuple[str, int]
) -> None:
    """Copy rejected rows into the table for them."""
    rows = bad.num_rows
    arrays = {
        ("headers" if name == "headers_text" else name): bad.column(name)
        for name in bad.schema.names
    }
    arrays["load_app"] = pa.repeat(pa.scalar(key[0]), rows)
    arrays["load_version"] = pa.repeat(pa.scalar(key[1], pa.int64()), rows)
    batch = pa.RecordBatch.from_arrays(list(arrays.values()), names=list(arrays))
    copy_batch(connection, options["rejects"], batch, as_json=())


def refuse(options: Options, counts: Counts) -> None:
    """Raise if rows were rejected and that was not to be."""
    if counts.rejected and options["failOnReject"]:
        raise Rejected(f"{Rejected.__doc__} ({counts})")


def tell(options: Options, counts: Counts, app: str) -> None:
    """Say in the driver's log how many rows were rejected, and where they are."""
    if not counts.rejected:
        return
    table = options["rejects"]
    where = (
        f"kept in {table}" if table else "kept nowhere: the option rejects names a table for them"
    )
    told = (counts.rejected, where, app, counts)
    log.warning("lonnymq: %s rows were not taken and are %s (load %s: %s)", *told)
