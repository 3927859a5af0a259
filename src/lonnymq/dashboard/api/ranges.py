"""The ranges of time that charts show: a span before now, or between two times."""

from __future__ import annotations

from dataclasses import dataclass

from lonnymq.dashboard.errors import invalid

HOUR_MS = 3_600_000
SPANS = {
    "quarter": (900_000, 10_000),
    "hour": (3_600_000, 10_000),
    "six_hours": (21_600_000, 60_000),
    "day": (86_400_000, 300_000),
}
MAX_POINTS = 360
MAX_AGE_MS = 25 * HOUR_MS  # samples are kept for so long


@dataclass(frozen=True, slots=True)
class Range:
    """The time that a chart shows, in steps."""

    from_at: int
    to_at: int
    step_ms: int


def find_range(
    now_at: int, span: str, start: int | None, end: int | None, *, least_ms: int = 10_000
) -> Range:
    """The range of a span before now, or between two times, in at most about 360 steps."""
    if start is None:
        span_ms, step_ms = SPANS[span]
        return Range(now_at - span_ms, now_at, max(step_ms, least_ms))
    to_at = min(end or now_at, now_at)
    from_at = max(start, now_at - MAX_AGE_MS)
    if to_at - from_at < least_ms:
        raise invalid(
            f"'end' must be {least_ms} ms or more after 'start', within the last 25 hours."
        )
    steps = -(-(to_at - from_at) // (MAX_POINTS * least_ms))
    return Range(from_at, to_at, steps * least_ms)
