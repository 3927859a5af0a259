"""Builders of the dead functions: list, redrive and purge what ran out of attempts."""

from __future__ import annotations

from collections.abc import Iterable

from lonnymq.calls import check
from lonnymq.calls.call import Call, Record, loads, scalar, statement
from lonnymq.results import DeadMessage, Redriven

DEAD = Record(DeadMessage, headers=loads)
REDRIVEN = Record(Redriven)
CHOICE_TYPES = "bigint[] text text integer"


def dead_list(
    schema: str, channel: str | None, *, kind: str | None, after: int | None, limit: int
) -> Call[list[DeadMessage]]:
    """A page of dead messages, by id."""
    values = (
        check.optional(check.name, "channel", channel),
        check.optional(check.name, "kind", kind),
        check.optional(check.identifier, "after", after),
        check.count("limit", limit),
    )
    return DEAD.call(schema, "dead_list", "text text bigint integer", values)


def dead_ids(
    schema: str, channel: str | None, *, kind: str | None, after: int | None, limit: int
) -> Call[list[int]]:
    """A page of the ids of dead messages."""
    values = (
        check.optional(check.name, "channel", channel),
        check.optional(check.name, "kind", kind),
        check.optional(check.identifier, "after", after),
        check.count("limit", limit),
    )
    sql = statement(schema, "dead_ids", "text text bigint integer", "r.id")
    return Call(sql, values, lambda rows: [row[0] for row in rows])


def dead_redrive(
    schema: str,
    message_ids: Iterable[int] | None,
    *,
    channel: str | None,
    kind: str | None,
    limit: int,
) -> Call[list[Redriven]]:
    """Let dead messages live again, at their old place in time."""
    values = chosen(message_ids, channel, kind, limit)
    return REDRIVEN.call(schema, "dead_redrive", CHOICE_TYPES, values)


def dead_purge(
    schema: str,
    message_ids: Iterable[int] | None,
    *,
    channel: str | None,
    kind: str | None,
    limit: int,
) -> Call[int]:
    """Delete dead messages for good."""
    return scalar(schema, "dead_purge", CHOICE_TYPES, chosen(message_ids, channel, kind, limit))


def chosen(
    message_ids: Iterable[int] | None, channel: str | None, kind: str | None, limit: int
) -> tuple[list[int] | None, str | None, str | None, int]:
    """Which dead messages are meant; SQL refuses to guess when nothing says."""
    return (
        None if message_ids is None else [check.identifier("id", each) for each in message_ids],
        check.optional(check.name, "channel", channel),
        check.optional(check.name, "kind", kind),
        check.count("limit", limit),
    )
