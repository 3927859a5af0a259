"""The executors' half of the streaming source: reads the messages of a claim, through an outage if need be."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from adbc_driver_postgresql import dbapi

from lonnymq.spark.arrow_read import batches, reading, select
from lonnymq.spark.connecting import Unreachable, conninfo
from lonnymq.spark.options import Options
from lonnymq.spark.schemas import Column
from lonnymq.spark.stream_driver import ClaimLost

PATIENCE = 120.0  # seconds without a row
PASSING = ("08", "57")  # SQLSTATEs of connections that broke and of servers that come and go


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some messages of one part of a claim, by their places in it."""

    seq: int
    token: str
    part: int
    first: int
    last: int


def read_stretches(
    options: Options, columns: Sequence[Column], listed: Sequence[Stretch]
) -> Iterator[pa.RecordBatch]:
    """The messages of these stretches; as often as it is asked, the same ones.

    While the database is away it is tried on, unless part of a stretch was given already: then the task has failed,
    and Spark runs it again.
    """
    waiting, until, is_begun = deque(listed), time.monotonic() + PATIENCE, False
    while waiting:
        try:
            with reading(conninfo(options)) as cursor:
                while waiting:
                    found = 0
                    for batch in batches(cursor, query(options, columns, waiting[0]), columns):
                        is_begun = True
                        found += batch.num_rows
                        yield batch
                    check(options, waiting.popleft(), found)
                    until, is_begun = time.monotonic() + PATIENCE, False
        except (Unreachable, dbapi.Error) as error:
            if is_begun or not is_passing(error) or time.monotonic() > until:
                raise
            time.sleep(0.2)


def is_passing(error: Exception) -> bool:
    """Whether the next try may go better."""
    state = getattr(error, "sqlstate", None)
    return not state or state.startswith(PASSING)


def check(options: Options, stretch: Stretch, found: int) -> None:
    """Raise if messages are missing, unless that is no matter."""
    if found <= stretch.last - stretch.first and options["failOnLeaseLost"]:
        raise ClaimLost(f"claim {stretch.seq} has lost messages: {ClaimLost.__doc__}")


def query(options: Options, columns: Sequence[Column], stretch: Stretch) -> str:
    """The statement that reads a stretch."""
    stream = str(options["stream"]).replace("'", "''")
    places = f"{stretch.part}, {stretch.first}, {stretch.last}"
    claim = f"'{stream}', {stretch.seq}, '{stretch.token}', {places}"
    return select(columns, f"{options.schema}.claim_read({claim})")
