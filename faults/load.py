"""Messages and time, for scenarios that need no producer of their own: created from the run's own process."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from faults.call_log import CallLog
from faults.processes import ProcessGroup, RestartableProcess
from lonnymq import NewMessage, Queue
from lonnymq.results import Created, Duplicate

CHANNELS = [f"tenant-{number}" for number in range(20)]


def start_load(
    processes: ProcessGroup, dsns: Sequence[str], *, seed: int, rate: float, workers: int = 4,
    lease_ms: int = 2000, kinds: dict[str, float] | None = None,
) -> list[RestartableProcess]:  # fmt: skip
    """Start workers and a producer for each DSN, workers in turn, and return the producers."""
    for number in range(workers):
        processes.start("worker", dsn=dsns[number % len(dsns)], concurrency=20, lease_ms=lease_ms)
    return [
        processes.start(
            "producer", dsn=dsn, seed=seed + number, count=10**9, rate=rate / len(dsns),
            kinds=kinds or {"quick": 6, "slow": 2}, channels=CHANNELS,
        )
        for number, dsn in enumerate(dsns)
    ]  # fmt: skip


def created_ids(answers: Iterable[object]) -> list[int]:
    """The ids of messages that were created or were there: no channel of a run is ever full."""
    known = [each for each in answers if isinstance(each, Created | Duplicate)]
    return [each.id for each in known]


def create_messages(
    queue: Queue, call_log: CallLog, channels: Sequence[str], *, kind: str, prefix: str,
    padding: int = 0, group: int | None = None, **more: Any,
) -> list[int]:  # fmt: skip
    """One message for each channel named, up to 1,000 a call, written down."""
    ids: list[int] = []
    for at in range(0, len(channels), 1000):
        part = channels[at : at + 1000]
        labels = [f"{prefix}-{at + number}" for number in range(len(part))]
        messages = [
            NewMessage(label.encode() + random_bytes(padding), channel, kind=kind, **more)
            for label, channel in zip(labels, part, strict=True)
        ]
        call = call_log.begin("create", labels=labels, channels=list(part))
        try:
            made = created_ids(queue.create_many(messages, group=group))
        except BaseException as error:
            call_log.failed(call, "create", error)
            raise
        call_log.end(call, "create", "ok", ids=made)
        ids += made
    return ids


@lru_cache(maxsize=4)
def random_bytes(size: int) -> bytes:
    """So many bytes that nothing can compress; the label before them ends with the space."""
    return b" " + random.Random(size).randbytes(size) if size else b""


def percentile(values: Iterable[float], share: float) -> float:
    """The value below which this share of them lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, math.ceil(share * len(ordered)) - 1)] if ordered else 0.0


def pace(rate: float, seconds: float) -> Iterable[int]:
    """Numbers, so many a second for so long; behind its time it catches up."""
    began, number = time.monotonic(), 0
    while (now := time.monotonic() - began) < seconds:
        if number < now * rate:
            yield number
            number += 1
        else:
            time.sleep(min(0.005, (number + 1) / rate - now if rate else 0.005))
