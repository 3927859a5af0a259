"""What the members of a crew do: each a function of a flow, found by name in their own process."""

from __future__ import annotations

import random
import time

from benchmarks.contestants import contestant
from benchmarks.contestants.base import fresh
from benchmarks.flow import Flow
from benchmarks.payload import channel_name, payload

AHEAD = 2_000  # messages that producers may be ahead of consumers in a steady state
NAP_SECONDS = 0.001


def install(flow: Flow, name: str, dsn: str) -> None:
    contestant(name).install(dsn)


def load(flow: Flow, name: str, dsn: str, count: int, channels: int) -> None:
    contestant(name).load(dsn, count, channels)


def produce(flow: Flow, name: str, dsn: str, batch: int, channels: int) -> None:
    """Create `batch` messages a call, each for a tenant at random, until stopped."""
    producer = contestant(name).producer(dsn)
    chance = random.Random(flow.slot)
    flow.ready()
    while not flow.stopped:
        produce_once(producer, batch, channels, chance)
        flow.done(batch)
    producer.close()


def produce_in_step(
    flow: Flow, name: str, dsn: str, batch: int, channels: int, us: range, them: range
) -> None:
    """Create as long as all producers together are not too far ahead of all consumers."""
    producer = contestant(name).producer(dsn)
    chance = random.Random(flow.slot)
    flow.ready()
    while not flow.stopped:
        if flow.others(us) - flow.others(them) > AHEAD:
            time.sleep(NAP_SECONDS)
            continue
        produce_once(producer, batch, channels, chance)
        flow.done(batch)
    producer.close()


def produce_bulk(flow: Flow, name: str, dsn: str, batch: int, channels: int, calls: int) -> float:
    """So many large calls, and the seconds that they took."""
    producer = contestant(name).producer(dsn)
    create = getattr(producer, "create_bulk", producer.create_many)
    parts = [list(fresh(batch, channels)) for _ in range(calls)]
    create(parts[0][:100])
    flow.ready()
    start = time.monotonic()
    for part in parts:
        create(part)
        flow.done(batch)
    seconds = time.monotonic() - start
    producer.close()
    return seconds


def produce_once(producer, batch: int, channels: int, chance: random.Random) -> None:  # type: ignore[no-untyped-def]
    if batch == 1:
        producer.create_one(channel_name(chance.randrange(channels)), payload())
        return
    producer.create_many(
        [(channel_name(chance.randrange(channels)), payload()) for _ in range(batch)]
    )


def consume(flow: Flow, name: str, dsn: str, batch: int) -> None:
    contestant(name).consume(flow, dsn, batch)
