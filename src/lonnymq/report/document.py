"""The document of a report: the data of the page, collected from the tables of a period, ready for JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import zip_longest
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from lonnymq.analytics.aggregates import merge_percentiles
from lonnymq.analytics.period import Period, cached
from lonnymq.report.highlights import find_highlights
from lonnymq.report.tables import (
    Rows,
    align,
    collect_details,
    collect_rows,
    list_times,
    split_by_source,
    sum_sources,
    to_columns,
    to_epoch_ms,
)

FORMAT = 1
DAY_MS = 86_400_000
BACKLOG_COLUMNS = ("arrivals", "due", "ended", "waiting_after", "running_mean")
FAIRNESS_COLUMNS = ("jain", "competing", "backlogged", "held")
NOISE_COLUMNS = ("noisy", "noisy_work", "quiet_work")
MAX_STARVATION, MAX_ERRORS, MAX_LIMITS, MAX_NOISY, MAX_STACKED = 60, 40, 200, 50, 7
SUMMED_COLUMNS = (
    "arrivals", "attempts", "completed", "deferred", "failed", "expired", "dead", "retries", "size",
)  # fmt: skip
MAX_LISTED = 10_000  # tenants have a line of their own; the others are added up
# Of each series, all tenants together: as many tenants are shown in full as fit.
MAX_POINTS = 90_000
MIN_DETAILED, MAX_DETAILED = 5, 120
RANKED_BY = (
    "wait_p99", "attempts", "dead", "waiting_most", "failed", "wait_p50", "expired", "size",
)  # fmt: skip


def build_document(period: Period, *, source: str | None = None) -> dict[str, Any]:
    """The data of the page."""
    with cached(period.channel_hours, period.aggregates["hourly_histograms"]):
        document = collect_tables(period, source)
    return document | {"highlights": [vars(each) for each in find_highlights(document)]}


def collect_tables(period: Period, source: str | None) -> dict[str, Any]:
    """The data of the page without highlights."""
    frames, times = period.frames, list_times(period)
    tenants = collect_rows(frames["tenants"])
    starved = collect_rows(frames["starvation"].orderBy(F.desc("length_ms")).limit(MAX_STARVATION))
    limits = sort_reached_limits(collect_rows(frames["limits"]))
    noisy = sorted(
        collect_rows(frames["noisy_neighbours"]), key=lambda each: -each["hours"] * each["share"]
    )
    waited = sorted(tenants, key=lambda each: -(each["waiting_mean"] or 0))[:MAX_STACKED]
    first = (*waited, *starved[:5], *limits[:5], *noisy[:5])
    order = rank_tenants(tenants, [(each["source"], each["channel"]) for each in first])
    listed = [tenants[place] for place in order[:MAX_LISTED]]
    detailed = [(each["source"], each["channel"]) for each in listed[: max_detailed(len(times))]]
    series = collect_details(period.channel_hours, detailed, times)
    all_work = sum_sources(frames["backlog"], times, sums=BACKLOG_COLUMNS)
    return {
        "format": FORMAT,
        "made_at": round(datetime.now(UTC).timestamp() * 1000),
        "begin": to_epoch_ms(period.begin),
        "end": to_epoch_ms(period.end),
        "every_ms": period.every_ms,
        "source": source,
        "sources": sorted({each["source"] for each in tenants}),
        "times": times,
        "summary": summarize(period, tenants),
        "tenants": to_columns(listed),
        "rest": sum_unlisted(tenants, order[MAX_LISTED:]),
        "details": series,
        "waits": collect_waits(period, times),
        "backlog": collect_backlog(all_work, listed, series, times),
        "fairness": split_by_source(frames["fairness"], times, FAIRNESS_COLUMNS),
        "noise": sum_sources(
            frames["noisy_hours"], times, sums=NOISE_COLUMNS, most=("quiet_wait_p95",)
        ),
        "noisy": noisy[:MAX_NOISY],
        "limits": limits[:MAX_LIMITS],
        "limits_reached": len(limits),
        "starvation": starved,
        "errors": collect_errors(frames["errors"]),
        "forecast": collect_rows(frames["forecast"].orderBy("source", "horizon_days")),
        "days": sum_by_day(all_work, times),
    }


def summarize(period: Period, tenants: Rows) -> dict[str, Any]:
    """Totals of the whole period."""
    whole = collect_rows(
        merge_percentiles(period.during("hourly_histograms").withColumn("all", F.lit(1)), "all")
    )
    known = {key: value for key, value in (whole[0] if whole else {}).items() if "_p" in key}
    return {
        **sum_tenants(tenants),
        **{
            f"{name}_{part}": known.get(f"{name}_{part}")
            for name in ("wait", "service")
            for part in ("p50", "p95", "p99")
        },
        "wait_most": max((each["wait_most"] or 0 for each in tenants), default=None),
    }


def sum_unlisted(tenants: Rows, places: Sequence[int]) -> dict[str, Any] | None:
    """The sum of tenants without a row."""
    return sum_tenants([tenants[place] for place in places]) if places else None


def sum_tenants(tenants: Rows) -> dict[str, Any]:
    """The number of tenants, and the sums of their columns."""
    sums = {name: sum(each[name] or 0 for each in tenants) for name in SUMMED_COLUMNS}
    return {"tenants": len(tenants), **sums}


def collect_waits(period: Period, times: list[int]) -> dict[str, list[Any]]:
    """Waits of all tenants and sources together, over time."""
    rows = collect_rows(merge_percentiles(period.during("hourly_histograms"), "begins_at"))
    return align(rows, times, ("wait_p50", "wait_p95", "wait_p99", "service_p50", "service_p95"))


def collect_backlog(
    found: dict[str, list[Any]], tenants: Rows, series: list[dict[str, Any]], times: list[int]
) -> dict[str, Any]:
    """The backlog of all tenants, and of those with the largest."""
    places = sorted(range(len(series)), key=lambda place: -(tenants[place]["waiting_mean"] or 0))
    top = [
        {
            "source": tenants[place]["source"],
            "channel": tenants[place]["channel"],
            "waiting_after": [
                each or 0 for each in series[place].get("waiting_after", [0] * len(times))
            ],
        }
        for place in places[:MAX_STACKED]
        if tenants[place]["waiting_mean"]
    ]
    return {**found, "top": top}


def sort_reached_limits(rows: Rows) -> Rows:
    """Reached limits, the longest first."""

    def for_long(each: dict[str, Any]) -> int:
        return int(each["hours_at_concurrency"] + each["hours_at_rate"])

    return sorted(
        (each for each in rows if for_long(each)),
        key=lambda each: (-for_long(each), -(each["waiting_meanwhile"] or 0), each["channel"]),
    )


def collect_errors(frame: DataFrame) -> Rows:
    """The most frequent errors over all channels, each with its main channel."""
    sums = (
        *(F.sum(name).alias(name) for name in ("attempts", "dead")),
        F.min("first_at").alias("first_at"),
        F.max("last_at").alias("last_at"),
        F.min("sample").alias("sample"),
    )
    each = frame.groupBy("source", "channel", "error").agg(*sums)
    found = each.groupBy("error").agg(
        *sums,
        F.count("channel").alias("channels"),
        F.max_by("channel", "attempts").alias("channel"),
        F.max_by("source", "attempts").alias("source"),
    )
    return collect_rows(found.orderBy(F.desc("attempts"), "error").limit(MAX_ERRORS))


def sum_by_day(found: dict[str, list[Any]], times: list[int]) -> Rows:
    """Due and finished attempts of each day, for the forecast chart."""
    by_day: dict[int, dict[str, Any]] = {}
    for at, due, ended in zip(times, found["due"], found["ended"], strict=True):
        midnight = at // DAY_MS * DAY_MS
        day = by_day.setdefault(midnight, {"day": midnight, "due": 0, "ended": 0})
        day["due"] += due or 0
        day["ended"] += ended or 0
    return list(by_day.values())


def rank_tenants(
    tenants: Sequence[dict[str, Any]], first: Iterable[tuple[str, str]] = ()
) -> list[int]:
    """Rank all tenants: those named first, then the leaders of each column in turn, then by attempts."""
    place_of = {(each["source"], each["channel"]): place for place, each in enumerate(tenants)}
    order = dict.fromkeys(place_of[key] for key in first if key in place_of)
    lines = [find_leading(tenants, column) for column in RANKED_BY]
    for row in zip_longest(*lines):
        order |= dict.fromkeys(place for place in row if place is not None)
    rest = sorted(range(len(tenants)), key=lambda place: -(tenants[place]["attempts"] or 0))
    return list(order | dict.fromkeys(rest))


def find_leading(tenants: Sequence[dict[str, Any]], column: str) -> list[int]:
    """The tenants with the largest positive values of a column."""
    having = [place for place, each in enumerate(tenants) if each[column]]
    return sorted(having, key=lambda place: -tenants[place][column])[:MAX_DETAILED]


def max_detailed(points: int) -> int:
    """The number of tenants with time series, so that a page stays small."""
    return max(MIN_DETAILED, min(MAX_DETAILED, MAX_POINTS // max(1, points)))
