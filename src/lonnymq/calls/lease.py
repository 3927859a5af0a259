"""Builders of what needs a lease, fenced by its token: heartbeat, complete, defer, fail."""

from __future__ import annotations

from collections.abc import Iterable

from lonnymq.calls import check
from lonnymq.calls.arrays import Identifiers, Tokens
from lonnymq.calls.call import Call, Record, scalar
from lonnymq.results import (
    CompleteAnswer,
    Completed,
    DeferAnswer,
    Deferred,
    FailAnswer,
    Failed,
    Heartbeat,
    HeartbeatAnswer,
    Leased,
)

HEARTBEAT = Record(Heartbeat)
COMPLETED = Record(Completed)
DEFERRED = Record(Deferred)
FAILED = Record(Failed)


def lease_of(message: Leased) -> tuple[object, object]:
    """The two parts that name a lease."""
    return check.identifier("id", message.id), check.token("token", message.token)


def leases_of(messages: Iterable[Leased]) -> tuple[Identifiers, Tokens]:
    """The ids and the tokens of many leases."""
    given = list(messages)
    ids = Identifiers([check.identifier("id", each.id) for each in given])
    return ids, Tokens([check.token("token", each.token) for each in given])


def message_heartbeat(
    schema: str, message: Leased, *, lease_ms: check.Duration
) -> Call[HeartbeatAnswer]:
    """Extend one lease."""
    values = (*lease_of(message), check.milliseconds("lease_ms", lease_ms))
    return scalar(schema, "message_heartbeat", "bigint uuid bigint", values)


def message_heartbeat_many(
    schema: str, messages: Iterable[Leased], *, lease_ms: check.Duration
) -> Call[list[Heartbeat]]:
    """Extend many leases."""
    values = (*leases_of(messages), check.milliseconds("lease_ms", lease_ms))
    return HEARTBEAT.call(schema, "message_heartbeat", "bigint[] uuid[] bigint", values)


def message_complete(schema: str, message: Leased) -> Call[CompleteAnswer]:
    """Be done with one message."""
    return scalar(schema, "message_complete", "bigint uuid", lease_of(message))


def message_complete_many(schema: str, messages: Iterable[Leased]) -> Call[list[Completed]]:
    """Be done with many messages."""
    return COMPLETED.call(schema, "message_complete", "bigint[] uuid[]", leases_of(messages))


def message_defer(
    schema: str,
    message: Leased,
    *,
    delay_ms: check.Duration | None,
    dequeue_at: check.Moment | None,
    state: check.Bytes | None,
) -> Call[DeferAnswer]:
    """Put one message back for later, with what was found out so far."""
    values = (*lease_of(message), *later(delay_ms, dequeue_at, state))
    return scalar(schema, "message_defer", "bigint uuid bigint bytea bigint", values)


def message_defer_many(
    schema: str,
    messages: Iterable[Leased],
    *,
    delay_ms: check.Duration | None,
    dequeue_at: check.Moment | None,
    state: check.Bytes | None,
) -> Call[list[Deferred]]:
    """Put many messages back for later, all in the same way."""
    ids, tokens = leases_of(messages)
    shared = ([value] * len(ids) for value in later(delay_ms, dequeue_at, state))
    types = "bigint[] uuid[] bigint[] bytea[] bigint[]"
    return DEFERRED.call(schema, "message_defer", types, (ids, tokens, *shared))


def later(
    delay_ms: check.Duration | None, dequeue_at: check.Moment | None, state: check.Bytes | None
) -> tuple[object, object, object]:
    """When a deferred message runs and what it keeps."""
    check.not_both("dequeue_at", dequeue_at, "delay_ms", delay_ms)
    return (
        check.optional(check.milliseconds, "delay_ms", delay_ms),
        check.optional(check.state, "state", state),
        check.optional(check.moment, "dequeue_at", dequeue_at),
    )


def message_fail(
    schema: str,
    message: Leased,
    *,
    error: str | BaseException | None,
    retry_ms: check.Duration | None,
    dead: bool,
) -> Call[FailAnswer]:
    """Give up on one attempt: retried by the channel's policy or as said, or dead."""
    values = (*lease_of(message), *failure(error, retry_ms, dead=dead))
    return scalar(schema, "message_fail", "bigint uuid text bigint boolean", values)


def message_fail_many(
    schema: str,
    messages: Iterable[Leased],
    *,
    error: str | BaseException | None,
    retry_ms: check.Duration | None,
    dead: bool,
) -> Call[list[Failed]]:
    """Give up on one attempt of each of many messages, all for the same reason."""
    ids, tokens = leases_of(messages)
    shared = ([value] * len(ids) for value in failure(error, retry_ms, dead=dead))
    types = "bigint[] uuid[] text[] bigint[] boolean[]"
    return FAILED.call(schema, "message_fail", types, (ids, tokens, *shared))


def failure(
    error: str | BaseException | None, retry_ms: check.Duration | None, *, dead: bool
) -> tuple[object, object, object]:
    """What went wrong and what comes of it."""
    return (
        None if error is None else check.error_text(error),
        check.optional(check.milliseconds, "retry_ms", retry_ms),
        check.yes_or_no("dead", dead),
    )
