"""A session that does everything in random order, several channels in one transaction, to look for deadlocks.

python -m faults.programs.mixer '{"dsn": …, "call_log": …, "seed": …, "transactions": …}'
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from typing import Any

import psycopg

from faults.call_log import CallLog
from faults.programs import end_with_parent
from lonnymq import NewMessage, Queue
from lonnymq.client.calls.queue import ChannelOptions
from lonnymq.errors import LonnyMQError
from lonnymq.results import Leased

CHANNELS = [f"tenant-{number}" for number in range(8)]
KEYS = [f"key-{number}" for number in range(30)]


class Mixer:
    """What may wait for another by design (one key, one channel's settings) comes first and once; the rest mixed."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.connection = psycopg.connect(given["dsn"], autocommit=True)
        self.queue = Queue(self.connection)
        self.rng = random.Random(given["seed"])
        self.call_log = CallLog(given["call_log"])
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
                self.call_log.write(transactions=number + 1, errors=dict(self.errors))

    def transact(self) -> None:
        """One transaction: a dequeue or a sweep alone, or several of the others together."""
        if self.rng.random() < 0.35:
            self.dequeue()
            return
        with self.connection.transaction(force_rollback=self.rng.random() < 0.1):
            if self.rng.random() < 0.12:
                self.rng.choice(
                    [self.set, self.pause, self.resume, self.create_keyed, self.redrive]
                )()
            for _ in range(self.rng.randint(1, 4)):
                self.rng.choices(
                    [self.create, self.complete, self.fail, self.defer, self.heartbeat, self.cancel, self.purge],
                    [8, 10, 4, 3, 3, 2, 1],
                )[0]()  # fmt: skip

    def some(self) -> list[Leased]:
        """A few leases, perhaps stale ones."""
        self.rng.shuffle(self.leases)
        taken, self.leases = self.leases[:3], self.leases[3:][-200:]
        return taken

    def dequeue(self) -> None:
        if self.rng.random() < 0.04:
            self.queue.maintain(limit=50)
            return
        lease_ms = self.rng.choice([1, 20, 30_000, 30_000])
        self.leases += self.queue.dequeue(limit=self.rng.randint(1, 6), lease_ms=lease_ms)

    def create(self) -> None:
        channels = self.rng.choices(CHANNELS, k=self.rng.randint(1, 5))
        made = self.queue.create_many([NewMessage(b"x", channel) for channel in channels])
        self.ids = [*self.ids, *(each.id for each in made if hasattr(each, "id"))][-50:]

    def create_keyed(self) -> None:
        keys = self.rng.sample(KEYS, 4)
        self.queue.create_many(
            [NewMessage(b"x", self.rng.choice(CHANNELS), key=key) for key in keys]
        )

    def complete(self) -> None:
        self.queue.complete_many(self.some())

    def fail(self) -> None:
        self.queue.fail_many(self.some(), error="x", retry_ms=1, dead=self.rng.random() < 0.2)

    def defer(self) -> None:
        self.queue.defer_many(self.some(), delay_ms=self.rng.choice([0, 5]))

    def heartbeat(self) -> None:
        self.queue.heartbeat_many(self.leases[:5])

    def cancel(self) -> None:
        self.queue.cancel_many(self.ids[-3:])

    def purge(self) -> None:
        self.queue.purge(self.rng.choice(CHANNELS), limit=3)

    def redrive(self) -> None:
        self.queue.dead_redrive(channel=self.rng.choice(CHANNELS), limit=5)

    def pause(self) -> None:
        self.queue.channel_pause(CHANNELS[0])

    def resume(self) -> None:
        self.queue.channel_resume(CHANNELS[0])

    def set(self) -> None:
        choices: list[ChannelOptions] = [
            {"max_concurrency": self.rng.choice([None, 3, 20])},
            {"min_interval_ms": self.rng.choice([None, 1]), "burst": 20},
            {"max_size": self.rng.choice([None, 60])},
            {"weight": self.rng.randint(1, 3)},
        ]
        options = self.rng.choice(choices)
        self.queue.channel_set(self.rng.choice(CHANNELS), **options)


if __name__ == "__main__":
    end_with_parent()
    settings = json.loads(sys.argv[1])
    Mixer(settings).run(settings["transactions"])
