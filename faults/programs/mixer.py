"""A session that does everything in random order, several channels in one transaction, to look for deadlocks.

python -m faults.programs.mixer '{"dsn": …, "journal": …, "seed": …, "transactions": …}'
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from typing import Any

import psycopg

from faults.journal import Journal
from faults.programs import end_with_parent
from lonnymq import NewMessage, Queue
from lonnymq.errors import LonnyMQError
from lonnymq.results import Leased

CHANNELS = [f"tenant-{number}" for number in range(8)]
KEYS = [f"key-{number}" for number in range(30)]


class Mixer:
    """What may wait for another by design (one key, one channel's settings) comes first and once; the rest mixed."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.connection = psycopg.connect(given["dsn"], autocommit=True)
        self.queue = Queue(self.connection)
        self.chance = random.Random(given["seed"])
        self.journal = Journal(given["journal"])
        self.leases: list[Leased] = []
        self.ids: list[int] = []
        self.errors: Counter[str] = Counter()

    def run(self, transactions: int) -> None:
        """Make so many transactions, and say what went wrong."""
        for number in range(transactions):
            try:
                self.transact()
            except (psycopg.Error, LonnyMQError) as error:
                self.errors[f"{getattr(error, 'sqlstate', '')} {error}"[:200]] += 1
            if number % 500 == 499 or number == transactions - 1:
                self.journal.write(transactions=number + 1, errors=dict(self.errors))

    def transact(self) -> None:
        """One transaction: a dequeue or a sweep alone, or several of the others together."""
        if self.chance.random() < 0.35:
            self.dequeue()
            return
        with self.connection.transaction(force_rollback=self.chance.random() < 0.1):
            if self.chance.random() < 0.12:
                self.chance.choice(
                    [self.set, self.pause, self.resume, self.create_keyed, self.redrive]
                )()
            for _ in range(self.chance.randint(1, 4)):
                self.chance.choices(
                    [self.create, self.complete, self.fail, self.defer, self.heartbeat, self.cancel, self.purge],
                    [8, 10, 4, 3, 3, 2, 1],
                )[0]()  # fmt: skip

    def some(self) -> list[Leased]:
        """A few leases, perhaps stale ones."""
        self.chance.shuffle(self.leases)
        taken, self.leases = self.leases[:3], self.leases[3:][-200:]
        return taken

    def dequeue(self) -> None:
        if self.chance.random() < 0.04:
            self.queue.maintain(limit=50)
            return
        lease_ms = self.chance.choice([1, 20, 30_000, 30_000])
        self.leases += self.queue.dequeue(limit=self.chance.randint(1, 6), lease_ms=lease_ms)

    def create(self) -> None:
        channels = self.chance.choices(CHANNELS, k=self.chance.randint(1, 5))
        made = self.queue.create_many([NewMessage(b"x", channel) for channel in channels])
        self.ids = [*self.ids, *(each.id for each in made if hasattr(each, "id"))][-50:]

    def create_keyed(self) -> None:
        keys = self.chance.sample(KEYS, 4)
        self.queue.create_many(
            [NewMessage(b"x", self.chance.choice(CHANNELS), key=key) for key in keys]
        )

    def complete(self) -> None:
        self.queue.complete_many(self.some())

    def fail(self) -> None:
        self.queue.fail_many(self.some(), error="x", retry_ms=1, dead=self.chance.random() < 0.2)

    def defer(self) -> None:
        self.queue.defer_many(self.some(), delay_ms=self.chance.choice([0, 5]))

    def heartbeat(self) -> None:
        self.queue.heartbeat_many(self.leases[:5])

    def cancel(self) -> None:
        self.queue.cancel_many(self.ids[-3:])

    def purge(self) -> None:
        self.queue.purge(self.chance.choice(CHANNELS), limit=3)

    def redrive(self) -> None:
        self.queue.dead_redrive(channel=self.chance.choice(CHANNELS), limit=5)

    def pause(self) -> None:
        self.queue.channel_pause(CHANNELS[0])

    def resume(self) -> None:
        self.queue.channel_resume(CHANNELS[0])

    def set(self) -> None:
        options = self.chance.choice(
            [
                {"max_concurrency": self.chance.choice([None, 3, 20])},
                {"min_interval_ms": self.chance.choice([None, 1]), "burst": 20},
                {"max_size": self.chance.choice([None, 60])},
                {"weight": self.chance.randint(1, 3)},
            ]
        )
        self.queue.channel_set(self.chance.choice(CHANNELS), **options)  # type: ignore[arg-type]


if __name__ == "__main__":
    end_with_parent()
    settings = json.loads(sys.argv[1])
    Mixer(settings).run(settings["transactions"])
