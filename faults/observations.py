"""What a run left behind, put in order: the call logs of all processes, and what the database says in the end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any

import psycopg

from faults.call_log import read_label, read_records


@dataclass(slots=True)
class Create:
    """One message that a producer meant to create; `phase` is begin where the producer was killed meanwhile."""

    label: str
    channel: str
    at: float
    phase: str = "begin"
    rolled_back: bool = False
    ids: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Delivery:
    """One message in a dequeue's answer, as the worker heard it."""

    id: int
    token: str
    label: str
    channel: str
    attempt: int
    at: int
    until: int
    begun: float
    heard: float
    who: str


@dataclass(slots=True)
class HandlerRun:
    """One run of a handler, as the handler itself wrote it down; `end` is infinite where its process was killed."""

    id: int
    token: str
    label: str
    kind: str
    attempt: int
    begin: float
    who: str
    end: float = inf
    phase: str = "begin"


@dataclass(slots=True)
class Answer:
    """What a settlement was answered."""

    id: int
    token: str
    call: str
    word: str
    at: float
    who: str
    begun: float = 0.0


@dataclass(slots=True)
class Attempt:
    """A row of history."""

    id: int
    channel: str
    attempt: int
    outcome: str
    at: int
    finished: int
    worker: str | None


@dataclass(slots=True)
class Stored:
    """A message that is still there."""

    id: int
    label: str
    channel: str
    token: str | None
    at: int | None


@dataclass(slots=True)
class Change:
    """A channel's limits set while the queue was at work: in force from some moment between begin and end."""

    begin: float
    end: float
    options: dict[str, Any]


@dataclass
class Observations:
    """All of it, by message."""

    creates: dict[str, Create] = field(default_factory=dict)
    deliveries: dict[int, list[Delivery]] = field(default_factory=lambda: defaultdict(list))
    runs: dict[int, list[HandlerRun]] = field(default_factory=lambda: defaultdict(list))
    answers: dict[int, list[Answer]] = field(default_factory=lambda: defaultdict(list))
    attempts: dict[int, list[Attempt]] = field(default_factory=lambda: defaultdict(list))
    stored: dict[int, Stored] = field(default_factory=dict)
    dead: dict[int, str] = field(default_factory=dict)
    changes: dict[str, list[Change]] = field(default_factory=lambda: defaultdict(list))
    crashes: list[tuple[float, float]] = field(default_factory=list)  # stop ordered, server gone
    durable: list[tuple[float, float]] = field(default_factory=list)  # commits: begun, acknowledged
    durable_from: list[float] | None = (
        None  # the earliest acknowledgement of a commit and all later
    )
    faults: list[dict[str, Any]] = field(default_factory=list)
    calls: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    @property
    def ids(self) -> dict[int, str]:
        """The label of every message that was seen."""
        seen = {each.id: each.label for one in self.deliveries.values() for each in one}
        seen |= {each.id: each.label for each in self.stored.values()} | self.dead
        for create in self.creates.values():
            seen |= dict.fromkeys(create.ids, create.label)
        return seen


class LogReader:
    """Reads call logs; calls are known by their file, their process and their number."""

    def __init__(self, observed: Observations) -> None:
        self.observed = observed
        self.open: dict[tuple[str, int, int], dict[str, Any]] = {}
        self.latest: dict[tuple[int, str], Delivery] = {}
        self.running: dict[tuple[str, int, int], HandlerRun] = {}
        self.crash_began: float | None = None

    def read(self, folder: Path) -> None:
        """Take in every record."""
        for who, record in read_records(folder):
            if "n" not in record:
                self.fault(record)
                continue
            key = (who, record["p"], record["n"])
            counted = "runs" if record["call"] == "handle" else "calls"
            if record["phase"] == "begin":
                self.open[key] = record
                begun = record
                self.observed.calls[counted] += 1
            else:
                begun = self.open.pop(key, record)
                self.observed.calls[f"{counted} {record['phase']}"] += 1
            take: Callable[..., None] | None = getattr(self, record["call"], None)
            if take is not None:
                take(who, begun, record)

    def fault(self, record: dict[str, Any]) -> None:
        """Something that was done to the system."""
        if "fault" not in record:
            return
        self.observed.faults.append(record)
        if record.get("crash") == "begin":
            self.crash_began = self.crash_began or record["t"]
        elif record.get("crash") == "end":
            self.observed.crashes.append((self.crash_began or record["t"], record["t"]))
            self.crash_began = None

    def create(self, who: str, begun: dict[str, Any], record: dict[str, Any]) -> None:
        """A producer's call: one transaction, of one message or many."""
        if record["phase"] == "ok":
            self.observed.durable.append((begun["t"], record["t"]))
        for place, label in enumerate(begun["labels"]):
            create = self.observed.creates.setdefault(
                label, Create(label, begun["channels"][place], begun["t"])
            )
            phase = record["phase"]
            if phase == "ok":
                create.ids.append(record["ids"][place])
                create.phase = "ok"
            elif create.phase != "ok" and (create.phase, phase) != ("unknown", "rejected"):
                create.phase = phase if phase != "begin" or create.phase == "begin" else "unknown"
            create.rolled_back = create.rolled_back or record.get("rolled_back", False)

    def dequeue(self, who: str, begun: dict[str, Any], record: dict[str, Any]) -> None:
        """A worker's dequeue."""
        for id_, token, label, channel, attempt, at, until in record.get("rows", ()):
            delivery = Delivery(
                id_, token, label, channel, attempt, at, until, begun["t"], record["t"], who
            )
            self.observed.deliveries[id_].append(delivery)
            self.latest[id_, token] = delivery

    def handle(self, who: str, begun: dict[str, Any], record: dict[str, Any]) -> None:
        """A run of a handler, from the handler itself."""
        key = (who, record["p"], record["n"])
        if record["phase"] == "begin":
            named = (record["id"], record["token"], record["label"], record["kind"])
            run = HandlerRun(*named, record["attempt"], record["t"], who)
            self.running[key] = run
            self.observed.runs[run.id].append(run)
        elif (ended := self.running.pop(key, None)) is not None:
            ended.end, ended.phase = record["t"], record["phase"]

    def settle(self, who: str, begun: dict[str, Any], record: dict[str, Any]) -> None:
        """A worker's complete, defer or fail."""
        for id_, token, word in zip(
            begun["ids"], begun["tokens"], record.get("answers", ()), strict=False
        ):
            answer = Answer(id_, token, begun["what"], word, record["t"], who, begun["t"])
            self.observed.answers[id_].append(answer)
        if "completed" in record.get(
            "answers", ()
        ):  # the commit of a completion waits for the disk
            self.observed.durable.append((begun["t"], record["t"]))

    def heartbeat(self, who: str, begun: dict[str, Any], record: dict[str, Any]) -> None:
        """A worker's heartbeat: the lease lasts until then."""
        for id_, token, until in zip(
            begun["ids"], begun["tokens"], record.get("untils", ()), strict=False
        ):
            known = self.latest.get((id_, token))
            if known is not None and until is not None:
                known.until = until

    def channel_set(self, who: str, begun: dict[str, Any], record: dict[str, Any]) -> None:
        """Somebody's change of a channel's limits."""
        if record["phase"] == "ok":
            change = Change(begun["t"], record["t"], begun["options"])
            self.observed.changes[begun["channel"]].append(change)


HISTORY = """
select message_id, channel, attempt, outcome, dequeued_at, finished_at, worker
from lonnymq.history
"""
MESSAGES = "select id, content, channel, token, dequeued_at from lonnymq.message"
DEAD = "select id, content from lonnymq.dead"


def collect_observations(folder: Path, dsn: str | None) -> Observations:
    """Read a run's call logs and, where there is one, its database."""
    observed = Observations()
    LogReader(observed).read(folder)
    if dsn is None:
        return observed
    with psycopg.connect(dsn) as connection:
        connection.execute("set transaction isolation level repeatable read")
        with connection.cursor("history") as cursor:
            for row in cursor.execute(HISTORY):
                observed.attempts[row[0]].append(Attempt(*row))
        for id_, content, channel, token, at in connection.execute(MESSAGES):
            named = read_label(content)
            observed.stored[id_] = Stored(id_, named, channel, token and token.hex, at)
        for id_, content in connection.execute(DEAD):
            observed.dead[id_] = read_label(content)
    return observed
