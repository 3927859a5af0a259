"""Reads the messages of a claim on executors, and splits a claim among tasks."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from lonnymq.errors import LonnyMQError, Unreachable
from lonnymq.spark.options import Options
from lonnymq.spark.read.arrow_reader import ArrowConnection, Error, read_batches, read_transaction
from lonnymq.spark.read.schemas import Column
from lonnymq.spark.read.sql import build_select
from lonnymq.spark.retry import RETRY_SECONDS, Backoff, is_transient

if TYPE_CHECKING:  # executors do without psycopg, and start sooner
    from lonnymq.spark.stream.claims import ClaimPart

# Arrow raises its own errors without a SQLSTATE when the connection breaks between rows.
RETRIED = (Unreachable, Error, OSError, pa.ArrowException)
ID = Column("lonnymq_id", "long", "r.id")  # tells which rows the task has passed on already


class ClaimLost(LonnyMQError):
    """Leases ended and other consumers may have the messages: raise leaseDuration, or set failOnLeaseLost to false."""


@dataclass(frozen=True, slots=True)
class ClaimRange:
    """Some messages of a part of a claim, from position `first` to `last`."""

    seq: int
    token: str
    part: int
    first: int
    last: int


def split_parts(parts: Sequence[ClaimPart], count: int) -> list[list[ClaimRange]]:
    """The messages of these parts in up to `count` lists of equal length."""
    size = max(1, -(-sum(part.messages for part in parts) // count))
    found: list[list[ClaimRange]] = [[]]
    room = size
    for part in parts:
        first = 1
        while first <= part.messages:
            if not room:
                found.append([])
                room = size
            last = min(part.messages, first + room - 1)
            found[-1].append(ClaimRange(part.seq, part.token, part.part, first, last))
            room -= last - first + 1
            first = last + 1
    return [each for each in found if each]


def read_ranges(
    options: Options, address: str, columns: Sequence[Column], ranges: Sequence[ClaimRange]
) -> Iterator[pa.RecordBatch]:
    """The messages of these ranges, each once, and the same messages in every call.

    While the database is unreachable the task tries again, and continues a range that broke off.
    """
    waiting, backoff = deque(ranges), Backoff(RETRY_SECONDS)
    given: list[pa.Array] = []  # the ids of the first range that the task has passed on
    while waiting:
        try:
            with read_transaction(address, keep=True) as connection:
                query = range_query(options, columns, waiting[0])
                for batch in read_new_rows(connection, query, columns, given):
                    backoff.reset()
                    yield batch
            check_complete(options, waiting.popleft(), sum(map(len, given)))
            given.clear()
        except RETRIED as error:
            if not is_transient(error) or not backoff.pause(error):
                raise


def read_new_rows(
    connection: ArrowConnection, query: str, columns: Sequence[Column], given: list[pa.Array]
) -> Iterator[pa.RecordBatch]:
    """The rows of a query whose ids are not in `given`; their ids are added to `given`."""
    before = pa.concat_arrays(given) if given else None
    for found in read_batches(connection, query, (*columns, ID)):
        new = found
        if before is not None:
            import pyarrow.compute as pc  # slow to import, and seldom needed

            new = found.filter(pc.invert(pc.is_in(found.column(len(columns)), before)))
        if new.num_rows:
            given.append(new.column(len(columns)))
            yield new.select(range(len(columns)))


def check_complete(options: Options, wanted: ClaimRange, found: int) -> None:
    """Raise if messages are missing, unless the options allow that."""
    if found <= wanted.last - wanted.first and options["failOnLeaseLost"]:
        raise ClaimLost(f"claim {wanted.seq} has lost messages: {ClaimLost.__doc__}")


def range_query(options: Options, columns: Sequence[Column], wanted: ClaimRange) -> str:
    """The query for a range."""
    stream = str(options["stream"]).replace("'", "''")
    positions = f"{wanted.part}, {wanted.first}, {wanted.last}"
    arguments = f"'{stream}', {wanted.seq}, '{wanted.token}', {positions}"
    return build_select((*columns, ID), f"{options.schema}.claim_read({arguments})")
