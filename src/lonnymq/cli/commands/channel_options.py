"""The options of `channel set`: each a limit as people write it, or 'none'."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from lonnymq.cli.output.formatting import milliseconds

NONE = ("none", "null", "")


def or_none(read: Callable[[str], Any]) -> Callable[[str | None], Any]:
    """A reader of an option that may be 'none': absent is None, 'none' is (None,), the rest (value,)."""

    def reader(text: str | None) -> Any:
        if text is None:
            return None
        if text.strip().lower() in NONE:
            return "none"
        try:
            read(text)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None
        return text

    return reader


def whole(text: str) -> int:
    """A whole number; which ones are allowed is for the queue to say."""
    try:
        return int(text.replace(",", "").replace("_", ""))
    except ValueError:
        raise ValueError(f"'{text}' is not a whole number, nor 'none'") from None


def share(text: str) -> float:
    """A number between 0 and 1."""
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"'{text}' is not a number, nor 'none'") from None


def delays(text: str) -> list[int]:
    """Durations with commas between them."""
    return [milliseconds(each) for each in text.split(",")]


READERS: dict[str, Callable[[str], Any]] = {
    "max_concurrency": whole,
    "min_interval_ms": milliseconds,
    "burst": whole,
    "max_size": whole,
    "when_full": str,
    "weight": whole,
    "max_attempts": whole,
    "retry_delays_ms": delays,
    "retry_jitter": share,
}


def option(name: str, key: str, metavar: str, text: str) -> Any:
    """One option of the policy, read as its kind is written."""
    return typer.Option(name, metavar=metavar, help=text, callback=or_none(READERS[key]))


MaxConcurrency = Annotated[
    str | None, option("--max-concurrency", "max_concurrency", "N", "So many leases at once.")
]
ReleaseInterval = Annotated[
    str | None,
    option(
        "--min-interval",
        "min_interval_ms",
        "TIME",
        "So long from one lease to the next: 100ms, 2s.",
    ),
]
Burst = Annotated[
    str | None, option("--burst", "burst", "N", "So many leases may come at once after a rest.")
]
MaxSize = Annotated[str | None, option("--max-size", "max_size", "N", "So many live messages.")]
WhenFull = Annotated[
    str | None,
    option("--when-full", "when_full", "reject|drop", "What becomes of messages beyond max-size."),
]
Weight = Annotated[
    str | None, option("--weight", "weight", "N", "So many messages each turn, 1 to 1000.")
]
MaxAttempts = Annotated[
    str | None,
    option("--max-attempts", "max_attempts", "N", "So many attempts before a message is dead."),
]
RetryDelays = Annotated[
    str | None,
    option(
        "--retry-delays",
        "retry_delays_ms",
        "TIMES",
        "Delays after the first failure, the second and so on: 1s,5s,1m.",
    ),
]
RetryJitter = Annotated[
    str | None,
    option("--retry-jitter", "retry_jitter", "SHARE", "Up to this share of a delay is added."),
]


def given_options(**texts: str | None) -> dict[str, Any]:
    """The options that were given, as the queue takes them."""
    return {
        key: None if text == "none" else READERS[key](text)
        for key, text in texts.items()
        if text is not None
    }
