"""All operations of the queue in a random mixture of transactions, with a ledger of what came of them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import psycopg

from database.rules.factories import Lease, Session, numbered

CHANNELS = numbered("c", 8)
KEYS = numbered("n", 40)


@dataclass
class Ledger:
    """What committed, by the answers that were given."""

    transactions: int = 0
    purged: int = 0
    created: set[int] = field(default_factory=set)
    completed: set[int] = field(default_factory=set)
    cancelled: set[int] = field(default_factory=set)
    failures: Counter[str] = field(default_factory=Counter)
    done: Counter[str] = field(default_factory=Counter)

    @staticmethod
    def sum(ledgers: Sequence[Ledger]) -> Ledger:
        total = Ledger()
        for each in ledgers:
            total.transactions += each.transactions
            total.purged += each.purged
            total.created |= each.created
            total.completed |= each.completed
            total.cancelled |= each.cancelled
            total.failures += each.failures
            total.done += each.done
        return total


class Mixture:
    """One session that does everything in random order, several channels in one transaction.

    What may wait for another caller (equal keys, one channel's settings) comes first in its transaction and once,
    as the documentation asks; nothing else that the queue does may wait.
    """

    FIRST: ClassVar = ["create_named", "redrive", "channel_set", "pause", "resume", "queue_set"]
    THEN: ClassVar = [
        "create", "create_many", "complete", "defer", "fail", "heartbeat", "cancel", "purge", "settle_stale",
    ]  # fmt: skip
    ALONE: ClassVar = ["dequeue", "sweep"]
    OPERATIONS: ClassVar = [*FIRST, *THEN, *ALONE]

    def __init__(self, dsn: str, seed: int) -> None:
        self.dsn = dsn
        self.chance = random.Random(seed)
        self.ledger = Ledger()
        self.leases: list[Lease] = []
        self.stale: list[Lease] = []
        self.known: list[int] = []

    def run(self, transactions: int) -> Ledger:
        with Session(self.dsn) as self.session:
            for _ in range(transactions):
                self.transact()
        self.ledger.transactions = transactions
        return self.ledger

    def transact(self) -> None:
        try:
            if self.chance.random() < 0.4:
                self.do(self.chance.choices(self.ALONE, [20, 1])[0], self.ledger)
                return
            steps = [self.chance.choice(self.FIRST)] if self.chance.random() < 0.12 else []
            steps += self.chance.choices(
                self.THEN, [9, 4, 14, 3, 4, 4, 2, 1, 2], k=self.chance.randint(1, 4)
            )
            noted = Ledger()
            kept, is_kept = list(self.leases), self.chance.random() < 0.9
            with self.session.connection.transaction(force_rollback=not is_kept):
                for step in steps:
                    self.do(step, noted)
            if is_kept:
                self.ledger = Ledger.sum([self.ledger, noted])
            else:
                self.leases = kept
        except psycopg.Error as error:
            self.ledger.failures[
                f"{error.sqlstate} {error.diag.message_primary} {error.diag.context}"
            ] += 1

    def do(self, operation: str, ledger: Ledger) -> None:
        getattr(self, operation)(ledger)
        ledger.done[operation] += 1

    def some(self) -> list[Lease]:
        """Up to three leases of ours, to be settled."""
        count = min(len(self.leases), self.chance.randint(1, 3))
        some = self.chance.sample(self.leases, count)
        self.leases = [each for each in self.leases if each not in some]
        self.stale = (self.stale + some)[-20:]
        return some

    def channels(self, most: int) -> list[str]:
        return self.chance.choices(CHANNELS, k=self.chance.randint(1, most))

    # Alone in their transactions

    def dequeue(self, ledger: Ledger) -> None:
        lease_ms = self.chance.choice([1, 30_000, 30_000])
        self.leases += self.session.dequeue_once(self.chance.randint(1, 5), lease_ms)

    def sweep(self, ledger: Ledger) -> None:
        self.session.maintain()

    # First in their transactions

    def create_named(self, ledger: Ledger) -> None:
        keys = self.chance.sample(KEYS, 5)
        channels = self.chance.choices(CHANNELS, k=5)
        answers = self.session.create_many(channels, keys=keys)
        ledger.created |= {each.id for each in answers if each.answer == "created"}

    def redrive(self, ledger: Ledger) -> None:
        channel = self.chance.choice([*CHANNELS, "*"])
        self.session.rows(
            "select * from lonnymq.dead_redrive(p_channel => %s, p_limit => 5)", channel
        )

    def channel_set(self, ledger: Ledger) -> None:
        choices: list[dict[str, Any]] = [
            {"max_concurrency": self.chance.choice([None, 3, 20])},
            {"min_interval_ms": self.chance.choice([None, 1]), "burst": 20},
            {"max_size": self.chance.choice([None, 40]), "max_attempts": 3},
            {"weight": self.chance.randint(1, 3), "retry_delays_ms": [0]},
        ]
        options = self.chance.choice(choices)
        self.session.set(self.chance.choice(CHANNELS), **options)

    def pause(self, ledger: Ledger) -> None:
        self.session.rows("select lonnymq.channel_pause(%s)", self.chance.choice(CHANNELS[:2]))

    def resume(self, ledger: Ledger) -> None:
        self.session.rows("select lonnymq.channel_resume(%s)", self.chance.choice(CHANNELS[:2]))

    def queue_set(self, ledger: Ledger) -> None:
        self.session.queue_set(max_concurrency=self.chance.choice([None, None, 60]))

    # In any number and order

    def create(self, ledger: Ledger) -> None:
        answer = self.session.create_answer(self.chance.choice(CHANNELS))
        if answer.answer == "created":
            ledger.created.add(answer.id)
            self.known = [*self.known, answer.id][-30:]

    def create_many(self, ledger: Ledger) -> None:
        answers = self.session.create_many(self.channels(6))
        ledger.created |= {each.id for each in answers if each.answer == "created"}

    def complete(self, ledger: Ledger) -> None:
        leases = self.some()
        answers = self.session.complete(*leases)
        ledger.completed |= {
            lease.id for lease, answer in zip(leases, answers, strict=True) if answer == "completed"
        }

    def defer(self, ledger: Ledger) -> None:
        leases = self.some()
        self.session.settle("defer", leases, delays_ms=[self.chance.choice([0, 5])] * len(leases))

    def fail(self, ledger: Ledger) -> None:
        leases = self.some()
        self.session.settle("fail", leases, deads=[self.chance.random() < 0.3 for _ in leases])

    def heartbeat(self, ledger: Ledger) -> None:
        self.session.settle("heartbeat", self.leases[:5])

    def cancel(self, ledger: Ledger) -> None:
        rows = self.session.rows(
            "select * from lonnymq.message_cancel(%s::bigint[])", self.known[-4:]
        )
        ledger.cancelled |= {each.id for each in rows if each.answer == "cancelled"}

    def purge(self, ledger: Ledger) -> None:
        ledger.purged += self.session.value(
            "select lonnymq.message_purge(%s, 3)", self.chance.choice(CHANNELS)
        )

    def settle_stale(self, ledger: Ledger) -> None:
        answers = self.session.complete(*self.stale[-3:])
        ledger.completed |= {
            lease.id
            for lease, answer in zip(self.stale[-3:], answers, strict=True)
            if answer == "completed"
        }
