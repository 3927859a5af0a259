"""Times of a schedule: from a cron line in a time zone, with daylight saving, or from an interval."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Protocol
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from lonnymq.errors import InvalidArgument
from lonnymq.results import Misfire

MAX_MISSED = 1000
PUNCTUAL_MS = 60_000
MAX_STEPS = 20_000
FIELDS = 5  # cronsim would read seconds, too


class Timetable(Protocol):
    """The times of a schedule."""

    @property
    def cron(self) -> str | None:
        """A cron line, or None."""

    @property
    def every_ms(self) -> int | None:
        """An interval, or None."""

    @property
    def timezone(self) -> str:
        """The timezone of the cron line."""


def check_zone(timezone: str) -> ZoneInfo:
    """Return a time zone by name."""
    try:
        return ZoneInfo(timezone)
    except (KeyError, ValueError, OSError):
        raise InvalidArgument(
            f"unknown time zone {timezone!r}: use a name like Europe/Berlin"
        ) from None


def check_cron(line: str, timezone: str = "UTC") -> None:
    """Raise InvalidArgument if a cron line is wrong or never comes."""
    try:
        if len(line.split()) != FIELDS:
            raise CronSimError(f"{len(line.split())} fields")
        next(CronSim(line, datetime.now(check_zone(timezone))))
    except CronSimError as error:
        raise InvalidArgument(
            f"{line!r} is not a cron line: {error}. Write five fields: minute, hour, day of the month, month, "
            "day of the week"
        ) from None
    except StopIteration:
        raise InvalidArgument(f"cron line {line!r} never comes") from None


def runs_after(timetable: Timetable, moment: int) -> Iterator[int]:
    """Yield the runs after a time, without end."""
    if timetable.every_ms is not None:
        every = timetable.every_ms
        run = (moment // every + 1) * every
        while True:
            yield run
            run += every
    yield from cron_runs(timetable, moment)


def runs_before(timetable: Timetable, moment: int) -> Iterator[int]:
    """Yield the runs up to a time, backwards."""
    if timetable.every_ms is not None:
        every = timetable.every_ms
        run = moment // every * every
        while True:
            yield run
            run -= every
    for run in cron_runs(timetable, moment + 60_000, reverse=True):
        if run <= moment:
            yield run


def cron_runs(timetable: Timetable, moment: int, *, reverse: bool = False) -> Iterator[int]:
    """Yield the times of a cron line after a time, or before it."""
    start = datetime.fromtimestamp(moment / 1000, UTC).astimezone(check_zone(timetable.timezone))
    for run in CronSim(timetable.cron or "", start, reverse=reverse):
        yield int(run.timestamp()) * 1000


def next_run(timetable: Timetable, moment: int) -> int | None:
    """Return the first run after a time, or None if there is none for decades."""
    return next(runs_after(timetable, moment), None)


def ticks_between(timetable: Timetable, start: int, end: int) -> list[int]:
    """Return the runs after start up to end, at most the newest thousand."""
    newest: deque[int] = deque(maxlen=MAX_MISSED)
    for steps, run in enumerate(runs_after(timetable, start)):
        if run > end:
            return list(newest)
        if steps >= MAX_STEPS:
            break
        newest.append(run)
    else:
        return list(newest)
    newest.clear()
    for run in runs_before(timetable, end):
        if len(newest) == MAX_MISSED:
            break
        newest.appendleft(run)
    return list(newest)


def runs_to_create(timetable: Timetable, misfire: Misfire, start: int, now: int) -> list[int]:
    """Return the runs after start that get a message now: all punctual runs, and misfire runs by the policy."""
    due = ticks_between(timetable, start, now)
    punctual = [run for run in due if run >= now - PUNCTUAL_MS]
    if misfire == "all":
        return due
    if misfire == "once" and due and not punctual:
        return due[-1:]
    return punctual
