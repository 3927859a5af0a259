"""The executors' half of the streaming source: reads the messages of a claim, through an outage if need be."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from adbc_driver_postgresql import dbapi

from lonnymq.spark.arrow_read import batches, reading, select
from lonnymq.spark.connecting import Unreachable, conninfo
from lonnymq.spark.options import Options
from lonnymq.spark.outages import PATIENCE, is_passing
from lonnymq.spark.schemas import Column
from lonnymq.spark.stream_driver import ClaimLost

# What breaks in the middle of the rows is told by Arrow, in its own words and without a SQLSTATE.
TROUBLE = (Unreachable, dbapi.Error, OSError, pa.ArrowException)
MARK = Column("lonnymq_id", "long", "r.id")  # by which rows are known that were given already


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
    """The messages of these stretches, each once; as often as it is asked, the same ones.

    While the database is away it is tried on, and a stretch that broke off is gone on with.
    """
    waiting, until = deque(listed), None
    given: list[pa.Array] = []  # the ids of the stretch at hand
    while waiting:
        try:
            with reading(conninfo(options), keep=True) as cursor:
                while waiting:
                    for batch in rows(cursor, query(options, columns, waiting[0]), columns, given):
                        until = None
                        yield batch
                    check(options, waiting.popleft(), sum(map(len, given)))
                    given.clear()
        except TROUBLE as error:
            until = until or time.monotonic() + PATIENCE
            if not is_passing(error) or time.monotonic() > until:
                raise
            time.sleep(0.2)


def rows(
    cursor: Any, query: str, columns: Sequence[Column], given: list[pa.Array]
) -> Iterator[pa.RecordBatch]:
    """What the query finds without what was given before; what is given now is added to that."""
    before = pa.concat_arrays(given) if given else None
    for found in batches(cursor, query, (*columns, MARK)):
        new = found
        if before is not None:
            new = found.filter(pc.invert(pc.is_in(found.column(len(columns)), before)))
        if new.num_rows:
            given.append(new.column(len(columns)))
            yield new.select(range(len(columns)))


def check(options: Options, stretch: Stretch, found: int) -> None:
    """Raise if messages are missing, unless that is no matter."""
    if found <= stretch.last - stretch.first and options["failOnLeaseLost"]:
        raise ClaimLost(f"claim {stretch.seq} has lost messages: {ClaimLost.__doc__}")


def query(options: Options, columns: Sequence[Column], stretch: Stretch) -> str:
    """The statement that reads a stretch."""
    stream = str(options["stream"]).replace("'", "''")
    places = f"{stretch.part}, {stretch.first}, {stretch.last}"
    claim = f"'{stream}', {stretch.seq}, '{stretch.token}', {places}"
    return select((*columns, MARK), f"{options.schema}.claim_read({claim})")
