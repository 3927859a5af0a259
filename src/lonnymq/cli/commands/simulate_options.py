"""The options of `lonnymq simulate`, and how their values are read."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import typer

T = TypeVar("T", int, float)

TRY, RECORDED, MADE_UP = "What to try", "What was recorded", "What is made up"
LAST = datetime(9000, 1, 1, tzinfo=UTC)

Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="CHANNEL.OPTION=VALUE",
        help="A limit to try; * is every channel, and several values, 2,4,8, are tried one by one.",
        rich_help_panel=TRY,
    ),
]
Workers = Annotated[
    str | None,
    typer.Option(
        metavar="N,N,...",
        help="How many messages are worked on at once, to compare; else as many as there were, or 16.",
        rich_help_panel=TRY,
    ),
]
Growth = Annotated[
    str,
    typer.Option(
        metavar="X,X,...",
        help="How many times the messages come, to compare: 1.5 is half as many again.",
        rich_help_panel=TRY,
    ),
]
Seed = Annotated[
    int,
    typer.Option(
        help="The same seed makes the same workload, and the same growth.", rich_help_panel=TRY
    ),
]
Picture = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Draw the answer into a file: .svg, or .html with tables.",
        rich_help_panel=TRY,
    ),
]
Spark = Annotated[
    str | None,
    typer.Option(
        metavar="MASTER",
        help="Try the scenarios on Spark, say local[2] or spark://host:7077; else here, or where they "
        "are many on local[*]; never: here.",
        rich_help_panel=TRY,
    ),
]
LakePath = Annotated[
    str | None,
    typer.Option(
        "--lake",
        metavar="PATH",
        help="The lake whose history is replayed; with --synthetic, the one that it is written to.",
        rich_help_panel=RECORDED,
    ),
]
Source = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Whose history, if the lake has several's.", rich_help_panel=RECORDED
    ),
]
From = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="DAY",
        help="The first day, or moment, from which on what came is counted.",
        rich_help_panel=RECORDED,
    ),
]
To = Annotated[
    str | None,
    typer.Option(
        "--to",
        metavar="DAY",
        help="The last day, or the moment before which what came is counted.",
        rich_help_panel=RECORDED,
    ),
]
RecordedWorkers = Annotated[
    int | None,
    typer.Option(
        help="How many messages could be worked on at once; else what was at the busiest moment.",
        min=1,
        rich_help_panel=RECORDED,
    ),
]
MostOff = Annotated[
    float,
    typer.Option(
        help="By which part the replay at the recorded settings may be off before it is rejected.",
        min=0,
        rich_help_panel=RECORDED,
    ),
]
Synthetic = Annotated[
    bool,
    typer.Option("--synthetic", help="Make a workload up, from --seed.", rich_help_panel=MADE_UP),
]
Tenants = Annotated[
    int,
    typer.Option(help="How many tenants there are.", min=1, max=100_000, rich_help_panel=MADE_UP),
]
Messages = Annotated[
    int,
    typer.Option(
        help="How many messages they send.", min=1, max=1_000_000_000, rich_help_panel=MADE_UP
    ),
]
Days = Annotated[
    int | None,
    typer.Option(
        help="With --lake: let Spark make so many days of history up, for scale, without a replay.",
        min=1,
        max=10_000,
        rich_help_panel=MADE_UP,
    ),
]
Load = Annotated[
    float,
    typer.Option(
        help="For which part of the time the first number of workers is busy.",
        min=0.01,
        rich_help_panel=MADE_UP,
    ),
]
Noisy = Annotated[
    float,
    typer.Option(
        help="Which part of all messages one tenant sends.", min=0, max=1, rich_help_panel=MADE_UP
    ),
]
Failing = Annotated[
    float,
    typer.Option(help="Which part of all attempts fails.", min=0, max=1, rich_help_panel=MADE_UP),
]
Deferring = Annotated[
    float,
    typer.Option(
        help="Which part of all attempts is deferred.", min=0, max=1, rich_help_panel=MADE_UP
    ),
]
Arrivals = Annotated[
    Literal["steady", "bursts", "daily"],
    typer.Option(help="How messages come.", rich_help_panel=MADE_UP),
]
Service = Annotated[
    Literal["fixed", "exponential", "heavy"],
    typer.Option(help="How their times of work differ.", rich_help_panel=MADE_UP),
]
ServiceMs = Annotated[
    int,
    typer.Option(
        help="How many milliseconds of work a message is, on average.",
        min=1,
        max=86_400_000,
        rich_help_panel=MADE_UP,
    ),
]


def crews_of(text: str) -> list[int]:
    """The numbers of workers to compare."""
    return numbers(text, int, 1_000_000, "--workers are whole numbers from 1, like 8,16,32")


def growths_of(text: str) -> list[float]:
    """How many times the messages come."""
    return numbers(text, float, 1000, "--growth are numbers from 0.001 to 1000, like 1,1.5,2")


def numbers(text: str, kind: Callable[[str], T], most: float, advice: str) -> list[T]:
    """Numbers with commas between them, each once."""
    least = 1 if kind is int else 0.001
    try:
        found = list(dict.fromkeys(kind(each) for each in text.split(",")))
    except ValueError:
        found = []
    if not found or not all(least <= each <= most for each in found):
        raise typer.BadParameter(f"{advice}: not {text!r}")
    return found


def epoch_ms(text: str | None, name: str, *, is_last: bool = False) -> int | None:
    """A day or a moment in epoch milliseconds, in UTC where no zone is given; of the last day, its end."""
    if text is None:
        return None
    try:
        if re.fullmatch(r"\s*\d{9,}\s*", text):
            read = datetime.fromtimestamp(int(text) / 1000, UTC)
        else:
            read = datetime.fromisoformat(text.strip())
    except (ValueError, OverflowError, OSError):
        read = LAST
    read = read.replace(tzinfo=UTC) if read.tzinfo is None else read
    if read >= LAST:
        raise typer.BadParameter(
            f"{name}: {text!r} is no day and no moment: write 2030-01-31, or 2030-01-31T08:00"
        )
    if is_last and re.fullmatch(r"\s*\d{4}-\d\d-\d\d\s*", text):
        read += timedelta(days=1)
    return round(read.timestamp() * 1000)
