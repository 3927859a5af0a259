"""What is to be tried: limits set by `channel.option=value`, for one channel or for all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from lonnymq.errors import InvalidArgument
from lonnymq.simulate.ring import Limits

OPTIONS = tuple(each.name for each in fields(Limits))
NOTHING = ("none", "null", "")  # what takes a limit away
ALL = "*"


@dataclass(frozen=True, slots=True)
class Setting:
    """One option of one channel, or of all."""

    channel: str
    option: str
    value: int | None

    def __str__(self) -> str:
        return f"{self.channel}.{self.option}={'none' if self.value is None else self.value}"


@dataclass(frozen=True, slots=True)
class Scenario:
    """Limits and workers to replay under."""

    workers: int
    limits: Mapping[str, Limits] = field(default_factory=dict)
    otherwise: Limits = field(default_factory=Limits)
    max_concurrency: int | None = None

    def with_settings(self, settings: Iterable[Setting]) -> Scenario:
        """The same with these set, in their order: a later one has the last word."""
        limits, otherwise = dict(self.limits), self.otherwise
        for each in settings:
            change: dict[str, Any] = {each.option: each.value}
            if each.channel == ALL:
                otherwise = replace(otherwise, **change)
                limits = {name: replace(was, **change) for name, was in limits.items()}
            else:
                limits[each.channel] = replace(limits.get(each.channel, otherwise), **change)
        return replace(self, limits=limits, otherwise=otherwise)


def setting(text: str) -> Setting:
    """Read `acme.max_concurrency=4`; a channel's name may have dots and equals signs of its own."""
    head, equals, said = text.rpartition("=")
    channel, dot, option = head.rpartition(".")
    if not (equals and dot and channel):
        raise InvalidArgument(
            f"{text!r} is no setting: write channel.option=value, or *.option=value for all"
        )
    if option not in OPTIONS:
        known = ", ".join(OPTIONS)
        raise InvalidArgument(f"{text!r} sets no option there is: {option!r}; there are {known}")
    if said.strip().lower() in NOTHING:
        if option in ("burst", "weight"):
            raise InvalidArgument(f"{text!r}: {option} is a whole number from 1")
        return Setting(channel, option, None)
    if not said.strip().isascii() or not said.strip().isdecimal() or int(said) < 1:
        raise InvalidArgument(f"{text!r}: {option} is a whole number from 1, or none: {said!r}")
    return Setting(channel, option, int(said))
