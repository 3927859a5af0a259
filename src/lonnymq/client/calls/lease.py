"""The functions of leases: dequeue, and then heartbeat, complete, defer or fail, fenced by the lease's token."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from json import loads
from typing import Any, Generic
from uuid import UUID

from lonnymq import results
from lonnymq.client import arguments as check
from lonnymq.client.arguments import (
    Bytes,
    Duration,
    Error,
    Flag,
    Identifiers,
    LeaseArgument,
    LeaseArguments,
    Moment,
    Period,
    Progress,
    ProgressList,
    ProgressNote,
    ProgressNotes,
    ResultArgument,
    ResultArguments,
    Tokens,
)
from lonnymq.client.call import Call, Record, Row, scalar, schema_name, statement
from lonnymq.client.describe import CONSUMER, sql_builder, sql_function

MAX_TRIES = 50
MAX_SECONDS = 0.25
MAX_PAUSE = 0.02
Leases = Sequence[tuple[int, UUID]]  # the id and the token of each message
Settled = list[tuple[str, int | None]]  # the answer, and when the message runs again
COMPLETED = "completed"
DEFERRED = Record(results.Deferred)
FAILED = Record(results.Failed)
DEQUEUED_COLUMNS = (
    "r.answer, r.retry_at, r.cursor, "
    "r.id, r.token, r.channel, r.content, r.state, r.attempt, r.kind, r.headers::text, r.key, "
    "r.created_at, r.dequeue_at, r.dequeued_at, r.lease_until"
)
HEADERS = 10
DEQUEUED_AT = 14  # in the row of a dequeue that leased nothing: the database's time


@dataclass(slots=True)
class DequeueCursor:
    """Where one consumer goes on, as its last dequeue answered it."""

    position: list[int] | None = None


class DequeueCursors:
    """Lends a cursor to each dequeue that runs at the moment.

    A cursor has one user at a time, so that W calls at once are W consumers, each with its own round of the channels.
    A single cursor for all would jump back when a slow call ends after a quick one, and favour the channels there.
    Calls that ask for other kinds or channels have cursors of their own: they go round other channels.
    """

    def __init__(self) -> None:
        self.idle: dict[Hashable, list[DequeueCursor]] = {}

    @contextmanager
    def lend(self, asked: Hashable = None) -> Iterator[DequeueCursor]:
        """Lend the cursor that was used last for what is asked, or a new one if all are in use."""
        idle = self.idle.setdefault(asked, [])
        try:
            cursor = idle.pop()
        except IndexError:
            cursor = DequeueCursor()
        try:
            yield cursor
        finally:
            idle.append(cursor)


def retry_pauses() -> Iterator[float]:
    """The pauses, short and random, between tries of a contended dequeue."""
    give_up_at = time.monotonic() + MAX_SECONDS
    for attempt in range(MAX_TRIES):
        yield random.uniform(0, min(MAX_PAUSE, 0.0005 * 2**attempt))  # noqa: S311 - spreads load, hides nothing
        if time.monotonic() >= give_up_at:
            return


@dataclass(frozen=True, slots=True)
class Dequeued(Generic[results.Handle]):
    """One answer: the batch, and the cursor to hand in next time."""

    batch: results.Batch[results.Handle]
    cursor: list[int] | None


@sql_builder(CONSUMER, method=False)
def message_dequeue(
    schema: str,
    make: Callable[..., results.Handle],
    *,
    limit: int,
    lease_ms: Duration,
    worker: str | None,
    cursor: list[int] | None,
    kinds: Iterable[str | None] | None = None,
    channels: Iterable[str] | None = None,
) -> Call[Dequeued[results.Handle]]:
    """Lease up to `limit` messages. `make` gets the values of each message in the order of LeasedMessage."""

    def parse(rows: Sequence[Row]) -> Dequeued[results.Handle]:
        answer, retry_at, position = rows[-1][:3]
        if answer != "leased":
            return Dequeued(results.Batch((), answer, retry_at, rows[-1][DEQUEUED_AT]), position)
        return Dequeued(results.Batch(tuple(make(*lease_values(row)) for row in rows)), position)

    values = (
        check.count("limit", limit),
        check.milliseconds("lease_ms", lease_ms),
        check.optional(check.name, "worker", worker),
        cursor,
        check.optional(check.kinds, "kinds", kinds),
        check.optional(check.names, "channels", channels),
    )
    types = "integer bigint text bigint[] text[] text[]"
    return Call(statement(schema, "message_dequeue", types, DEQUEUED_COLUMNS), values, parse)


def lease_values(row: Row) -> Sequence[Any]:
    """The values of a LeasedMessage, with its headers read."""
    if row[HEADERS] is None:
        return row[3:]
    return (*row[3:HEADERS], loads(row[HEADERS]), *row[HEADERS + 1 :])


@sql_function(CONSUMER)
def message_heartbeat(
    message: LeaseArgument,
    *,
    lease_ms: Period = 30_000,
    progress: Progress | None = None,
    note: ProgressNote | None = None,
) -> results.HeartbeatAnswer:
    """Extend the lease of a message to `lease_ms` from now, and set the progress that `status` shows."""


@sql_function(CONSUMER, function="message_heartbeat")
def message_heartbeat_many(
    messages: LeaseArguments,
    *,
    lease_ms: Period = 30_000,
    progress: ProgressList | None = None,
    notes: ProgressNotes | None = None,
) -> list[results.Heartbeat]:
    """Extend the leases of many messages to `lease_ms` from now, in one call, with the progress of each message."""


@sql_function(CONSUMER, using=True)
def message_complete(
    message: LeaseArgument, *, result: ResultArgument | None = None
) -> results.CompleteAnswer:
    """Complete a message. `result` is kept with the history of the message."""


@sql_function(CONSUMER, function="message_complete", using=True)
def message_complete_many(
    messages: LeaseArguments, *, results: ResultArguments | None = None
) -> list[results.Completed]:
    """Complete many messages in one call. Answers and results have the order of the messages."""


@sql_builder(CONSUMER, function="message_complete", method=False)
def message_complete_each(
    schema: str, leases: Leases, *, results: Sequence[bytes | None] = ()
) -> Call[Settled]:
    """Complete many messages. Only answers other than `completed` travel back: usually none."""
    given = list(results) if any(each is not None for each in results) else None
    called = f"{schema_name(schema)}.message_complete(%s::bigint[], %s::uuid[], %s::bytea[])"
    sql = (
        f"select r.place, r.answer from {called} with ordinality r (id, answer, place) "  # noqa: S608 - schema_name has passed it
        f"where r.answer <> '{COMPLETED}'"
    )
    values = (*lease_columns(leases), given)
    return Call(sql, values, partial(decode_exceptions, len(leases)))


def lease_columns(leases: Leases) -> tuple[Identifiers, Tokens]:
    """The ids and the tokens of leases that a dequeue has answered: there is nothing to check."""
    return Identifiers([each[0] for each in leases]), Tokens([each[1] for each in leases])


def decode_exceptions(count: int, rows: Sequence[Row]) -> Settled:
    """The answers to a number of completions: `completed`, except where a row says otherwise."""
    found: Settled = [(COMPLETED, None)] * count
    for place, answer in rows:
        found[place - 1] = (answer, None)
    return found


def decode_settled(rows: Sequence[Row]) -> Settled:
    """The answers in the order of the messages."""
    return [(row[0], row[1]) for row in rows]


@sql_builder(CONSUMER, using=True)
def message_defer(
    schema: str,
    message: results.Leased,
    *,
    delay_ms: Duration | None = None,
    dequeue_at: Moment | None = None,
    state: Bytes | None = None,
) -> Call[results.DeferAnswer]:
    """Put a message back for later and keep `state` with the message. This attempt does not count."""
    values = (*check.lease_of("message", message), *deferral_values(delay_ms, dequeue_at, state))
    return scalar(schema, "message_defer", "bigint uuid bigint bytea bigint", values)


@sql_builder(CONSUMER, function="message_defer", using=True)
def message_defer_many(
    schema: str,
    messages: Iterable[results.Leased],
    *,
    delay_ms: Duration | None = None,
    dequeue_at: Moment | None = None,
    state: Bytes | None = None,
) -> Call[list[results.Deferred]]:
    """Put many messages back for later, all with the same delay and state."""
    ids, tokens = check.leases_of("messages", messages)
    shared = ([value] * len(ids) for value in deferral_values(delay_ms, dequeue_at, state))
    types = "bigint[] uuid[] bigint[] bytea[] bigint[]"
    return DEFERRED.call(schema, "message_defer", types, (ids, tokens, *shared))


@sql_builder(CONSUMER, function="message_defer", method=False)
def message_defer_each(
    schema: str,
    leases: Leases,
    *,
    delays_ms: Sequence[int | None],
    states: Sequence[bytes | None],
    dequeue_at: Sequence[int | None],
) -> Call[Settled]:
    """Put many messages back for later, each with its own delay or time and its own state."""
    types = "bigint[] uuid[] bigint[] bytea[] bigint[]"
    sql = statement(schema, "message_defer", types, "r.answer, r.dequeue_at")
    return Call(sql, (*lease_columns(leases), delays_ms, states, dequeue_at), decode_settled)


def deferral_values(
    delay_ms: Duration | None, dequeue_at: Moment | None, state: Bytes | None
) -> tuple[object, object, object]:
    """When a deferred message runs and what it keeps."""
    check.not_both("dequeue_at", dequeue_at, "delay_ms", delay_ms)
    return (
        check.optional(check.milliseconds, "delay_ms", delay_ms),
        check.optional(check.state, "state", state),
        check.optional(check.moment, "dequeue_at", dequeue_at),
    )


@sql_function(CONSUMER, using=True)
def message_fail(
    message: LeaseArgument,
    *,
    error: Error | None = None,
    retry_ms: Period | None = None,
    dead: Flag = False,
) -> results.FailAnswer:
    """Fail this attempt. The message is retried after `retry_ms` or as the channel says, or is dead."""


@sql_builder(CONSUMER, function="message_fail", using=True)
def message_fail_many(
    schema: str,
    messages: Iterable[results.Leased],
    *,
    error: str | BaseException | None = None,
    retry_ms: Duration | None = None,
    dead: bool = False,
) -> Call[list[results.Failed]]:
    """Fail an attempt of many messages, all with the same error."""
    ids, tokens = check.leases_of("messages", messages)
    values = (
        None if error is None else check.error_text(error),
        check.optional(check.milliseconds, "retry_ms", retry_ms),
        check.yes_or_no("dead", dead),
    )
    types = "bigint[] uuid[] text[] bigint[] boolean[]"
    shared = ([value] * len(ids) for value in values)
    return FAILED.call(schema, "message_fail", types, (ids, tokens, *shared))


@sql_builder(CONSUMER, function="message_fail", method=False)
def message_fail_each(
    schema: str,
    leases: Leases,
    *,
    errors: Sequence[str],
    retries_ms: Sequence[int | None],
    dead: Sequence[bool],
    max_attempts: Sequence[int | None],
) -> Call[Settled]:
    """Fail an attempt of many messages, each with its own error and its own rule."""
    types = "bigint[] uuid[] text[] bigint[] boolean[] integer[]"
    sql = statement(schema, "message_fail", types, "r.answer, r.dequeue_at")
    values = (*lease_columns(leases), errors, retries_ms, dead, max_attempts)
    return Call(sql, values, decode_settled)
