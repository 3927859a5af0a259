"""Spans of time and tenants' names as they are drawn and written into pages."""

from __future__ import annotations

from unicodedata import east_asian_width

UNITS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"))


def span(ms: float) -> str:
    """A span of time in its largest unit, with a decimal where that says more."""
    for size, unit in UNITS:
        if ms >= size:
            many = ms / size
            return f"{many:.0f} {unit}" if many >= 10 or many == int(many) else f"{many:.1f} {unit}"
    return f"{ms:.0f} ms"


def shortened(text: str, most: int) -> str:
    """The text with its control characters spelled out, which XML cannot write; cut where it is wider than that."""
    kept, wide = "", 0
    for each in text:
        shown = each if each.isprintable() else each.encode("unicode_escape").decode()
        wide += sum(2 if east_asian_width(letter) in "WF" else 1 for letter in shown)
        if wide > most:
            return f"{kept.rstrip()}…"
        kept += shown
    return kept
