"""This project, through `lonnymq.Queue` over a DSN, with its defaults; and the same with history off."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from benchmarks.flow import Flow
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

    def consume(self, flow: Flow, dsn: str, batch: int) -> None:
        with Queue(dsn) as queue:
            queue.epoch()
            flow.ready()
            while not flow.stopped:
                if not take(queue, batch, flow):
                    flow.nap()

    def listen(self, flow: Flow, dsn: str, slots: int = 1) -> None:
        asyncio.run(work(flow, dsn, slots))


class LonnyMQWorker(LonnyMQ):
    name = "lonnymq worker"
    notes = "lonnymq.Worker(concurrency=1000), as the worker guide advises for short handlers, async, in 2 processes"

    def consumers(self, batch: int) -> int:
        return 2

    def consume(self, flow: Flow, dsn: str, batch: int) -> None:
        asyncio.run(work(flow, dsn, 1_000))


class LonnyMQWithoutHistory(LonnyMQ):
    name = "lonnymq history off"
    notes = 'queue.set(history="off"), otherwise the same as lonnymq'

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


async def work(flow: Flow, dsn: str, slots: int) -> None:
    """A worker whose handler does what the flow says, until the flow is stopped."""
    worker = Worker(dsn, concurrency=slots)

    @worker.handler()
    async def handle(content: bytes, context: Context) -> None:
        await flow.handle_async(decode(content), context.channel)
        flow.done()

    flow.ready()
    stopping = asyncio.create_task(wait_until_stopped(flow, worker.stop))
    await worker.run_async()
    await stopping
