"""The highlights of a report: each rule checks the document and returns a sentence with a weight.

A weight is from 0 to 100: good news below 30, a problem to act on from 60. The report shows the three heaviest.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import Any

from lonnymq.text import (
    format_buckets,
    format_count,
    format_duration,
    format_ratio,
    format_share,
    format_time,
)

Document = dict[str, Any]
FAIR_INDEX = 0.8  # an hour with a lower index of Jain was unfair
LONG_WAIT_MS = 10_000
SOON_DAYS = 60
MAX_HIGHLIGHTS = 3


@dataclass(frozen=True)
class Highlight:
    """A headline, one or two sentences with numbers, and the section of the page with the details."""

    level: str
    title: str
    text: str
    section: str
    weight: float


def find_highlights(document: Document) -> list[Highlight]:
    """The highlights with the largest weights; none if the period has no attempts."""
    if not document["summary"]["attempts"]:
        return []
    found = [each for rule in RULES for each in rule(document)]
    found.sort(key=lambda each: -each.weight)
    return found[:MAX_HIGHLIGHTS]


def make_highlight(weight: float, title: str, text: str, section: str) -> Highlight:
    """A highlight with the level of its weight."""
    level = "bad" if weight >= 60 else "warn" if weight >= 30 else "good"
    return Highlight(level, title, text, section, min(weight, 100))


def tenant_name(row: dict[str, Any], document: Document) -> str:
    """A tenant's name; with its source where there are several."""
    one = len(document["sources"]) < 2
    return str(row["channel"]) if one else f"{row['channel']} ({row['source']})"


def check_dead_messages(document: Document) -> Iterable[Highlight]:
    """Dead messages, the tenant with most of them, and the most frequent error."""
    summary, tenants = document["summary"], document["tenants"]
    dead = summary["dead"]
    if not dead:
        text = "Every finished message was completed."
        yield make_highlight(4, "No dead messages", text, "errors")
        return
    worst = max(range(len(tenants["dead"])), key=lambda place: tenants["dead"][place])
    who = tenant_name({key: tenants[key][worst] for key in ("channel", "source")}, document)
    why = next((each for each in document["errors"] if each["dead"]), None)
    reason = f" The most frequent error is “{why['error']}”." if why else ""
    ended = max(1, summary["completed"] + dead)
    text = (
        f"{format_share(dead / ended)} of all finished messages. "
        f"{who} has {tenants['dead'][worst]:,} dead messages.{reason}"
    )
    yield make_highlight(
        45 + min(45, 1500 * dead / ended), f"{format_count(dead, 'message')} died", text, "errors"
    )


def check_waits(document: Document) -> Iterable[Highlight]:
    """The tenant with the longest waits, compared with the median tenant."""
    tenants = document["tenants"]
    waits = [(each, place) for place, each in enumerate(tenants["wait_p99"]) if each is not None]
    if not waits:
        return
    p99, place = max(waits)
    middle = sorted(waits)[(len(waits) - 1) // 2][0]
    who = tenant_name({key: tenants[key][place] for key in ("channel", "source")}, document)
    if p99 < LONG_WAIT_MS:
        text = f"{who} waited longest: 99% of the attempts began within {format_duration(p99)}."
        yield make_highlight(10, "Short waits for all tenants", text, "waits")
        return
    beside = (
        f", {format_ratio(p99 / middle)} as long as for the median tenant ({format_duration(middle)})"
        if middle and p99 > 1.5 * middle and len(waits) > 1
        else ""
    )
    text = (
        f"1% of the attempts waited {format_duration(p99)} or longer{beside}. "
        f"Half of the attempts began within {format_duration(tenants['wait_p50'][place])}."
    )
    yield make_highlight(40 + min(35, p99 / 60_000), f"{who} waited longest", text, "waits")


def check_noisy_neighbours(document: Document) -> Iterable[Highlight]:
    """A tenant with far more work than the others, and the waits of the others."""
    if not document["noisy"]:
        return
    first = document["noisy"][0]
    who, every = tenant_name(first, document), document["every_ms"]
    quiet, otherwise = first["quiet_wait_p95"], first["otherwise_wait_p95"]
    had = f"{who} had {format_share(first['share'])} of all work for {format_buckets(first['hours'], every)}."
    if quiet is None:
        text, weight = had, 30.0
    elif otherwise is None:
        text = (
            f"{had} Meanwhile the p95 wait of the median other tenant was {format_duration(quiet)}."
        )
        weight = 20 + min(50, quiet / 1_000)
    elif quiet > 2 * max(otherwise, 250):
        text = (
            f"{had} Meanwhile the p95 wait of the other tenants was {format_duration(quiet)}. "
            f"At other times the p95 wait was {format_duration(otherwise)}."
        )
        weight = 62 + min(25, quiet / 60_000)
    else:
        text = (
            f"{had} The p95 wait of the other tenants was {format_duration(quiet)}, "
            f"and {format_duration(otherwise)} at other times."
        )
        weight = 25.0
    yield make_highlight(weight, f"{who} is a noisy neighbour", text, "noisy")


def check_fairness(document: Document) -> Iterable[Highlight]:
    """Jain's index over time."""
    every = document["every_ms"]
    found = [
        (value, at)
        for series in document["fairness"].values()
        for value, at in zip(series["jain"], document["times"], strict=True)
        if value is not None
    ]
    if not found:
        return
    uneven = [each for each in found if each[0] < FAIR_INDEX]
    least, at = min(found)
    if not uneven:
        mean = sum(value for value, _ in found) / len(found)
        text = (
            f"The mean of Jain's index was {mean:.2f} over {format_buckets(len(found), every)} with competing tenants, "
            f"and never below {least:.2f}. 1 is perfectly fair."
        )
        yield make_highlight(12, "Tenants were served fairly", text, "fairness")
        return
    text = (
        f"Jain's index was below {FAIR_INDEX} in {len(uneven):,} of {format_buckets(len(found), every)} with competing "
        f"tenants. The lowest value was {least:.2f}, on {format_time(at)} UTC."
    )
    weight = 45 + 30 * len(uneven) / len(found) + 10 * (FAIR_INDEX - least)
    yield make_highlight(weight, "Tenants were not served fairly", text, "fairness")


def check_limits(document: Document) -> Iterable[Highlight]:
    """Tenants whose own limits held back waiting messages."""
    held = [each for each in document["limits"] if (each["waiting_meanwhile"] or 0) >= 1]
    if not held:
        return
    first = max(held, key=lambda each: each["waiting_meanwhile"])
    every, who = document["every_ms"], tenant_name(first, document)
    by_rate = first["hours_at_rate"] > first["hours_at_concurrency"]
    hours = first["hours_at_rate"] if by_rate else first["hours_at_concurrency"]
    limit = (
        f"the rate limit of 1 message in {format_duration(first['min_interval_ms'])}"
        if by_rate
        else f"the concurrency limit of {first['max_concurrency']:,}"
    )
    others = (
        f" The same holds for {format_count(len(held) - 1, 'other tenant')}."
        if len(held) > 1
        else ""
    )
    text = (
        f"{who} was at {limit} for {format_buckets(hours, every)}, while "
        f"{format_count(first['waiting_meanwhile'], 'message')} waited on average.{others} "
        "Raise the limit if the protected service can take more."
    )
    part = hours / max(1, len(document["times"]))
    yield make_highlight(38 + min(30, 40 * part), f"{who} reached a limit", text, "limits")


def check_starvation(document: Document) -> Iterable[Highlight]:
    """The longest wait of a tenant that had no attempts and was not at a limit."""
    free = [each for each in document["starvation"] if not each["is_held"]]
    longest = max(free, key=lambda each: each["length_ms"], default=None)
    if longest is None or longest["length_ms"] < 60_000:
        return
    who, length = tenant_name(longest, document), longest["length_ms"]
    since = format_time(longest["begins_at"])
    if longest["others"] == 0:
        text = (
            f"From {since} UTC messages of {who} waited for {format_duration(length)}, and no tenant was served. "
            "Check whether workers were running."
        )
        yield make_highlight(
            50 + min(40, length / 120_000), "No messages were processed", text, "starvation"
        )
        return
    text = (
        f"From {since} UTC messages of {who} waited for {format_duration(length)} without an attempt, "
        f"while other tenants got {format_count(longest['others'], 'attempt')}. "
        "No limit of the tenant explains the wait."
    )
    yield make_highlight(48 + min(25, length / 240_000), f"{who} was starved", text, "starvation")


def check_backlog(document: Document) -> Iterable[Highlight]:
    """The largest backlog, compared with the median."""
    waiting = [each or 0 for each in document["backlog"]["waiting_after"]]
    peak = max(waiting, default=0)
    if peak < 10 or len(waiting) < 3:
        return
    at = document["times"][waiting.index(peak)] + document["every_ms"]
    usual = sorted(waiting)[len(waiting) // 2]
    beside = f", {format_ratio(peak / usual)} the median backlog" if usual else ""
    text = f"The largest backlog was {format_count(peak, 'message')}, on {format_time(at)} UTC{beside}."
    yield make_highlight(
        min(38, 12 + 4 * peak / max(1, usual)), "The backlog peaked", text, "backlog"
    )


def check_capacity(document: Document) -> Iterable[Highlight]:
    """The day on which growing load reaches the capacity."""
    known = [each for each in document["forecast"] if each["full_on"] and each["error"] is not None]
    if not known:
        return
    first = max(known, key=lambda each: each["horizon_days"])
    left = (date.fromisoformat(first["full_on"]) - date.fromisoformat(first["last_day"])).days
    if left > SOON_DAYS:
        return
    at_least = "" if first["is_capacity_seen"] else "at least "
    text = (
        f"Load grows by {format_count(first['growth_a_day'], 'attempt')} per day. The capacity is {at_least}"
        f"{format_count(first['capacity_a_day'], 'attempt')} per day. "
        f"The mean error of past forecasts {format_count(first['horizon_days'], 'day')} ahead "
        f"is {format_share(first['error'])}."
    )
    title = f"Capacity is reached on {first['full_on']}" if left else "Capacity is reached"
    yield make_highlight(80 - left / 2 - 30 * min(1, first["error"]), title, text, "forecast")


def check_failures(document: Document) -> Iterable[Highlight]:
    """The share of failed attempts, and the most frequent error."""
    summary = document["summary"]
    bad = summary["failed"] + summary["expired"]
    part = bad / max(1, summary["attempts"])
    if part < 0.01 or not document["errors"]:
        return
    first = document["errors"][0]
    all_errors = sum(each["attempts"] for each in document["errors"])
    text = (
        f"{format_count(bad, 'attempt')} failed or expired. “{first['error']}” is "
        f"{format_share(first['attempts'] / all_errors)} of all errors, in {format_count(first['channels'], 'tenant')}."
    )
    yield make_highlight(
        28 + min(40, 100 * part),
        f"{format_share(part)} of all attempts failed or expired",
        text,
        "errors",
    )


RULES = (
    check_dead_messages,
    check_waits,
    check_noisy_neighbours,
    check_fairness,
    check_limits,
    check_starvation,
    check_backlog,
    check_capacity,
    check_failures,
)
