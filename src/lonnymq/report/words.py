"""Numbers, lengths of time, shares and moments as a report's sentences say them."""

from __future__ import annotations

from datetime import UTC, datetime

UNITS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"))


def span(ms: float | None) -> str:
    """A length of time in its two largest units."""
    if ms is None:
        return "unknown"
    if ms < 1_000:
        return f"{round(ms)} ms"
    if ms < 10_000 and round(ms / 1_000, 1) % 1:
        return f"{ms / 1_000:.1f} s"
    left = round(ms / 1_000) * 1_000
    said: list[str] = []
    for size, unit in UNITS:
        number, left = divmod(left, size)
        if number or said:
            said.append(f"{number} {unit}" if number else "")
        if len(said) == 2:
            break
    return " ".join(filter(None, said))


def many(number: float, one: str, more: str | None = None) -> str:
    """So many of something."""
    return f"{number:,.0f} {one if number == 1 else more or one + 's'}"


def share(part: float) -> str:
    """A part of a whole in percent; no more digits than say something."""
    percent = 100 * part
    if percent and percent < 0.1:
        return "less than 0.1%"
    return f"{percent:.1f}%" if percent < 10 and round(percent, 1) % 1 else f"{percent:.0f}%"


def times(ratio: float) -> str:
    """How many times."""
    return f"{ratio:.1f} times" if ratio < 10 else f"{ratio:,.0f} times"


def moment(epoch_ms: int, *, seconds: bool = False) -> str:
    """A moment in UTC."""
    at = datetime.fromtimestamp(epoch_ms / 1000, UTC)
    return f"{at.day} {at:%b %Y, %H:%M:%S}" if seconds else f"{at.day} {at:%b %Y, %H:%M}"


def bucket_word(every_ms: int, number: float = 1) -> str:
    """What buckets of time are called: hours, minutes, or so many seconds."""
    known = {3_600_000: "hour", 60_000: "minute", 1_000: "second", 86_400_000: "day"}
    word = known.get(every_ms)
    if word:
        return word if number == 1 else f"{word}s"
    return f"stretches of {span(every_ms)}" if number != 1 else f"stretch of {span(every_ms)}"
