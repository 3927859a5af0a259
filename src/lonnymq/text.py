"""Durations, counts, shares and times as text for people; used by the command line, the report and the simulator."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from unicodedata import east_asian_width

NOTHING = "-"
UNITS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"))
UNIT_MS = {"ms": 1, "s": 1_000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|min|m|h|d)")
BUCKETS = {86_400_000: "day", 3_600_000: "hour", 60_000: "minute", 1_000: "second"}


def format_duration(ms: float | None) -> str:
    """A duration in its two largest units."""
    if ms is None:
        return NOTHING
    if ms < 0:
        return f"-{format_duration(-ms)}"
    if ms < 1_000:
        return f"{round(ms)} ms"
    if ms < 10_000 and round(ms / 1_000, 1) % 1:
        return f"{ms / 1_000:.1f} s"
    left = round(ms / 1_000) * 1_000
    parts: list[str] = []
    for size, unit in UNITS:
        number, left = divmod(left, size)
        if number or parts:
            parts.append(f"{number} {unit}" if number else "")
        if len(parts) == 2:
            break
    return " ".join(filter(None, parts))


def parse_duration(text: str) -> int:
    """Milliseconds of a duration like 250ms, 1.5s, 10m, 2h, 1d or 1h30m; a number without a unit raises ValueError."""
    if text.strip() == "0":
        return 0
    if not re.fullmatch(rf"(?:\s*{DURATION.pattern})+\s*", text):
        raise ValueError(f"'{text}' is not a duration: write 250ms, 1.5s, 10m, 2h or 1d")
    return round(sum(float(number) * UNIT_MS[unit] for number, unit in DURATION.findall(text)))


def format_count(number: float, noun: str) -> str:
    """A number with its noun: '1 message', '1,200 messages'."""
    return f"{number:,.0f} {noun}{'' if number == 1 else 's'}"


def format_share(share: float) -> str:
    """A part of a whole in percent, with a decimal only below 10%."""
    percent = 100 * share
    if percent and percent < 0.1:
        return "less than 0.1%"
    return f"{percent:.1f}%" if percent < 10 and round(percent, 1) % 1 else f"{percent:.0f}%"


def format_ratio(ratio: float) -> str:
    """How many times as much: '1.5 times'."""
    return f"{ratio:.1f} times" if ratio < 10 else f"{ratio:,.0f} times"


def format_time(epoch_ms: int, *, seconds: bool = False) -> str:
    """A time in UTC: '31 Jan 2030, 08:00'."""
    at = datetime.fromtimestamp(epoch_ms / 1000, UTC)
    return f"{at.day} {at:%b %Y, %H:%M:%S}" if seconds else f"{at.day} {at:%b %Y, %H:%M}"


def format_buckets(count: int, bucket_ms: int) -> str:
    """A number of time buckets: '3 hours', '2 intervals of 5 min'."""
    if bucket_ms in BUCKETS:
        return format_count(count, BUCKETS[bucket_ms])
    return f"{format_count(count, 'interval')} of {format_duration(bucket_ms)}"


def shorten(text: str, width: int) -> str:
    """The text with control characters escaped, which XML cannot hold, and cut to a width in columns."""
    kept, used = "", 0
    for each in text:
        shown = each if each.isprintable() else each.encode("unicode_escape").decode()
        used += sum(2 if east_asian_width(letter) in "WF" else 1 for letter in shown)
        if used > width:
            return f"{kept.rstrip()}…"
        kept += shown
    return kept
