"""Builders of what confines producers to some channels."""

from __future__ import annotations

from collections.abc import Iterable

from lonnymq.calls import check
from lonnymq.calls.call import Call, Record, scalar
from lonnymq.errors import InvalidArgument
from lonnymq.results import ConfineAnswer, Confined, FreeAnswer

CONFINED = Record(Confined)


def producer_confine(
    schema: str, role: str, *, channels: Iterable[str], prefixes: Iterable[str]
) -> Call[ConfineAnswer]:
    """Confine a role to the channels that are named, and to those whose names begin so."""
    values = (
        check.name("role", role),
        names("channels", channels),
        names("prefixes", prefixes),
    )
    return scalar(schema, "producer_confine", "text text[] text[]", values)


def channel_permitted(schema: str, channel: str) -> Call[bool]:
    """Whether who is connected may use a channel."""
    return scalar(schema, "channel_permitted", "text", (check.name("channel", channel),))


def names(what: str, given: Iterable[str]) -> list[str]:
    """Names in a collection; a single string would be one of single letters."""
    if isinstance(given, str):
        raise InvalidArgument(f"{what} must be a list of str, not {check.shown(given)}")
    return [check.name(f"one of the {what}", each) for each in given]


def producer_free(schema: str, role: str) -> Call[FreeAnswer]:
    """Let a role use every channel again."""
    return scalar(schema, "producer_free", "text", (check.name("role", role),))


def producer_list(schema: str) -> Call[list[Confined]]:
    """The roles that are confined."""
    return CONFINED.call(schema, "producer_list", "", ())
