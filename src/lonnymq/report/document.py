"""What a report's page shows, gathered from the figures of a period: numbers in columns, ready for JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import zip_longest
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from lonnymq.analytics.cache import kept
from lonnymq.analytics.histogram import merged
from lonnymq.analytics.period import Period
from lonnymq.report.highlights import things
from lonnymq.report.tables import (
    Rows,
    added,
    aligned,
    by_source,
    columnar,
    details,
    millis,
    rows_of,
    times_of,
)

FORMAT = 1
DAY_MS = 86_400_000
WORK = ("arrivals", "due", "ended", "waiting_after", "running_mean")
EVENNESS = ("jain", "competing", "backlogged", "held")
NOISE = ("noisy", "noisy_work", "quiet_work")
STARVED, ERRORS, LIMITED, NOISY, STACKED = 60, 40, 200, 50, 7
SUMMED = (
    "arrivals",
    "attempts",
    "completed",
    "deferred",
    "failed",
    "expired",
    "dead",
    "retries",
    "size",
)


def gather(period: Period, *, source: str | None = None) -> dict[str, Any]:
    """Everything that the page shows."""
    with kept(period.hours, period.kept["pulse"]):
        document = gathered(period, source)
    return document | {"things": [vars(each) for each in things(document)]}


def gathered(period: Period, source: str | None) -> dict[str, Any]:
    """Everything but what is to be said of it."""
    frames, times = period.frames, times_of(period)
    tenants = rows_of(frames["tenants"])
    starved = rows_of(frames["starvation"].orderBy(F.desc("length_ms")).limit(STARVED))
    limits = reached(rows_of(frames["limits"]))
    noisy = sorted(rows_of(frames["noisy"]), key=lambda each: -each["hours"] * each["share"])
    waited = sorted(tenants, key=lambda each: -(each["waiting_mean"] or 0))[:STACKED]
    first = (*waited, *starved[:5], *limits[:5], *noisy[:5])
    order = ranked(tenants, [(each["source"], each["channel"]) for each in first])
    listed = [tenants[place] for place in order[:LISTED]]
    detailed = [(each["source"], each["channel"]) for each in listed[: how_many(len(times))]]
    series = details(period.hours, detailed, times)
    all_work = added(frames["backlog"], times, sums=WORK)
    return {
        "format": FORMAT,
        "made_at": round(datetime.now(UTC).timestamp() * 1000),
        "begin": millis(period.begin),
        "end": millis(period.end),
        "every_ms": period.every_ms,
        "source": source,
        "sources": sorted({each["source"] for each in tenants}),
        "times": times,
        "summary": summary(period, tenants),
        "tenants": columnar(listed),
        "rest": rest(tenants, order[LISTED:]),
        "details": series,
        "waits": waits(period, times),
        "backlog": stacked(all_work, listed, series, times),
        "fairness": by_source(frames["fairness"], times, EVENNESS),
        "noise": added(frames["noise"], times, sums=NOISE, most=("quiet_wait_p95",)),
        "noisy": noisy[:NOISY],
        "limits": limits[:LIMITED],
        "limits_reached": len(limits),
        "starvation": starved,
        "errors": errors(frames["errors"]),
        "forecast": rows_of(frames["forecast"].orderBy("source", "horizon_days")),
        "days": days(all_work, times),
    }


def summary(period: Period, tenants: Rows) -> dict[str, Any]:
    """The whole period in a handful of numbers."""
    whole = rows_of(merged(period.during("pulse").withColumn("all", F.lit(1)), "all"))
    known = {key: value for key, value in (whole[0] if whole else {}).items() if "_p" in key}
    return {
        "tenants": len(tenants),
        **{name: sum(each[name] or 0 for each in tenants) for name in SUMMED},
        **{
            f"{name}_{part}": known.get(f"{name}_{part}")
            for name in ("wait", "service")
            for part in ("p50", "p95", "p99")
        },
        "wait_most": max((each["wait_most"] or 0 for each in tenants), default=None),
    }


def rest(tenants: Rows, places: Sequence[int]) -> dict[str, Any] | None:
    """Those without a line of their own, added up."""
    if not places:
        return None
    return {
        "tenants": len(places),
        **{name: sum(tenants[place][name] or 0 for place in places) for name in SUMMED},
    }


def waits(period: Period, times: list[int]) -> dict[str, list[Any]]:
    """Waits of all tenants and sources together, over time."""
    rows = rows_of(merged(period.during("pulse"), "begins_at"))
    return aligned(rows, times, ("wait_p50", "wait_p95", "wait_p99", "service_p50", "service_p95"))


def stacked(
    found: dict[str, list[Any]], tenants: Rows, series: list[dict[str, Any]], times: list[int]
) -> dict[str, Any]:
    """What waited in all, and in the lines of those tenants that had most of it."""
    places = sorted(range(len(series)), key=lambda place: -(tenants[place]["waiting_mean"] or 0))
    top = [
        {
            "source": tenants[place]["source"],
            "channel": tenants[place]["channel"],
            "waiting_after": [
                each or 0 for each in series[place].get("waiting_after", [0] * len(times))
            ],
        }
        for place in places[:STACKED]
        if tenants[place]["waiting_mean"]
    ]
    return {**found, "top": top}


def reached(rows: Rows) -> Rows:
    """Limits that were reached, the longest first."""

    def for_long(each: dict[str, Any]) -> int:
        return int(each["hours_at_concurrency"] + each["hours_at_rate"])

    return sorted(
        (each for each in rows if for_long(each)),
        key=lambda each: (-for_long(each), -(each["waiting_meanwhile"] or 0), each["channel"]),
    )


def errors(frame: DataFrame) -> Rows:
    """Errors over all channels, the most frequent first, each with the channel that met it most."""
    each = frame.groupBy("source", "channel", "error").agg(
        *(F.sum(name).alias(name) for name in ("attempts", "dead")),
        F.min("first_at").alias("first_at"),
        F.max("last_at").alias("last_at"),
        F.min("sample").alias("sample"),
    )
    found = each.groupBy("error").agg(
        *(F.sum(name).alias(name) for name in ("attempts", "dead")),
        F.min("first_at").alias("first_at"),
        F.max("last_at").alias("last_at"),
        F.min("sample").alias("sample"),
        F.count("channel").alias("channels"),
        F.max_by("channel", "attempts").alias("channel"),
        F.max_by("source", "attempts").alias("source"),
    )
    return rows_of(found.orderBy(F.desc("attempts"), "error").limit(ERRORS))


def days(found: dict[str, list[Any]], times: list[int]) -> Rows:
    """What became due and ended on each day, for the picture of the forecast."""
    by_day: dict[int, dict[str, Any]] = {}
    for at, due, ended in zip(times, found["due"], found["ended"], strict=True):
        midnight = at // DAY_MS * DAY_MS
        day = by_day.setdefault(midnight, {"day": midnight, "due": 0, "ended": 0})
        day["due"] += due or 0
        day["ended"] += ended or 0
    return list(by_day.values())


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
