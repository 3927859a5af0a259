"""Times of a schedule: from a cron line in a time zone, with daylight saving, or from an interval."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Protocol
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from lonnymq.errors import InvalidArgument
from lonnymq.results import MissedTicks

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
    def zone(self) -> str:
        """The zone of the cron line."""


def check_zone(zone: str) -> ZoneInfo:
    """Return a time zone by name."""
    try:
        return ZoneInfo(zone)
    except (KeyError, ValueError, OSError):
        raise InvalidArgument(
            f"unknown time zone {zone!r}: use a name like Europe/Berlin"
        ) from None


def check_cron(line: str, zone: str = "UTC") -> None:
    """Raise InvalidArgument if a cron line is wrong or never comes."""
    try:
        if len(line.split()) != FIELDS:
            raise CronSimError(f"{len(line.split())} fields")
        next(CronSim(line, datetime.now(check_zone(zone))))
    except CronSimError as error:
        raise InvalidArgument(
            f"{line!r} is not a cron line: {error}. Write five fields: minute, hour, day of the month, month, "
            "day of the week"
        ) from None
    except StopIteration:
        raise InvalidArgument(f"cron line {line!r} never comes") from None


def ticks_after(timetable: Timetable, moment: int) -> Iterator[int]:
    """Yield the ticks after a time, without end."""
    if timetable.every_ms is not None:
        every = timetable.every_ms
        tick = (moment // every + 1) * every
        while True:
            yield tick
            tick += every
    yield from cron_ticks(timetable, moment)


def ticks_before(timetable: Timetable, moment: int) -> Iterator[int]:
    """Yield the ticks up to a time, backwards."""
    if timetable.every_ms is not None:
        every = timetable.every_ms
        tick = moment // every * every
        while True:
            yield tick
            tick -= every
    for tick in cron_ticks(timetable, moment + 60_000, reverse=True):
        if tick <= moment:
            yield tick


def cron_ticks(timetable: Timetable, moment: int, *, reverse: bool = False) -> Iterator[int]:
    """Yield the times of a cron line after a time, or before it."""
    start = datetime.fromtimestamp(moment / 1000, UTC).astimezone(check_zone(timetable.zone))
    for tick in CronSim(timetable.cron or "", start, reverse=reverse):
        yield int(tick.timestamp()) * 1000


def next_tick(timetable: Timetable, moment: int) -> int | None:
    """Return the first tick after a time, or None if there is none for decades."""
    return next(ticks_after(timetable, moment), None)


def ticks_between(timetable: Timetable, start: int, end: int) -> list[int]:
    """Return the ticks after start up to end, at most the newest thousand."""
    newest: deque[int] = deque(maxlen=MAX_MISSED)
    for steps, tick in enumerate(ticks_after(timetable, start)):
        if tick > end:
            return list(newest)
        if steps >= MAX_STEPS:
            break
        newest.append(tick)
    else:
        return list(newest)
    newest.clear()
    for tick in ticks_before(timetable, end):
        if len(newest) == MAX_MISSED:
            break
        newest.appendleft(tick)
    return list(newest)


def ticks_to_create(timetable: Timetable, missed: MissedTicks, start: int, now: int) -> list[int]:
    """Return the ticks after start that get a message now: all punctual ticks, and missed ticks by the policy."""
    due = ticks_between(timetable, start, now)
    punctual = [tick for tick in due if tick >= now - PUNCTUAL_MS]
    if missed == "all":
        return due
    if missed == "once" and due and not punctual:
        return due[-1:]
    return punctual
