"""The checker: each function looks for one thing that must never be, in what a run left behind."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from math import inf

from faults.limits import find_over_concurrency, find_over_rate
from faults.observations import Delivery, HandlerRun, Observations

RELAXED_MS = 1_000  # 3 * wal_writer_delay is 600 ms, and the log writer may have to wait for a core
CANCEL_MS = 250  # from the end of a lease to the end of its cancelled handler, with all cores busy
SUSPENDED_MS = 1_000  # from the end of a suspension to the end of what it held up
IN_THREADS = ("thread", "kills")


@dataclass(frozen=True, slots=True)
class Violation:
    """Something that must never be, and the message concerned."""

    kind: str
    detail: str
    id: int | None = None


def find_lost(observed: Observations) -> list[Violation]:
    """Acknowledged creates that are not stored, not dead, and that no handler says it has done.

    The queue's own history counts for nothing here: a queue that loses a message may well have a row of its end.
    """
    return [
        Violation("lost", f"{create.label} was created in {create.channel}, and is nowhere", id_)
        for create in observed.creates.values()
        if create.phase == "ok"
        for id_ in create.ids
        if id_ not in observed.stored and id_ not in observed.dead and not is_done(observed, id_)
    ]


def is_done(observed: Observations, id_: int) -> bool:
    """Whether a handler ran to its end, or a consumer without handlers was told that it completed the message."""
    return any(each.phase == "returned" for each in observed.runs.get(id_, ())) or any(
        each.word == "completed" and not has_handlers(each.who)
        for each in observed.answers.get(id_, ())
    )


def has_handlers(who: str | None) -> bool:
    """Whether a process is a worker of the library; other consumers take messages and complete them by themselves."""
    return who is not None and who.startswith("worker")


def find_not_run(observed: Observations) -> list[Violation]:
    """Messages that a worker completed, by history or by an answer, though no handler had run to its end before."""
    found = []
    for id_, attempts in observed.attempts.items():
        tokens = {each.at: each.token for each in observed.deliveries.get(id_, ())}
        returned = {each.token for each in observed.runs.get(id_, ()) if each.phase == "returned"}
        for each in attempts:
            if each.outcome != "completed" or not has_handlers(each.worker):
                continue
            if tokens.get(each.at) not in returned:
                found.append(Violation("not run", f"{each.worker} completed it, unhandled", id_))
    for id_, answers in observed.answers.items():
        ends = {each.token: each.end for each in observed.runs.get(id_, ())}
        for answer in answers:
            if answer.call != "message_complete" or not has_handlers(answer.who):
                continue
            if ends.get(answer.token, inf) > answer.begun:
                found.append(
                    Violation("not run", f"{answer.who} completed it before its handler ended", id_)
                )
    return found


def find_run_twice(observed: Observations) -> list[Violation]:
    """Handlers that ran twice under one lease, or without a lease that the worker was given."""
    found = []
    for id_, runs in observed.runs.items():
        leased = {each.token for each in observed.deliveries.get(id_, ())}
        for token, times in Counter(each.token for each in runs).items():
            if times > 1:
                found.append(Violation("run twice", f"{times} runs under token {token[:8]}", id_))
            if token not in leased:
                found.append(Violation("run twice", f"nobody was given token {token[:8]}", id_))
    return found


def find_run_at_once(observed: Observations) -> list[Violation]:
    """Handlers of one message that ran at one moment, where the first could have been cancelled in time.

    A thread cannot be cancelled, a suspended process does nothing, and a lease may be lost in a crash.
    """
    found = []
    for id_, runs in observed.runs.items():
        leases = {each.token: each for each in observed.deliveries.get(id_, ())}
        for one, other in itertools.pairwise(sorted(runs, key=lambda each: each.begin)):
            late = one.end - other.begin
            if late <= CANCEL_MS or one.end == inf or one.kind in IN_THREADS:
                continue
            lease = leases.get(one.token)
            if lease is not None and was_lost_in_a_crash(observed, lease):
                continue
            if not was_suspended(observed, one):
                detail = f"{one.who} ran for {late:.0f} ms after {other.who} had begun"
                found.append(Violation("run at once", detail, id_))
    return found


def was_suspended(observed: Observations, run: HandlerRun) -> bool:
    """Whether the worker was suspended for a part of the run."""
    return any(
        each["fault"] == "suspended"
        and each["who"] == run.who
        and each["t"] <= run.end
        and run.begin <= each["t"] + each["seconds"] * 1000 + SUSPENDED_MS
        for each in observed.faults
    )


def find_ghosts(observed: Observations) -> list[Violation]:
    """Messages that nobody meant to create, or whose create was rejected."""
    found = []
    for id_, label in observed.ids.items():
        create = observed.creates.get(label)
        if create is None:
            found.append(Violation("ghost", f"{label!r} was created by nobody", id_))
        elif create.phase == "rejected" and not create.rolled_back:
            found.append(Violation("ghost", f"{label}: its create was rejected", id_))
    return found


def find_rolled_back(observed: Observations) -> list[Violation]:
    """Messages whose create was rolled back, and which are there all the same."""
    return [
        Violation("rolled back", f"{label}: its create was rolled back", id_)
        for id_, label in observed.ids.items()
        if label in observed.creates and observed.creates[label].rolled_back
    ]


def find_doubly_completed(observed: Observations) -> list[Violation]:
    """Messages of which two completions were accepted, by history or by the answers that were heard."""
    found = []
    for id_, attempts in observed.attempts.items():
        completed = sum(each.outcome == "completed" for each in attempts)
        if completed > 1:
            found.append(Violation("completed twice", f"history has {completed} completions", id_))
    for id_, answers in observed.answers.items():
        words = [each for each in answers if each.word == "completed"]
        if len(words) > 1:
            found.append(
                Violation("completed twice", f"{len(words)} were told that they completed it", id_)
            )
    return found


ACCEPTED = {
    "completed": ("completed",),
    "deferred": ("deferred",),
    "retrying": ("failed",),
    "dead": ("dead",),
}


def find_unfounded(observed: Observations) -> list[Violation]:
    """Settlements that were accepted, of which history does not know under the lease that they were made with."""
    found = []
    for id_, answers in observed.answers.items():
        leased = {each.token: each.at for each in observed.deliveries.get(id_, ())}
        ends = {(each.at, each.outcome) for each in observed.attempts[id_]}
        for answer in answers:
            outcomes = ACCEPTED.get(answer.word)
            if outcomes is None:
                continue
            at = leased.get(answer.token)
            if at is None:
                found.append(Violation("unfounded", f"{answer.call}: nobody had this token", id_))
            elif not any((at, outcome) in ends for outcome in outcomes):
                detail = f"the {answer.call} of the lease of {at} was answered {answer.word!r}"
                found.append(Violation("unfounded", f"{detail}, and history has no such end", id_))
    return found


def find_overlaps(observed: Observations) -> list[Violation]:
    """Two leases of one message that were in force at one moment."""
    found = []
    for id_, attempts in observed.attempts.items():
        intervals = sorted((each.at, each.finished) for each in attempts)
        held = observed.stored.get(id_)
        if held is not None and held.at is not None:
            intervals.append((held.at, held.at))
        for (_, end), (begin, _) in itertools.pairwise(intervals):
            if begin < end:
                found.append(
                    Violation("overlap", f"leased at {begin}, the lease before ended at {end}", id_)
                )
    for id_, deliveries in observed.deliveries.items():
        ended = {(each.at, each.outcome): each.finished for each in observed.attempts[id_]}
        for each in deliveries:
            expired = ended.get((each.at, "expired"))
            if expired is not None and expired < each.until:
                found.append(
                    Violation("overlap", f"expired at {expired}, promised until {each.until}", id_)
                )
    return found


def find_extra(observed: Observations) -> list[Violation]:
    """Deliveries whose lease has no end on record and was not lost in a crash; ends on record twice; late ones."""
    found = []
    for id_, deliveries in observed.deliveries.items():
        attempts = observed.attempts[id_]
        ends = Counter((each.at, each.attempt) for each in attempts)
        held = observed.stored.get(id_)
        done = max(
            (each.finished for each in attempts if each.outcome == "completed"), default=None
        )
        for each in deliveries:
            key = (each.at, each.attempt)
            if done is not None and each.at > done:
                found.append(Violation("extra", f"leased at {each.at}, completed at {done}", id_))
            if ends[key] or (held is not None and held.token == each.token):
                continue
            if not was_lost_in_a_crash(observed, each):
                found.append(
                    Violation("extra", f"attempt {each.attempt} of {each.at} has no end", id_)
                )
    for id_, attempts in observed.attempts.items():
        for key, times in Counter((each.at, each.attempt) for each in attempts).items():
            if times > 1 and times > sum(
                (each.at, each.attempt) == key for each in observed.deliveries.get(id_, ())
            ):
                found.append(Violation("extra", f"attempt {key[1]} ended {times} times", id_))
    return found


def was_lost_in_a_crash(observed: Observations, delivery: Delivery) -> bool:
    """Whether the lease can have been lost in a crash: its commit was not yet on disk when the server went.

    The log is written in order. So a lease is on disk once a commit that began after the lease was heard has been
    acknowledged, and after three times wal_writer_delay at the latest.
    """
    return any(
        delivery.at <= gone
        and stop - delivery.heard <= RELAXED_MS
        and first_durable_after(observed, delivery.heard) > gone
        for stop, gone in observed.crashes
    )


def first_durable_after(observed: Observations, moment: float) -> float:
    """When the first commit was acknowledged, of those that wait for the disk and began after a moment."""
    if observed.durable_from is None:
        observed.durable.sort()
        least = list(itertools.accumulate(reversed([ack for _, ack in observed.durable]), min))
        observed.durable_from = least[::-1]
    place = bisect_right(observed.durable, (moment, inf))
    return observed.durable_from[place] if place < len(observed.durable_from) else inf


def find_phantoms(observed: Observations) -> list[Violation]:
    """Messages that were completed though no worker was given them."""
    return [
        Violation("phantom", "completed, and no worker had it", id_)
        for id_, attempts in observed.attempts.items()
        if id_ not in observed.deliveries and any(each.outcome == "completed" for each in attempts)
    ]


def find_over_limit(observed: Observations) -> list[Violation]:
    """Leases over a channel's concurrency or rate."""
    found = [
        Violation("over limit", detail, id_) for detail, id_ in find_over_concurrency(observed)
    ]
    return found + [
        Violation("over limit", detail, id_) for detail, id_ in find_over_rate(observed)
    ]


FAULT_FIELDS = ("fault", "who", "target", "seconds")
CHECKS: dict[str, Callable[[Observations], list[Violation]]] = {
    "lost": find_lost,
    "ghosts": find_ghosts,
    "rolled back": find_rolled_back,
    "doubly completed": find_doubly_completed,
    "unfounded": find_unfounded,
    "overlaps": find_overlaps,
    "over limit": find_over_limit,
    "extra": find_extra,
    "phantoms": find_phantoms,
    "not run": find_not_run,
    "run twice": find_run_twice,
    "run at once": find_run_at_once,
}


def run_checks(observed: Observations) -> dict[str, list[Violation]]:
    """All checks, each with what it found."""
    return {name: look(observed) for name, look in CHECKS.items()}


def list_faults_around(moments: list[float], observed: Observations) -> list[tuple[float, str]]:
    """What was done to the system shortly before, during and after these moments."""
    if not moments:
        return []
    begin, end = min(moments) - 3000, max(moments) + 3000
    return [
        (
            each["t"],
            " ".join(["fault:", *(str(each[key]) for key in FAULT_FIELDS if key in each)]),
        )
        for each in observed.faults
        if begin <= each["t"] <= end
    ]


def tell_story(observed: Observations, id_: int) -> list[str]:
    """Everything that is known of one message, in the order of time."""
    label = observed.ids.get(id_, "?")
    lines: list[tuple[float, str]] = []
    create = observed.creates.get(label)
    if create is not None:
        how = "rolled back" if create.rolled_back else create.phase
        lines.append((create.at, f"create of {label} in {create.channel} begins; it ended {how}"))
    for each in observed.deliveries.get(id_, ()):
        detail = f"attempt {each.attempt} until {each.until}, token {each.token[:8]}, to {each.who}"
        lines.append((each.at, f"leased: {detail} (heard at {each.heard:.0f})"))
    for run in observed.runs.get(id_, ()):
        lines.append((run.begin, f"handler runs in {run.who}, token {run.token[:8]}"))
        if run.end < inf:
            lines.append((run.end, f"handler {run.phase} in {run.who}, token {run.token[:8]}"))
    for word in observed.answers.get(id_, ()):
        lines.append((word.at, f"{word.call} by {word.who}, token {word.token[:8]}: {word.word}"))
    for end in observed.attempts[id_]:
        lines.append((end.finished, f"history: attempt {end.attempt} of {end.at}: {end.outcome}"))
    lines += list_faults_around([at for at, _ in lines], observed)
    if id_ in observed.stored:
        lines.append((float("inf"), f"still stored: {observed.stored[id_]}"))
    if id_ in observed.dead:
        lines.append((float("inf"), "dead"))
    lines.sort()
    head = f"message {id_} ({label}), times in epoch milliseconds"
    return [head, *(f"  {at:.0f}  {text}" for at, text in lines)]
