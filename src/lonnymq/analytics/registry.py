"""The figures that are kept in a lake, each with its columns and with the days of history that it looks at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame

from lonnymq.analytics.error_groups import errors
from lonnymq.analytics.flow import flow
from lonnymq.analytics.histogram import pulse, spreads
from lonnymq.analytics.outcomes_hourly import hourly
from lonnymq.analytics.schemas import ERRORS, FLOW, HOURLY, PULSE, SPREADS, STARVATION
from lonnymq.analytics.starvation import starvation
from lonnymq.analytics.time_buckets import HOUR_MS


@dataclass(frozen=True)
class Part:
    """A figure that is kept: attempts in, declared columns out, by day.

    One that looks around also takes what was begun on its days and ended on the day after, and in `before` the
    dequeues of the day before.
    """

    name: str
    columns: str
    make: Callable[..., DataFrame]
    looks_around: bool = False


def parts(every_ms: int = HOUR_MS) -> tuple[Part, ...]:
    """All of them, in buckets of that length; those in the lake are of an hour."""
    return (
        Part("flow", FLOW, lambda rows: flow(rows, every_ms=every_ms)),
        Part("hourly", HOURLY, lambda rows: hourly(rows, every_ms=every_ms)),
        Part("spreads", SPREADS, spreads),
        Part("pulse", PULSE, lambda rows: pulse(rows, every_ms=every_ms)),
        Part("errors", ERRORS, errors),
        Part("starvation", STARVATION, starvation, looks_around=True),
    )
