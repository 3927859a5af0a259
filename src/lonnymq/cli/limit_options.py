"""The limits of channels and of the queue as options of commands, as people write them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer

from lonnymq.cli.options import option
from lonnymq.text import parse_duration

NONE = ("none", "null", "")


def parse_integer(text: str) -> int:
    """A whole number; the queue checks the range."""
    try:
        return int(text.replace(",", "").replace("_", ""))
    except ValueError:
        raise ValueError(f"'{text}' is not a whole number or 'none'") from None


def parse_share(text: str) -> float:
    """A number between 0 and 1; the queue checks the range."""
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"'{text}' is not a number or 'none'") from None


def parse_delays(text: str) -> list[int]:
    """Durations separated by commas."""
    return [parse_duration(each) for each in text.split(",")]


Setting = tuple[Callable[[str], Any], str, str]
LIMITS: dict[str, Setting] = {
    "max_concurrency": (
        parse_integer,
        "N",
        "Maximum number of messages that run at the same time.",
    ),
    "min_interval_ms": (parse_duration, "TIME", "Minimum time between two messages: 100ms, 2s."),
    "burst": (parse_integer, "N", "Number of messages that may start at once after a quiet time."),
    "max_size": (parse_integer, "N", "Maximum number of live messages."),
    "when_full": (str, "reject|drop", "Effect on new messages when the channel is full."),
    "weight": (parse_integer, "N", "Number of messages per turn, 1 to 1000."),
    "max_attempts": (parse_integer, "N", "Maximum number of attempts before a message is dead."),
    "retry_delays_ms": (parse_delays, "TIMES", "Delay after each failed attempt: 1s,5s,1m."),
    "retry_jitter": (parse_share, "SHARE", "Maximum random extra delay, as a share from 0 to 1."),
}


def limit_option(key: str, setting: Setting) -> Any:
    """The option of a limit, checked as it is read. 'none' removes the limit."""
    parse, metavar, text = setting

    def check(value: str | None) -> str | None:
        if value is None:
            return None
        if value.strip().lower() in NONE:
            return "none"
        try:
            parse(value)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None
        return value

    name = f"--{key.removesuffix('_ms').replace('_', '-')}"
    return Annotated[str | None, option(text, name, metavar=metavar, callback=check)]


def limit_options(settings: Mapping[str, Setting]) -> dict[str, Any]:
    """The options of a command that sets limits."""
    return {key: limit_option(key, setting) for key, setting in settings.items()}


def read_limits(settings: Mapping[str, Setting], given: Mapping[str, str | None]) -> dict[str, Any]:
    """The values of the given options, by name."""
    return {
        key: None if text == "none" else settings[key][0](text)
        for key, text in given.items()
        if text is not None
    }
