"""This project, through `lonnymq.Queue` over a DSN, with its defaults; and the same with history off."""

from __future__ import annotations

from collections.abc import Sequence

import psycopg

from benchmarks.contestants.base import Contestant, New, fresh
from benchmarks.flow import Flow
from benchmarks.payload import Payload, decode, encode
from lonnymq import NewMessage, Queue


MOST_PAUSE = 0.5  # seconds without looking


class OurProducer:
    def __init__(self, dsn: str) -> None:
        self.queue = Queue(dsn)
        self.queue.epoch()  # opens the connection

    def create_one(self, channel: str, message: Payload) -> None:
        self.queue.create(channel, encode(message))

    def create_many(self, messages: Sequence[New]) -> None:
        self.queue.create_many(
            NewMessage(encode(message), channel=name) for name, message in messages
        )

    def create_bulk(self, messages: Sequence[New]) -> None:
        self.queue.copy(NewMessage(encode(message), channel=name) for name, message in messages)

    def close(self) -> None:
        self.queue.close()


class Ours(Contestant):
    name = "lonnymq"
    has_tenants = True
    listens = True
    notes = "defaults, history on; Queue over a DSN; dequeue(limit) and complete, or complete_many for a batch"

    def install(self, dsn: str) -> None:
        with Queue(dsn) as queue:
            queue.install()

    def producer(self, dsn: str) -> OurProducer:
        return OurProducer(dsn)

    def load(self, dsn: str, count: int, channels: int) -> None:
        with Queue(dsn) as queue:
            queue.copy(
                NewMessage(encode(message), channel=name)
                for name, message in fresh(count, channels)
            )

    def consume(self, flow: Flow, dsn: str, batch: int) -> None:
        with Queue(dsn) as queue:
            queue.epoch()
            flow.ready()
            while not flow.stopped:
                if not take(queue, batch, flow):
                    flow.nap()

    def listen(self, flow: Flow, dsn: str) -> None:
        with Queue(dsn) as queue, psycopg.connect(dsn, autocommit=True) as bell:
            bell.execute(f"listen {queue.schema}")
            flow.ready()
            while not flow.stopped:
                batch = queue.dequeue()
                for message in batch:
                    flow.handle(decode(message.content), message.channel)
                    message.complete()
                    flow.done()
                if not batch:
                    pause = MOST_PAUSE if batch.look_in_ms is None else batch.look_in_ms / 1000
                    next(bell.notifies(timeout=min(pause, MOST_PAUSE), stop_after=1), None)


class OursWithoutHistory(Ours):
    name = "lonnymq, history off"
    notes = 'queue.set(history="off"), else as above'

    def install(self, dsn: str) -> None:
        super().install(dsn)
        with Queue(dsn) as queue:
            queue.set(history="off")


def take(queue: Queue, batch: int, flow: Flow) -> int:
    """Lease up to a batch, handle each, settle them."""
    messages = queue.dequeue(batch)
    for message in messages:
        flow.handle(decode(message.content), message.channel)
    if len(messages) == 1:
        messages[0].complete()
    elif messages:
        queue.complete_many(messages)
    flow.done(len(messages))
    return len(messages)
