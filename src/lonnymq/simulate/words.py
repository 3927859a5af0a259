"""Spans of time and tenants' names as they are drawn and written into pages."""

from __future__ import annotations

UNITS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"))


def span(ms: float) -> str:
    """A span of time in its largest unit, with a decimal where that says more."""
    for size, unit in UNITS:
        if ms >= size:
            many = ms / size
            return f"{many:.0f} {unit}" if many >= 10 or many == int(many) else f"{many:.1f} {unit}"
    return f"{ms:.0f} ms"


def shortened(text: str, most: int) -> str:
    """The text with its control characters spelled out, which XML has no way to write; cut if it is long."""
    shown = "".join(
        each if each.isprintable() else each.encode("unicode_escape", "backslashreplace").decode()
        for each in text[: most + 1]
    )
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"
