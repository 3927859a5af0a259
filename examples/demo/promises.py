"""What is claimed at the end, counted from the history of every attempt; no clock but the database's is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from statistics import quantiles

from examples.demo.scenario import AT_ONCE, FLOODING, LIMITS, QUIET, Scenario
from lonnymq.results import Created, Duplicate, HistoryRow


@dataclass(frozen=True, slots=True)
class Promise:
    """Something that was promised, what was counted, and whether it was kept."""

    words: str
    kept: bool


@dataclass(frozen=True, slots=True)
class Wait:
    """How long a tenant's jobs waited: as it was, and as a queue that goes by age alone would have had it."""

    tenant: str
    jobs: int
    typical_ms: int
    longest_ms: int
    by_age_typical_ms: int
    by_age_longest_ms: int


def first_attempts(rows: Iterable[HistoryRow]) -> dict[int, HistoryRow]:
    """Each message's first lease."""
    found: dict[int, HistoryRow] = {}
    for row in sorted(rows, key=lambda each: each.dequeued_at):
        found.setdefault(row.message_id, row)
    return found


def most_at_once(rows: Iterable[HistoryRow]) -> int:
    """The most leases that were held at one instant: every lease is an interval, and all are swept over."""
    edges = [edge for row in rows for edge in ((row.dequeued_at, 1), (row.finished_at, -1))]
    held = most = 0
    for _, step in sorted(edges):  # at the same millisecond, ends come first
        held += step
        most = max(most, held)
    return most


def breaks_of_rate(rows: Iterable[HistoryRow], interval_ms: int, burst: int) -> int:
    """How many spans of time hold more leases than the rate allows."""
    times = sorted(row.dequeued_at for row in rows)
    return sum(
        (last - first + 1 - burst) * interval_ms > times[last] - times[first]
        for first in range(len(times))
        for last in range(first + burst, len(times))
    )


def waits_by_age(rows: Sequence[HistoryRow]) -> dict[int, int]:
    """The wait of each message had the same leases, at the same moments, gone to the oldest message each time."""
    moments = sorted(row.dequeued_at for row in rows)
    jobs = sorted(first_attempts(rows).values(), key=lambda row: (row.created_at, row.message_id))
    line: list[tuple[int, int]] = []
    waits: dict[int, int] = {}
    place = 0
    for moment in moments:
        while place < len(jobs) and jobs[place].created_at <= moment:
            heappush(line, (jobs[place].created_at, jobs[place].message_id))
            place += 1
        if line:
            created_at, message_id = heappop(line)
            waits[message_id] = moment - created_at
    return waits


def waits(rows: Sequence[HistoryRow]) -> list[Wait]:
    """The waits of all tenants, the flooding one first."""
    firsts, by_age = first_attempts(rows), waits_by_age(rows)
    found = []
    for tenant in (FLOODING, *QUIET):
        mine = {key: row for key, row in firsts.items() if row.channel == tenant}
        here = [row.dequeued_at - row.created_at for row in mine.values()]
        there = [by_age[key] for key in mine if key in by_age]
        if here and there:
            found.append(
                Wait(tenant, len(here), middle(here), max(here), middle(there), max(there))
            )
    return found


def middle(values: Sequence[int]) -> int:
    """The median."""
    return round(quantiles(values, n=2)[0]) if len(values) > 1 else values[0]


def promises(rows: Sequence[HistoryRow], scenario: Scenario, *, left: int) -> list[Promise]:
    """What was promised, counted."""
    return [
        *limits_kept(rows),
        fairness(rows),
        punctuality(rows, scenario),
        uniqueness(scenario),
        urgency(rows),
        deferral(rows, scenario),
        poison(rows, scenario),
        schedule(rows),
        takeover(rows, scenario),
        *nothing_lost(rows, scenario, left),
    ]


def limits_kept(rows: Sequence[HistoryRow]) -> list[Promise]:
    """The limits of each kind."""
    allowed = LIMITS[FLOODING]["max_concurrency"]
    flooding = most_at_once(row for row in rows if row.channel == FLOODING)
    whole = most_at_once(rows)
    rate = LIMITS["cedar"]
    cedar = [row for row in rows if row.channel == "cedar"]
    breaks = breaks_of_rate(cedar, rate["min_interval_ms"], rate["burst"])
    return [
        Promise(f"{FLOODING}: {allowed} at once allowed, at most {flooding} were", flooding <= allowed),
        Promise(f"the queue: {AT_ONCE} at once allowed, at most {whole} were", whole <= AT_ONCE),
        Promise(
            f"cedar: 1 each {rate['min_interval_ms']} ms with {rate['burst']} in a burst, "
            f"{breaks} spans of time held more in {len(cedar)} leases",
            breaks == 0,
        ),
    ]  # fmt: skip


def fairness(rows: Sequence[HistoryRow]) -> Promise:
    """A tenant that floods the queue does not make the others wait."""
    quiet = [each for each in waits(rows) if each.tenant != FLOODING]
    longer = sum(each.typical_ms >= each.by_age_typical_ms for each in quiet)
    return Promise(
        f"of {len(quiet)} quiet tenants, {longer} waited as long as by age alone",
        bool(quiet) and longer == 0,
    )


def punctuality(rows: Sequence[HistoryRow], scenario: Scenario) -> Promise:
    """Nothing is leased before its time."""
    early = sum(row.dequeued_at < row.dequeue_at for row in rows)
    done = [row for row in rows if row.message_id == scenario.later and row.outcome == "completed"]
    return Promise(f"leased before their time: {early}", early == 0 and len(done) == 1)


def uniqueness(scenario: Scenario) -> Promise:
    """A second create with a key answers with the first one's id."""
    answers = [type(each).__name__.lower() for each in scenario.keyed]
    ids = {each.id for each in scenario.keyed if isinstance(each, Created | Duplicate)}
    return Promise(
        f"one key, two creates: {', '.join(answers)}, {len(ids)} message",
        answers == ["created", "duplicate"] and len(ids) == 1,
    )


def urgency(rows: Sequence[HistoryRow]) -> Promise:
    """Whoever is urgent comes before all others of its channel that were waiting."""
    mine = sorted(
        (row for row in first_attempts(rows).values() if row.channel == FLOODING),
        key=lambda row: row.dequeued_at,
    )
    urgent = [row for row in mine if row.dequeue_at < 0]
    overtaken = sum(
        row.dequeued_at > each.dequeued_at and row.created_at < each.created_at
        for each in urgent
        for row in mine
    )
    return Promise(
        f"the urgent job overtook {overtaken:,} older ones of {FLOODING}",
        bool(urgent) and overtaken > 0,
    )


def deferral(rows: Sequence[HistoryRow], scenario: Scenario) -> Promise:
    """A defer uses up no attempt."""
    mine = [row for row in rows if row.message_id == scenario.upload]
    outcomes = Counter(row.outcome for row in mine)
    attempts = max((row.attempt for row in mine), default=0)
    return Promise(
        f"the upload was deferred {outcomes['deferred']} times and completed at attempt {attempts}",
        (outcomes["deferred"], outcomes["completed"]) == (2, 1),
    )


def poison(rows: Sequence[HistoryRow], scenario: Scenario) -> Promise:
    """A message that nobody can handle is dead after its attempts, and a redrive brings it back."""
    mine = Counter(row.outcome for row in rows if row.message_id == scenario.poison)
    tried = mine["failed"] + mine["dead"] + mine["expired"]
    return Promise(
        f"the broken video was tried {tried} times, dead {mine['dead']} time, kept, and "
        f"completed {mine['completed']} time after its redrive",
        (tried, mine["dead"], mine["completed"]) == (3, 1, 1),
    )


def schedule(rows: Sequence[HistoryRow]) -> Promise:
    """Each tick is created once, however many workers there are."""
    keys = Counter(
        row.key for row in rows if row.channel == "reports" and row.outcome == "completed"
    )
    twice = sum(many - 1 for many in keys.values())
    return Promise(
        f"the schedule advanced {len(keys)} times, {twice} twice", bool(keys) and twice == 0
    )


def takeover(rows: Sequence[HistoryRow], scenario: Scenario) -> Promise:
    """What a killed worker had in hand is done by others."""
    if scenario.killed is None or not scenario.killed.jobs:
        return Promise("no worker had a job in hand when one was killed: nothing was shown", False)
    held, worker = scenario.killed.jobs, scenario.killed.worker
    lost = {row.message_id for row in rows if row.outcome == "expired" and row.worker == worker}
    done = {row.message_id for row in rows if row.outcome == "completed" and row.worker != worker}
    return Promise(
        f"the killed worker had {len(held)} jobs in hand: the leases of {len(held & lost)} ran out, "
        f"others completed {len(held & done)}",
        held <= lost and held <= done,
    )


def nothing_lost(rows: Sequence[HistoryRow], scenario: Scenario, left: int) -> list[Promise]:
    """Everything that was created has ended, once."""
    completed = Counter(row.message_id for row in rows if row.outcome == "completed")
    dead = {row.message_id for row in rows if row.outcome == "dead"}
    lost = len(scenario.created - completed.keys() - dead) - left
    twice = sum(many > 1 for many in completed.values())
    done = len(scenario.created & completed.keys())
    return [
        Promise(f"created {len(scenario.created):,}, completed {done:,}, dead {len(dead)}, lost {lost}", lost == 0),
        Promise(f"completed twice: {twice}", twice == 0),
        Promise(f"left in the queue: {left}", left == 0),
    ]  # fmt: skip
