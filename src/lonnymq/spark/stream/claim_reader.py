"""The executors' half of the streaming source: reads the messages of a claim, through an outage if need be."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from lonnymq.errors import LonnyMQError, Unreachable
from lonnymq.spark.options import Options
from lonnymq.spark.read.arrow_reader import Connection, Error, batches, reading
from lonnymq.spark.read.schemas import Column
from lonnymq.spark.read.sql import select
from lonnymq.spark.retry import RETRY_SECONDS, Backoff, is_transient

# What breaks in the middle of the rows is told by Arrow, in its own words and without a SQLSTATE.
TROUBLE = (Unreachable, Error, OSError, pa.ArrowException)
MARK = Column("lonnymq_id", "long", "r.id")  # by which rows are known that were given already


class ClaimLost(LonnyMQError):
    """A claim's leases ran out and others have its messages: raise leaseDuration, or set failOnLeaseLost to false."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some messages of one part of a claim, by their places in it."""

    seq: int
    token: str
    part: int
    first: int
    last: int


def read_stretches(
    options: Options, address: str, columns: Sequence[Column], listed: Sequence[Stretch]
) -> Iterator[pa.RecordBatch]:
    """The messages of these stretches, each once; as often as it is asked, the same ones.

    While the database is away it is tried on, and a stretch that broke off is gone on with.
    """
    waiting, backoff = deque(listed), Backoff(RETRY_SECONDS)
    given: list[pa.Array] = []  # the ids of the stretch at hand
    while waiting:
        try:
            with reading(address, keep=True) as connection:
                wanted = query(options, columns, waiting[0])
                for batch in rows(connection, wanted, columns, given):
                    backoff.reset()
                    yield batch
            check(options, waiting.popleft(), sum(map(len, given)))
            given.clear()
        except TROUBLE as error:
            if not is_transient(error) or not backoff.pause(error):
                raise


def rows(
    connection: Connection, query: str, columns: Sequence[Column], given: list[pa.Array]
) -> Iterator[pa.RecordBatch]:
    """What the query finds without what was given before; what is given now is added to that."""
    before = pa.concat_arrays(given) if given else None
    for found in batches(connection, query, (*columns, MARK)):
        new = found
        if before is not None:
            import pyarrow.compute as pc  # takes long, and is seldom needed

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
