"""Scenarios for a replay: workers and limits, changed by settings like `channel.option=value`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any

from lonnymq.errors import InvalidArgument
from lonnymq.simulate.ring import Limits

# The most that the engine takes; the least is 1.
MAX_VALUES = {
    "max_concurrency": 2_147_483_647,
    "min_interval_ms": 3_155_760_000_000,
    "burst": 1_000_000,
    "weight": 1_000,
}
NO_LIMIT = ("none", "null")  # what takes a limit away
REQUIRED = ("burst", "weight")
ALL, ESCAPE = "*", "\\"
QUEUE = "max_concurrency"  # what the whole queue has a limit of


@dataclass(frozen=True, slots=True)
class Setting:
    """A changed option of a channel, of all channels (`channel` is None), or of the queue."""

    channel: str | None
    option: str
    value: int | None
    is_queue: bool = False

    def __str__(self) -> str:
        """The setting as on a command line."""
        value = "none" if self.value is None else self.value
        if self.is_queue:
            return f"{self.option}={value}"
        name = ALL if self.channel is None else self.channel
        if self.channel is not None and (name == ALL or name.startswith(ESCAPE)):
            name = ESCAPE + name
        return f"{name}.{self.option}={value}"


@dataclass(frozen=True, slots=True)
class Scenario:
    """Limits and workers to replay under."""

    workers: int
    limits: Mapping[str, Limits] = field(default_factory=dict)
    default_limits: Limits = field(default_factory=Limits)
    max_concurrency: int | None = None
    processes: int | None = None  # of the workers; each worker is a process of its own if None
    settle_ms: int = 0  # how long before the end of a lease its worker is free

    def with_settings(self, settings: Iterable[Setting]) -> Scenario:
        """The scenario with changed settings; later settings win."""
        limits, default_limits, most = dict(self.limits), self.default_limits, self.max_concurrency
        for each in settings:
            change: dict[str, Any] = {each.option: each.value}
            if each.is_queue:
                most = each.value
            elif each.channel is None:
                default_limits = replace(default_limits, **change)
                limits = {name: replace(was, **change) for name, was in limits.items()}
            else:
                limits[each.channel] = replace(limits.get(each.channel, default_limits), **change)
        return replace(self, limits=limits, default_limits=default_limits, max_concurrency=most)

    def weights(self, names: Iterable[str]) -> dict[str, int]:
        """The weights of these channels."""
        return {name: self.limits.get(name, self.default_limits).weight for name in names}


def parse_setting(text: str) -> Setting:
    """Read `acme.max_concurrency=4`, a setting with one value."""
    found = parse_settings(text)
    if len(found) > 1:
        raise InvalidArgument(
            f"{text!r} has {len(found)} values, but a setting takes a single value"
        )
    return found[0]


def parse_settings(text: str) -> list[Setting]:
    """Read `acme.max_concurrency=4`, or `acme.max_concurrency=2,4,8`: values to be tried one by one.

    A channel's name may have dots, commas and equals signs of its own. `*` is every channel; a backslash in front of a
    name says that it is meant to the letter: `\\*.weight=2` is of the channel that is called `*`.
    `max_concurrency=8`, without a channel, is the limit of the whole queue.
    """
    head, equals, value = text.rpartition("=")
    if head == QUEUE:
        return [
            Setting(None, QUEUE, parse_value(text, QUEUE, each), is_queue=True)
            for each in value.split(",")
        ]
    name, dot, option = head.rpartition(".")
    if not (equals and dot and name):
        raise InvalidArgument(
            f"{text!r} is not a setting: write channel.option=value, *.option=value for all channels, or "
            "max_concurrency=value for the whole queue"
        )
    if option not in MAX_VALUES:
        known = ", ".join(MAX_VALUES)
        raise InvalidArgument(f"{text!r} sets an unknown option {option!r}: there are {known}")
    channel = None if name == ALL else name.removeprefix(ESCAPE)
    return [Setting(channel, option, parse_value(text, option, each)) for each in value.split(",")]


def parse_value(text: str, option: str, value: str) -> int | None:
    """Parse a value of an option; None removes the limit."""
    value = value.strip()
    if value.lower() in NO_LIMIT and option not in REQUIRED:
        return None
    number = int(value) if value.isascii() and value.isdecimal() and len(value) < 20 else 0
    if not 1 <= number <= MAX_VALUES[option]:
        none = "" if option in REQUIRED else ", or none"
        raise InvalidArgument(
            f"{text!r}: {option} must be a whole number from 1 to {MAX_VALUES[option]}{none}, not {value!r}"
        )
    return number


def find_similar(name: str, known: Iterable[str]) -> list[str]:
    """Similar names: first those that differ in case or leading zeros."""

    def plain(text: str) -> str:
        return re.sub(r"\d+", lambda found: found[0].lstrip("0"), text.casefold())

    like = get_close_matches(name, known, n=50, cutoff=0.6)
    return sorted(like, key=lambda each: plain(each) != plain(name))[:3]


def check_channels(settings: Iterable[Setting], channels: Iterable[str]) -> None:
    """Raise for a setting of an unknown channel, with similar names."""
    known = sorted(channels)
    for each in settings:
        if each.channel is None or each.channel in known:
            continue
        like = find_similar(each.channel, known)
        guess = f"did you mean {' or '.join(map(repr, like))}?" if like else (
            f"there are {len(known)}: {', '.join(map(repr, known[:3]))}{' ...' if len(known) > 3 else ''}"
            if known else "there is none"
        )  # fmt: skip
        raise InvalidArgument(
            f"{str(each)!r}: there are no messages of channel {each.channel!r}: {guess}"
        )
