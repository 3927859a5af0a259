"""Which tenants a report shows in full: those that stand out in some way, in turn from every way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Any

LISTED = 10_000  # tenants have a line of their own; the others are added up
POINTS = 90_000  # of each series, all tenants together: as many tenants are shown in full as fit
FEWEST, MOST = 5, 120
STANDING_OUT = (
    "wait_p99",
    "attempts",
    "dead",
    "waiting_most",
    "failed",
    "wait_p50",
    "expired",
    "size",
)


def ranked(tenants: Sequence[dict[str, Any]], first: Iterable[tuple[str, str]] = ()) -> list[int]:
    """The places of all tenants: the named ones, then in turn those that lead by some figure, then by attempts."""
    place_of = {(each["source"], each["channel"]): place for place, each in enumerate(tenants)}
    order = dict.fromkeys(place_of[key] for key in first if key in place_of)
    lines = [leading(tenants, figure) for figure in STANDING_OUT]
    for row in zip_longest(*lines):
        order |= dict.fromkeys(place for place in row if place is not None)
    rest = sorted(range(len(tenants)), key=lambda place: -(tenants[place]["attempts"] or 0))
    return list(order | dict.fromkeys(rest))


def leading(tenants: Sequence[dict[str, Any]], figure: str) -> list[int]:
    """Those that have most of a figure, and any."""
    having = [place for place, each in enumerate(tenants) if each[figure]]
    return sorted(having, key=lambda place: -tenants[place][figure])[:MOST]


def how_many(points: int) -> int:
    """How many tenants may be shown in full, each with so many points."""
    return max(FEWEST, min(MOST, POINTS // max(1, points)))
