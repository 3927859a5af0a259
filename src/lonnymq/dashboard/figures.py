"""Figures as the page shows them: counted, estimated, or counted up to somewhere; and sentences about channels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Row = Mapping[str, Any]


def figure(value: int | None, *, exact: bool = True, at_least: bool = False) -> dict[str, Any]:
    """A number, and whether it was counted."""
    shown = {"value": value or 0, "exact": exact and not at_least}
    return {**shown, "at_least": True} if at_least else shown


def per_second(count: int | None, milliseconds: int | None) -> float | None:
    """So many in such a time, a second; unknown where either is."""
    if count is None or milliseconds is None or milliseconds <= 0:
        return None
    return round(count * 1000 / milliseconds, 3)


def jain(shares: Iterable[float]) -> float | None:
    """How evenly something is shared: 1 if all have the same, 1/n if one of n has all; unknown for fewer than two."""
    all_of_them = list(shares)
    squares = sum(each * each for each in all_of_them)
    if len(all_of_them) < 2 or squares == 0:
        return None
    return round(sum(all_of_them) ** 2 / (len(all_of_them) * squares), 4)


def channel_row(row: Row, *, dead: int = 0, estimate: int | None = None) -> dict[str, Any]:
    """One channel of `channel_active`, as the page shows it."""
    counted = row["counted_exactly"]
    waiting = figure(row["waiting"], at_least=not counted)
    if not counted and estimate is not None and estimate > row["waiting"]:
        waiting = figure(estimate, exact=False)
    return {
        "channel": row["channel"],
        "state": row["state"],
        "held": held(row),
        "waiting": waiting,
        "scheduled": figure(row["scheduled"], exact=counted),
        "running": row["in_flight"],
        "max_concurrency": row["max_concurrency"],
        "out_per_s": per_second(row["finished"], row["finished_ms"]),
        "rate_limit_per_s": per_second(1, row["release_interval_ms"]),
        "release_interval_ms": row["release_interval_ms"],
        "burst": row["burst"],
        "oldest_at": row["waiting_since"],
        "next_at": row["next_at"],
        "dead": figure(dead, at_least=dead >= MOST_DEAD),
        "weight": row["weight"],
        "max_size": row["max_size"],
        "paused": row["paused"],
        "releasing": row["releasing"],
    }


def held(row: Row) -> str | None:
    """Why a channel gives nothing out, or nothing in; None if nothing holds it."""
    match row["state"]:
        case "paused":
            return "It is paused: nothing is handed out until it is resumed."
        case "saturated":
            return (
                f"It is at its limit: {row['in_flight']} of {row['max_concurrency']} are running."
            )
        case "throttled":
            return f"It is at its rate limit: one every {row['release_interval_ms']} ms."
        case "scheduled":
            return "Its first message is due later."
        case "releasing":
            return "It is being released: it takes no new messages."
        case _:
            return None


def fairness(active: Iterable[Row]) -> dict[str, Any]:
    """How evenly turns went, by weight, among channels that had something to give and no limit to hold them."""
    backlogged = [
        row
        for row in active
        if row["state"] == "ready"
        and row["waiting"] > 0
        and row["max_concurrency"] is None
        and row["release_interval_ms"] is None
        and row["finished"] is not None
    ]
    return {
        "jain": jain(row["finished"] / row["weight"] for row in backlogged),
        "channels": len(backlogged),
        "attempts": sum(row["finished"] for row in backlogged),
    }


MOST_DEAD = 1000
