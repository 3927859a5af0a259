"""This project, through `lonnymq.Queue` over a DSN, with its defaults; and the same with history off."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from benchmarks.load_control import LoadControl
from benchmarks.payload import Payload, decode, encode
from benchmarks.systems.base import New, System, make_messages, wait_until_stopped
from lonnymq import Context, NewMessage, Queue, Worker


class LonnyMQProducer:
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


class LonnyMQ(System):
    name = "lonnymq"
    package = "lonnymq"
    has_tenants = True
    listens = True
    notes = "defaults, history on. Queue over a DSN. dequeue(limit) and complete, or complete_many for a batch"

    def install(self, dsn: str) -> None:
        with Queue(dsn) as queue:
            queue.install()

    def producer(self, dsn: str) -> LonnyMQProducer:
        return LonnyMQProducer(dsn)

    def load(self, dsn: str, count: int, channels: int) -> None:
        with Queue(dsn) as queue:
            queue.copy(
                NewMessage(encode(message), channel=name)
                for name, message in make_messages(count, channels)
            )

    def consume(self, control: LoadControl, dsn: str, batch: int) -> None:
        with Queue(dsn) as queue:
            queue.epoch()
            control.ready()
            while not control.stopped:
                if not take(queue, batch, control):
                    control.nap()

    def listen(self, control: LoadControl, dsn: str, slots: int = 1) -> None:
        asyncio.run(work(control, dsn, slots))


class LonnyMQWorker(LonnyMQ):
    name = "lonnymq worker"
    notes = "lonnymq.Worker(concurrency=1000), as the worker guide advises for short handlers, async, in 2 processes"

    def consumers(self, batch: int) -> int:
        return 2

    def consume(self, control: LoadControl, dsn: str, batch: int) -> None:
        asyncio.run(work(control, dsn, 1_000))


class LonnyMQWithoutHistory(LonnyMQ):
    name = "lonnymq history off"
    notes = 'queue.set(history="off"), otherwise the same as lonnymq'

    def install(self, dsn: str) -> None:
        super().install(dsn)
        with Queue(dsn) as queue:
            queue.set(history="off")


def take(queue: Queue, batch: int, control: LoadControl) -> int:
    """Lease up to a batch, handle each, settle them."""
    messages = queue.dequeue(batch)
    for message in messages:
        control.handle(decode(message.content), message.channel)
    if len(messages) == 1:
        messages[0].complete()
    elif messages:
        queue.complete_many(messages)
    control.done(len(messages))
    return len(messages)


async def work(control: LoadControl, dsn: str, slots: int) -> None:
    """A worker whose handler does what the control says, until the control says stop."""
    worker = Worker(dsn, concurrency=slots)

    @worker.handler()
    async def handle(content: bytes, context: Context) -> None:
        await control.handle_async(decode(content), context.channel)
        control.done()

    control.ready()
    stopping = asyncio.create_task(wait_until_stopped(control, worker.stop))
    await worker.run_async()
    await stopping
