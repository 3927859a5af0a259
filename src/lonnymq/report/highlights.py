"""The three things to look at: each rule looks at the figures and says a sentence, and how much it matters.

A rule's weight is from 0 to 100: below 30 it is good news, from 60 on somebody should act. The three heaviest are
shown, each of another subject.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
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
FAIR_INDEX = 0.8  # Jain's index below which those who waited were not served alike
LONG_WAIT_MS = 10_000
SOON_DAYS = 60
MAX_HIGHLIGHTS = 3


@dataclass(frozen=True)
class Highlight:
    """One thing to look at: a headline, a sentence or two with the numbers, and the section that shows it."""

    level: str
    title: str
    text: str
    section: str
    weight: float


def find_highlights(document: Document) -> list[Highlight]:
    """The three that matter most; none if there was nothing at all."""
    if not document["summary"]["attempts"]:
        return []
    found = [each for rule in RULES for each in rule(document)]
    found.sort(key=lambda each: -each.weight)
    return found[:MAX_HIGHLIGHTS]


def make_highlight(weight: float, title: str, text: str, section: str) -> Highlight:
    """A thing whose level is that of its weight."""
    level = "bad" if weight >= 60 else "warn" if weight >= 30 else "good"
    return Highlight(level, title, text, section, min(weight, 100))


def tenant_name(row: dict[str, Any], document: Document) -> str:
    """A tenant's name; with its source where there are several."""
    one = len(document["sources"]) < 2
    return str(row["channel"]) if one else f"{row['channel']} ({row['source']})"


def check_dead_messages(document: Document) -> Iterable[Highlight]:
    """Messages that are out of attempts."""
    summary, tenants = document["summary"], document["tenants"]
    dead = summary["dead"]
    if not dead:
        yield make_highlight(
            4,
            "No message died",
            "Every message that was tried was completed, or may still be.",
            "errors",
        )
        return
    worst = max(range(len(tenants["dead"])), key=lambda place: tenants["dead"][place])
    who = tenant_name({key: tenants[key][worst] for key in ("channel", "source")}, document)
    why = next((each for each in document["errors"] if each["dead"]), None)
    said = f" The error met most often is “{why['error']}”." if why else ""
    ended = max(1, summary["completed"] + dead)
    text = (
        f"{format_share(dead / ended)} of the messages that ended. "
        f"{who} has {tenants['dead'][worst]:,} of them.{said}"
    )
    yield make_highlight(
        45 + min(45, 1500 * dead / ended), f"{format_count(dead, 'message')} died", text, "errors"
    )


def check_waits(document: Document) -> Iterable[Highlight]:
    """The tenant that waited longest, beside the middle one."""
    tenants = document["tenants"]
    waits = [(each, place) for place, each in enumerate(tenants["wait_p99"]) if each is not None]
    if not waits:
        return
    p99, place = max(waits)
    middle = sorted(waits)[(len(waits) - 1) // 2][0]
    who = tenant_name({key: tenants[key][place] for key in ("channel", "source")}, document)
    if p99 < LONG_WAIT_MS:
        text = f"Even {who}, which waited longest, had 99% of its attempts begun within {format_duration(p99)}."
        yield make_highlight(10, "Nobody waited long", text, "waits")
        return
    beside = (
        f", {format_ratio(p99 / middle)} as long as the middle tenant ({format_duration(middle)})"
        if middle and p99 > 1.5 * middle and len(waits) > 1
        else ""
    )
    text = (
        f"One in a hundred of its attempts waited {format_duration(p99)} or longer{beside}; "
        f"half of them began within {format_duration(tenants['wait_p50'][place])}."
    )
    yield make_highlight(40 + min(35, p99 / 60_000), f"{who} waited longest", text, "waits")


def check_noisy_neighbours(document: Document) -> Iterable[Highlight]:
    """A tenant with far more to do than the others, and whether they felt it."""
    if not document["noisy"]:
        return
    first = document["noisy"][0]
    who, every = tenant_name(first, document), document["every_ms"]
    quiet, otherwise = first["quiet_wait_p95"], first["otherwise_wait_p95"]
    had = f"It had {format_share(first['share'])} of all work for {format_buckets(first['hours'], every)}."
    if quiet is None:
        text, weight = had, 30.0
    elif otherwise is None:
        text = f"{had} Meanwhile the middle one of the quiet tenants had a p95 wait of {format_duration(quiet)}."
        weight = 20 + min(50, quiet / 1_000)
    elif quiet > 2 * max(otherwise, 250):
        text = (
            f"{had} Meanwhile the p95 wait of the other tenants was {format_duration(quiet)}. "
            f"At other times the p95 wait was {format_duration(otherwise)}."
        )
        weight = 62 + min(25, quiet / 60_000)
    else:
        text = (
            f"{had} The quiet tenants hardly noticed: their p95 wait was {format_duration(quiet)}, "
            f"and {format_duration(otherwise)} without it."
        )
        weight = 25.0
    yield make_highlight(weight, f"{who} flooded the queue", text, "noisy")


def check_fairness(document: Document) -> Iterable[Highlight]:
    """Whether those who waited were served alike."""
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
            f"Jain's index was {mean:.2f} in the mean of {format_buckets(len(found), every)} "
            f"in which tenants competed, and never below {least:.2f}; 1 is perfectly even."
        )
        yield make_highlight(12, "Those who waited were served alike", text, "fairness")
        return
    text = (
        f"In {len(uneven):,} of {format_buckets(len(found), every)} with tenants that competed "
        f"Jain's index was below {FAIR_INDEX}; the lowest was {least:.2f}, on {format_time(at)} UTC."
    )
    weight = 45 + 30 * len(uneven) / len(found) + 10 * (FAIR_INDEX - least)
    yield make_highlight(weight, "Turns were not even", text, "fairness")


def check_limits(document: Document) -> Iterable[Highlight]:
    """Tenants that their own limits held back while their messages waited."""
    held = [each for each in document["limits"] if (each["waiting_meanwhile"] or 0) >= 1]
    if not held:
        return
    first = max(held, key=lambda each: each["waiting_meanwhile"])
    every, who = document["every_ms"], tenant_name(first, document)
    by_rate = first["hours_at_rate"] > first["hours_at_concurrency"]
    hours = first["hours_at_rate"] if by_rate else first["hours_at_concurrency"]
    limit = (
        f"its rate of one in {format_duration(first['release_interval_ms'])}"
        if by_rate
        else f"its {format_count(first['max_concurrency'], 'slot')}"
    )
    others = f" So were {format_count(len(held) - 1, 'other tenant')}." if len(held) > 1 else ""
    text = (
        f"It was at {limit} for {format_buckets(hours, every)}, while "
        f"{format_count(first['waiting_meanwhile'], 'message')} waited in the mean.{others} "
        "Raise the limit if what it protects can take more."
    )
    part = hours / max(1, len(document["times"]))
    yield make_highlight(
        38 + min(30, 40 * part), f"{who} was held by its own limit", text, "limits"
    )


def check_starvation(document: Document) -> Iterable[Highlight]:
    """The longest time for which somebody had work waiting, was held by no limit of its own, and got nothing."""
    free = [each for each in document["starvation"] if not each["is_held"]]
    longest = max(free, key=lambda each: each["length_ms"], default=None)
    if longest is None or longest["length_ms"] < 60_000:
        return
    who, since, length = (
        tenant_name(longest, document),
        format_time(longest["begins_at"]),
        longest["length_ms"],
    )
    if longest["others"] == 0:
        text = (
            f"From {since} UTC on {who} had messages waiting for {format_duration(length)}, and nobody was served "
            "at all: were the workers down?"
        )
        yield make_highlight(
            50 + min(40, length / 120_000), "Nothing was begun", text, "starvation"
        )
        return
    text = (
        f"From {since} UTC on it had messages waiting for {format_duration(length)} and none was begun, "
        f"while others began {format_count(longest['others'], 'attempt')}. No limit of its own explains it."
    )
    yield make_highlight(48 + min(25, length / 240_000), f"{who} got no turn", text, "starvation")


def check_backlog(document: Document) -> Iterable[Highlight]:
    """A backlog that was much larger at some time than it is as a rule."""
    waiting = [each or 0 for each in document["backlog"]["waiting_after"]]
    peak = max(waiting, default=0)
    if peak < 10 or len(waiting) < 3:
        return
    at = document["times"][waiting.index(peak)] + document["every_ms"]
    usual = sorted(waiting)[len(waiting) // 2]
    beside = f", {format_ratio(peak / usual)} as many as half of the time" if usual else ""
    text = (
        f"At most {format_count(peak, 'message')} waited at once, on {format_time(at)} UTC{beside}."
    )
    yield make_highlight(
        min(38, 12 + 4 * peak / max(1, usual)), "The backlog peaked", text, "backlog"
    )


def check_capacity(document: Document) -> Iterable[Highlight]:
    """When growing work meets what can be done."""
    told = [each for each in document["forecast"] if each["full_on"] and each["error"] is not None]
    if not told:
        return
    first = max(told, key=lambda each: each["horizon_days"])
    left = count_days(first["last_day"], first["full_on"])
    if left > SOON_DAYS:
        return
    at_least = "" if first["is_capacity_seen"] else "at least "
    text = (
        f"Work grows by {format_count(first['growth_a_day'], 'attempt')} a day, and what can be done is {at_least}"
        f"{format_count(first['capacity_a_day'], 'attempt')} a day. "
        f"Foretold {format_count(first['horizon_days'], 'day')} ahead, "
        f"the past was off by {format_share(first['error'])} in the mean."
    )
    title = f"Capacity is used up on {first['full_on']}" if left else "Capacity is used up"
    yield make_highlight(80 - left / 2 - 30 * min(1, first["error"]), title, text, "forecast")


def count_days(first: str, last: str) -> int:
    """How many days lie between two days."""
    from datetime import date

    return (date.fromisoformat(last) - date.fromisoformat(first)).days


def check_failures(document: Document) -> Iterable[Highlight]:
    """How much of the work is done in vain, and the error that is met most."""
    summary = document["summary"]
    bad = summary["failed"] + summary["expired"]
    part = bad / max(1, summary["attempts"])
    if part < 0.01 or not document["errors"]:
        return
    first = document["errors"][0]
    all_errors = sum(each["attempts"] for each in document["errors"])
    text = (
        f"{format_count(bad, 'attempt')} failed or ran out of time. “{first['error']}” is "
        f"{format_share(first['attempts'] / all_errors)} of all errors, in {format_count(first['channels'], 'tenant')}."
    )
    yield make_highlight(
        28 + min(40, 100 * part),
        f"{format_share(part)} of all attempts were in vain",
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
