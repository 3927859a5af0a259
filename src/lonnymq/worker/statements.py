"""Settlements of many messages in one statement each, every one with its own reason, delay and state."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from lonnymq.client.arrays import Identifiers, Tokens
from lonnymq.client.call import Call, Row, schema_name, statement
from lonnymq.results import LeasedMessage
from lonnymq.worker.outcomes import Complete, Defer, Fail, Outcome

Settlement = tuple[LeasedMessage, Outcome]
DONE = "completed"
Answers = list[tuple[str, int | None]]  # the word, and when the message runs again


def settle(schema: str, settlements: Sequence[Settlement]) -> Call[Answers]:
    """The statement for settlements that are all of one kind; it answers each, in this order."""
    first = settlements[0][1]
    if isinstance(first, Complete):
        return complete(schema, settlements)
    return defer(schema, settlements) if isinstance(first, Defer) else fail(schema, settlements)


def complete(schema: str, settlements: Sequence[Settlement]) -> Call[Answers]:
    """Be done with all of these. Only other answers than that are sent back, with their places: as a rule, none."""
    called = f"{schema_name(schema)}.message_complete(%s::bigint[], %s::uuid[])"
    sql = (
        f"select r.place, r.answer from {called} with ordinality r (id, answer, place) "  # noqa: S608 - schema_name has passed it
        f"where r.answer <> '{DONE}'"
    )
    return Call(sql, pairs(settlements), partial(others, len(settlements)))


def defer(schema: str, settlements: Sequence[Settlement]) -> Call[Answers]:
    """Put all of these back, each for its own time and with its own state."""
    types = "bigint[] uuid[] bigint[] bytea[] bigint[]"
    sql = statement(schema, "message_defer", types, "r.answer, r.dequeue_at")
    outcomes: list[Any] = [outcome for _, outcome in settlements]
    columns = ([getattr(each, name) for each in outcomes] for name in DEFER)
    return Call(sql, (*pairs(settlements), *columns), answers)


def fail(schema: str, settlements: Sequence[Settlement]) -> Call[Answers]:
    """Give up on an attempt of all of these, each for its own reason."""
    types = "bigint[] uuid[] text[] bigint[] boolean[]"
    sql = statement(schema, "message_fail", types, "r.answer, r.dequeue_at")
    outcomes: list[Any] = [outcome for _, outcome in settlements]
    columns = ([getattr(each, name) for each in outcomes] for name in FAIL)
    return Call(sql, (*pairs(settlements), *columns), answers)


DEFER = ("delay_ms", "state", "dequeue_at")
FAIL = ("error", "retry_ms", "dead")


def pairs(settlements: Sequence[Settlement]) -> tuple[Identifiers, Tokens]:
    """Ids and tokens."""
    ids = Identifiers([each.id for each, _ in settlements])
    return ids, Tokens([each.token for each, _ in settlements])


def answers(rows: Sequence[Row]) -> Answers:
    """The answers, in the order of the settlements."""
    return [(row[0], row[1]) for row in rows]


def others(many: int, rows: Sequence[Row]) -> Answers:
    """The answers to so many completions of which these were not done."""
    found: Answers = [(DONE, None)] * many
    for place, word in rows:
        found[place - 1] = (word, None)
    return found


def by_kind(settlements: Sequence[Settlement]) -> list[list[Settlement]]:
    """The settlements, those of one kind together."""
    groups: dict[type, list[Settlement]] = {Complete: [], Fail: [], Defer: []}
    for each in settlements:
        groups[type(each[1])].append(each)
    return [group for group in groups.values() if group]
