"""The moments of a schedule: by cron line on the clocks of a zone, daylight saving and all, or by interval."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Protocol
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from lonnymq.errors import InvalidArgument
from lonnymq.results import MissedTicks

MOST_MISSED = 1000
PUNCTUAL_MS = 60_000
MOST_STEPS = 20_000
FIELDS = 5  # cronsim would read seconds, too


class Timetable(Protocol):
    """When a schedule ticks."""

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
    """The zone of this name."""
    try:
        return ZoneInfo(zone)
    except (KeyError, ValueError, OSError):
        raise InvalidArgument(
            f"there is no time zone {zone!r}: names are like Europe/Berlin"
        ) from None


def check_cron(line: str, zone: str = "UTC") -> None:
    """Refuse a line that cron would not take, or that never comes."""
    try:
        if len(line.split()) != FIELDS:
            raise CronSimError(f"{len(line.split())} fields")
        next(CronSim(line, datetime.now(check_zone(zone))))
    except CronSimError as error:
        raise InvalidArgument(
            f"{line!r} is no cron line: {error}; it has five fields: minute, hour, day of the month, month, "
            "day of the week"
        ) from None
    except StopIteration:
        raise InvalidArgument(f"the moment of the cron line {line!r} never comes") from None


def after(timetable: Timetable, moment: int) -> Iterator[int]:
    """The ticks after a moment, for ever."""
    if timetable.every_ms is not None:
        every = timetable.every_ms
        tick = (moment // every + 1) * every
        while True:
            yield tick
            tick += every
    yield from cron_ticks(timetable, moment)


def before(timetable: Timetable, moment: int) -> Iterator[int]:
    """The ticks up to a moment, back in time."""
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
    """The moments of a cron line after a moment, or before it."""
    start = datetime.fromtimestamp(moment / 1000, UTC).astimezone(check_zone(timetable.zone))
    for tick in CronSim(timetable.cron or "", start, reverse=reverse):
        yield int(tick.timestamp()) * 1000


def next_tick(timetable: Timetable, moment: int) -> int | None:
    """The first tick after a moment; None if there is none for decades."""
    return next(after(timetable, moment), None)


def between(timetable: Timetable, start: int, end: int) -> list[int]:
    """The ticks after start up to end; where there are many, the newest thousand."""
    newest: deque[int] = deque(maxlen=MOST_MISSED)
    for steps, tick in enumerate(after(timetable, start)):
        if tick > end:
            return list(newest)
        if steps >= MOST_STEPS:
            break
        newest.append(tick)
    else:
        return list(newest)
    newest.clear()
    for tick in before(timetable, end):
        if len(newest) == MOST_MISSED:
            break
        newest.appendleft(tick)
    return list(newest)


def to_create(timetable: Timetable, missed: MissedTicks, start: int, now: int) -> list[int]:
    """Which ticks after start get a message now: all that are punctual, and of the missed ones as the policy says."""
    due = between(timetable, start, now)
    punctual = [tick for tick in due if tick >= now - PUNCTUAL_MS]
    if missed == "all":
        return due
    if missed == "once" and due and not punctual:
        return due[-1:]
    return punctual
