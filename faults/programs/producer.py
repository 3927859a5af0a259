"""A producer that a run starts and kills: it creates messages in every way there is, and writes down what it hears.

python -m faults.programs.producer '{"dsn": …, "call_log": …, "name": …, "seed": …, "count": …, …}'
"""

from __future__ import annotations

import json
import random
import sys
import time
from typing import Any

import psycopg

from faults.call_log import CallLog
from faults.load import created_ids
from faults.programs import end_with_parent
from lonnymq import NewMessage, Queue
from lonnymq.errors import LonnyMQError

WAYS = {"one": 4, "many": 5, "with_key": 1, "own": 1, "rolled_back": 1}
TROUBLE = (psycopg.Error, LonnyMQError, OSError)


class Producer:
    """Creates so many messages at such a rate, in random ways."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given
        self.call_log = CallLog(given["call_log"])
        self.rng = random.Random(given["seed"])
        self.queue = Queue(given["dsn"])
        self.connection: psycopg.Connection[Any] | None = None
        self.made = 0

    def run(self) -> None:
        """Create them all."""
        began, rate, count = time.monotonic(), self.given.get("rate"), self.given["count"]
        ways = self.given.get("ways", WAYS)
        while self.made < count:
            if rate and self.made / rate > time.monotonic() - began:
                time.sleep(0.01)
                continue
            [way] = self.rng.choices(list(ways), list(ways.values()))
            try:
                getattr(self, way)()
            except TROUBLE:
                time.sleep(0.05)
        self.call_log.write(done=True)

    def messages(self, number: int, **more: Any) -> list[NewMessage]:
        """New messages, each with a label that nobody else uses."""
        kinds = self.given["kinds"]
        messages = []
        for _ in range(number):
            self.made += 1
            label = f"{self.given['name']}-{self.made}"
            delay = self.rng.choice([None] * 8 + [self.rng.randint(1, 500)])
            [kind] = self.rng.choices(list(kinds), list(kinds.values()))
            content = label.encode() + b" " * self.given.get("padding", 0)
            channel = self.rng.choice(self.given["channels"])
            messages.append(NewMessage(content, channel, delay_ms=delay, kind=kind, **more))
        return messages

    def call(self, messages: list[NewMessage], using: Any = None) -> int:
        """Create them in one call; what is part of a transaction is acknowledged by its commit."""
        labels = [bytes(each.content).split(b" ")[0].decode() for each in messages]
        number = self.call_log.begin(
            "create", labels=labels, channels=[each.channel for each in messages]
        )
        try:
            ids = created_ids(self.queue.create_many(messages, using=using))
        except BaseException as error:
            self.call_log.failed(number, "create", error)
            raise
        if using is None:
            self.call_log.end(number, "create", "ok", ids=ids)
        self.pending = (number, ids)
        return number

    def one(self) -> None:
        """One message."""
        self.call(self.messages(1))

    def many(self) -> None:
        """A batch."""
        self.call(self.messages(self.rng.randint(2, self.given.get("batch", 40))))

    def with_key(self) -> None:
        """A message with a key, tried until somebody says that it is there."""
        [message] = self.messages(1, key=f"{self.given['name']}-{self.made}")
        for _ in range(50):
            try:
                self.call([message])
            except TROUBLE:
                time.sleep(0.1)
            else:
                return

    def own(self) -> None:
        """A transaction of the producer's own, over several channels."""
        self.transact(commit=True)

    def rolled_back(self) -> None:
        """The same, taken back."""
        self.transact(commit=False)

    def transact(self, *, commit: bool) -> None:
        """Create in a transaction on a connection of our own."""
        if self.connection is None or self.connection.closed:
            self.connection = psycopg.connect(self.given["dsn"])
        messages = self.messages(self.rng.randint(1, 4))
        try:
            number = self.call(messages, self.connection)
        except BaseException:
            self.connection.close()
            raise
        if not commit:
            self.call_log.end(number, "create", "rejected", rolled_back=True)
            self.connection.close()
            return
        try:
            self.connection.commit()
        except psycopg.Error as error:
            self.call_log.failed(number, "create", error)
            self.connection.close()
            return
        self.call_log.end(number, "create", "ok", ids=self.pending[1])


if __name__ == "__main__":
    end_with_parent()
    Producer(json.loads(sys.argv[1])).run()
