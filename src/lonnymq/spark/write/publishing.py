"""`commitMode=staged`, the half of the driver: what tasks put aside becomes messages, in one transaction, once."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from psycopg import Connection, OperationalError

from lonnymq.errors import Unreachable, translated
from lonnymq.spark.connection import open_connection
from lonnymq.spark.options import Options
from lonnymq.spark.retry import patiently
from lonnymq.spark.write import rejects
from lonnymq.spark.write.commit_messages import Staged
from lonnymq.spark.write.counts import Counts
from lonnymq.spark.write.create import create_rows
from lonnymq.spark.write.loads import Key, begin, drop_stages, end, take_stage
from lonnymq.spark.write.staging import judged_few


def publish(options: Options, key: Key, parts: Iterable[Staged]) -> Counts | None:
    """Publish a load, in the order of its parts; None: it was published before, and nothing is added.

    If the database goes away it is tried again, whether or not that was after the commit: a load is published once.
    """
    ordered = sorted((each for each in parts if each.rows), key=lambda each: each.part)
    if not ordered:
        return Counts()
    counts = patiently(lambda: publish_once(options, key, ordered))
    rejects.tell(options, counts or Counts(), key[0])
    return counts


def publish_once(options: Options, key: Key, ordered: list[Staged]) -> Counts | None:
    """Publish a load in one transaction."""
    stages = [each.stage for each in ordered if each.stage is not None]
    counts: Counts | None = None
    with translated(), open_connection(options) as connection, connection.transaction():
        if begin(connection, options, key):
            counts = sum((take(connection, options, key, each) for each in ordered), Counts())
            rejects.refuse(options, counts)
            end(connection, options, key, counts)
        drop_stages(connection, options, stages)
    return counts


def take(connection: Connection[Any], options: Options, key: Key, part: Staged) -> Counts:
    """Make messages of a part."""
    if part.stage is None:
        return take_few(connection, options, key, part.few)
    counts = take_stage(connection, options, part.stage, part.rows)
    if counts.rejected and options["rejects"]:
        rejects.keep_stage(connection, options, part.stage, key)
    return counts


def take_few(connection: Connection[Any], options: Options, key: Key, few: bytes) -> Counts:
    """Make messages of rows that a task sent along."""
    judged = judged_few(connection, few)
    counts, refused = create_rows(connection, options, judged.good)
    for rows in (refused, judged.bad):
        if rows is not None and options["rejects"]:
            rejects.keep_batch(connection, options, rows, key)
    return counts + Counts(invalid=judged.bad.num_rows if judged.bad is not None else 0)


def discard(options: Options, parts: Iterable[Staged | None]) -> None:
    """Drop what tasks put aside for a load that will not be published; if it cannot be, the next load does it."""
    stages = [each.stage for each in parts if each is not None and each.stage is not None]
    if stages:
        with suppress(Unreachable, OperationalError), open_connection(options) as connection:
            drop_stages(connection, options, stages)
