"""Rejected rows: counted, logged, and stored in a table if the option `rejectsTable` names one."""

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
from lonnymq.spark.write.loads import Counts, LoadKey
from lonnymq.spark.write.validation import REJECTED_SCHEMA

TABLE_NAME = re.compile(r"[a-z_][a-z0-9_]*(\.[a-z_][a-z0-9_]*)?")
PLAIN = [name for name in REJECTED_SCHEMA.names if name != "headers_text"]
COLUMNS = ", ".join([*PLAIN, "headers", "load_app", "load_version"])
CREATE = """
    create table if not exists {table} (
      rejected_at timestamptz not null default now(),
      load_app text, load_version bigint, answer text not null, reason text not null, detail text,
      channel text, kind text, key text, dequeue_at bigint, delay_ms bigint, headers text, content bytea
    )
"""
logger = logging.getLogger("lonnymq.spark")


class RowsRejected(LonnyMQError):
    """The queue rejected rows, and nothing was written: correct the rows, or remove the option `failOnReject`."""


def ensure_table(connection: Connection[Any], options: Options) -> None:
    """Create the table for rejected rows if it is missing, on the driver; raise if its columns do not fit."""
    table = options["rejectsTable"]
    if table is None:
        return
    if not TABLE_NAME.fullmatch(table):
        raise InvalidArgument(
            f"the option rejectsTable must name a table, such as rejected or public.rejected, not {table!r}"
        )
    try:
        connection.execute(CREATE.format(table=table).encode())
    except (DuplicateTable, UniqueViolation):  # another job has just created the table
        pass
    except Error as error:
        raise InvalidArgument(
            f"the table {table} for rejected rows cannot be created: {error}"
        ) from None
    try:
        connection.execute(f"select {COLUMNS} from {table} limit 0".encode())  # noqa: S608 (checked)
    except Error as error:
        raise InvalidArgument(f"the table {table} cannot store rejected rows: {error}") from None


def store_stage(connection: Connection[Any], options: Options, stage: int, key: LoadKey) -> None:
    """Copy the rejected rows of a stage into the table for them."""
    chosen = f"{', '.join(PLAIN)}, coalesce(s.headers_text, s.headers::text), %s, %s"
    statement = (
        f"insert into {options['rejectsTable']} ({COLUMNS}) select {chosen}"  # noqa: S608 (checked)
        f" from {options.schema}.stage_{stage} s where s.answer is not null"
    )
    connection.execute(statement.encode(), key)


def store_batch(
    connection: Connection[Any], options: Options, rejected: pa.RecordBatch, key: LoadKey
) -> None:
    """Copy rejected rows into the table for them."""
    rows = rejected.num_rows
    arrays = {
        ("headers" if name == "headers_text" else name): rejected.column(name)
        for name in rejected.schema.names
    }
    arrays["load_app"] = pa.repeat(pa.scalar(key[0]), rows)
    arrays["load_version"] = pa.repeat(pa.scalar(key[1], pa.int64()), rows)
    batch = pa.RecordBatch.from_arrays(list(arrays.values()), names=list(arrays))
    copy_batch(connection, options["rejectsTable"], batch, json_columns=())


def check_rejected(options: Options, counts: Counts) -> None:
    """Raise if rows were rejected and the option failOnReject is set."""
    if counts.not_created and options["failOnReject"]:
        raise RowsRejected(f"{RowsRejected.__doc__} ({counts})")


def log_rejected(options: Options, counts: Counts, app: str) -> None:
    """Log on the driver how many rows were rejected, and where they are."""
    if not counts.not_created:
        return
    table = options["rejectsTable"]
    where = f"stored in {table}" if table else "not stored: set rejectsTable to store them"
    values = (counts.not_created, where, app, counts)
    logger.warning("lonnymq: %s rows were rejected and are %s (load %s: %s)", *values)
