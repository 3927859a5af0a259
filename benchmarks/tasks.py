"""What the members of a group do: each a function of a control, found by name in their own process."""

from __future__ import annotations

import random
import time
from typing import Any

from benchmarks.load_control import LoadControl
from benchmarks.payload import channel_name, make_payload
from benchmarks.systems import get_system
from benchmarks.systems.base import make_messages
from lonnymq import Queue

AHEAD = 2_000  # messages that producers may be ahead of consumers in a steady state
NAP_SECONDS = 0.001


def install(control: LoadControl, name: str, dsn: str) -> None:
    get_system(name).install(dsn)


def load(control: LoadControl, name: str, dsn: str, count: int, channels: int) -> None:
    get_system(name).load(dsn, count, channels)


def produce(control: LoadControl, name: str, dsn: str, batch: int, channels: int) -> None:
    """Create `batch` messages a call, each for a tenant at random, until stopped."""
    producer = get_system(name).producer(dsn)
    rng = random.Random(control.slot)
    control.ready()
    while not control.stopped:
        produce_once(producer, batch, channels, rng)
        control.done(batch)
    producer.close()


def produce_in_step(
    control: LoadControl, name: str, dsn: str, batch: int, channels: int, us: range, them: range
) -> None:
    """Create as long as all producers together are not too far ahead of all consumers."""
    producer = get_system(name).producer(dsn)
    rng = random.Random(control.slot)
    control.ready()
    while not control.stopped:
        if control.others(us) - control.others(them) > AHEAD:
            time.sleep(NAP_SECONDS)
            continue
        produce_once(producer, batch, channels, rng)
        control.done(batch)
    producer.close()


def produce_bulk(
    control: LoadControl, name: str, dsn: str, batch: int, channels: int
) -> tuple[int, float]:
    """Large calls until a second is over: how many messages, and the seconds that they took."""
    producer = get_system(name).producer(dsn)
    create = getattr(producer, "create_bulk", producer.create_many)
    messages = list(make_messages(batch, channels))
    create(messages[:100])
    control.ready()
    start, count = time.monotonic(), 0
    while time.monotonic() - start < 1.0:
        create(messages)
        count += batch
    seconds = time.monotonic() - start
    producer.close()
    return count, seconds


def produce_once(producer: Any, batch: int, channels: int, rng: random.Random) -> None:
    if batch == 1:
        producer.create_one(channel_name(rng.randrange(channels)), make_payload())
        return
    producer.create_many(
        [(channel_name(rng.randrange(channels)), make_payload()) for _ in range(batch)]
    )


def consume(
    control: LoadControl, name: str, dsn: str, batch: int, work_seconds: float = 0.0
) -> None:
    control.work_seconds = work_seconds
    get_system(name).consume(control, dsn, batch)


def listen(
    control: LoadControl, name: str, dsn: str, work_seconds: float = 0.0, slots: int = 1
) -> list[tuple[str, int]]:
    """Handle messages as a worker does, and return how long each had waited."""
    control.listening, control.work_seconds = True, work_seconds
    get_system(name).listen(control, dsn, slots)
    return control.waits


def consume_and_record(
    control: LoadControl, name: str, dsn: str, batch: int, work_seconds: float = 0.0
) -> list[tuple[str, int]]:
    """The same for consumers that ask again and again."""
    control.listening, control.work_seconds = True, work_seconds
    get_system(name).consume(control, dsn, batch)
    return control.waits


def produce_slowly(
    control: LoadControl, name: str, dsn: str, first: int, last: int, gap_seconds: float
) -> int:
    """Create one message at a time, for a tenant at random, after random pauses; return how many."""
    producer = get_system(name).producer(dsn)
    rng = random.Random(control.slot)
    control.ready()
    count = 0
    while not control.stopped:
        time.sleep(rng.uniform(0.5, 1.5) * gap_seconds)
        producer.create_one(channel_name(rng.randint(first, last)), make_payload())
        count += 1
        control.done()
    producer.close()
    return count


def load_unevenly(
    control: LoadControl, name: str, dsn: str, noisy: int, quiet: int, tenants: int
) -> None:
    """The first tenant's many, then some for each of the others."""
    producer = get_system(name).producer(dsn)
    backlog = [(channel_name(0), noisy)] + [
        (channel_name(each), quiet) for each in range(1, tenants)
    ]
    for channel, count in backlog:
        for start in range(0, count, 1_000):
            producer.create_many(
                [(channel, make_payload()) for _ in range(min(1_000, count - start))]
            )
    producer.close()


def time_dequeues(control: LoadControl, places: list[str], calls: int) -> list[list[float]]:
    """Time dequeues of one message at each place, the places taking turns in short blocks; the seconds of each call."""
    queues = [Queue(dsn) for dsn in places]
    seconds: list[list[float]] = [[] for _ in places]
    for _ in range(0, calls, BLOCK):
        for queue, times in zip(queues, seconds, strict=True):
            times.extend(time_dequeue_block(queue, BLOCK))
    for queue in queues:
        queue.close()
    return seconds


BLOCK = 25


def time_dequeue_block(queue: Queue, calls: int) -> list[float]:
    times = []
    for _ in range(calls):
        start = time.perf_counter()
        batch = queue.dequeue(1)
        times.append(time.perf_counter() - start)
        for message in batch:
            message.complete()
            queue.create(message.channel, message.content, dequeue_at=0)
    return times


def consume_raw(control: LoadControl, dsn: str, batch: int) -> None:
    """Our consumer over contents that are no JSON."""
    with Queue(dsn) as queue:
        queue.epoch()
        control.ready()
        while not control.stopped:
            messages = queue.dequeue(batch)
            queue.complete_many(messages)
            control.done(len(messages))


def produce_count(
    control: LoadControl, name: str, dsn: str, batch: int, channels: int, count: int
) -> None:
    """Create exactly so many, `batch` a call."""
    producer = get_system(name).producer(dsn)
    rng = random.Random(1)
    for _ in range(0, count, batch):
        produce_once(producer, batch, channels, rng)
    producer.close()


def produce_at_rate(
    control: LoadControl, name: str, dsn: str, rate: int, batch: int, channels: int
) -> None:
    """Create `batch` a call, so many a second in all, and catch up after a delay."""
    producer = get_system(name).producer(dsn)
    rng = random.Random(control.slot)
    control.ready()
    start, made = time.monotonic(), 0
    while not control.stopped:
        if made > (time.monotonic() - start) * rate:
            time.sleep(NAP_SECONDS)
            continue
        produce_once(producer, batch, channels, rng)
        made += batch
        control.done(batch)
    producer.close()
