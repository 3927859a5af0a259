"""Limits hold while Spark reads and works beside ordinary consumers: swept exactly over history."""

from __future__ import annotations

import threading
from pathlib import Path

import psycopg
import pytest
from pyspark.sql import SparkSession

from database.rules.intervals import most_at_once, rate_violations
from lonnymq import NewMessage, Queue
from lonnymq.spark import run_workers
from spark.streams import Table, left
from support import eventually

INTERVAL_MS, BURST, MOST, ALL = 20, 2, 3, 30
CHANNELS = ("few", "slow", "free")
KINDS = {"s", "plain", "spark"}  # the stream, the consumers, the cluster workers


@pytest.mark.long
@pytest.mark.timeout(900)
def test_limits_hold_for_a_stream_cluster_workers_and_consumers_together(
    spark: SparkSession, dsn_18: str, tmp_path: Path
) -> None:
    with Queue(dsn_18) as queue:
        queue.set(max_concurrency=ALL)
        queue.channel("few").set(max_concurrency=MOST)
        queue.channel("slow").set(min_interval_ms=INTERVAL_MS, burst=BURST)
    enough, over = threading.Event(), threading.Event()
    stream = Table(spark, dsn_18, tmp_path, maxMessagesPerTrigger=10).start(now=False)
    producer = threading.Thread(target=produce, args=(dsn_18, enough))
    consumers = [threading.Thread(target=consume, args=(dsn_18, over)) for _ in range(2)]
    try:
        producer.start()
        eventually(lambda: over.wait(0.2) or "s" in workers(dsn_18), within=240)
        for each in consumers:
            each.start()
        # Workers whose time was over before their process had started are followed by longer ones.
        for duration in (3000, 15_000, 60_000):
            run_workers(
                spark, lambda: None, url=dsn_18, num_workers=1, duration=duration, concurrency=4
            )
            if "spark" in workers(dsn_18):
                break
        eventually(lambda: over.wait(0.2) or workers(dsn_18) >= KINDS, within=240)
        enough.set()
        producer.join()
        eventually(lambda: over.wait(0.2) or left(dsn_18) == [], within=240)
    finally:
        enough.set()
        over.set()
        stream.stop()
    found = leases(dsn_18)
    few = [(begin, end) for channel, _, begin, end in found if channel == "few"]
    slow = [begin for channel, _, begin, _ in found if channel == "slow"]
    assert most_at_once(few) <= MOST
    assert most_at_once((begin, end) for *_, begin, end in found) <= ALL
    assert rate_violations(slow, INTERVAL_MS, BURST) == []


def produce(dsn: str, enough: threading.Event) -> None:
    """Keep all channels supplied."""
    with Queue(dsn) as queue:
        while not enough.is_set():
            if queue.stats().waiting < 12:
                queue.create_many([NewMessage(b"", channel) for channel in CHANNELS] * 5)
            enough.wait(0.05)


def workers(dsn: str) -> set[str]:
    """Who has finished something."""
    return {worker.partition(":")[0] for _, worker, _, _ in leases(dsn)}


def consume(dsn: str, over: threading.Event) -> None:
    """An ordinary consumer, one message after another."""
    with Queue(dsn) as queue:
        while not over.is_set():
            for message in queue.dequeue(worker="plain"):
                over.wait(0.03)
                message.complete()
            over.wait(0.01)


def leases(dsn: str) -> list[tuple[str, str, int, int]]:
    """Every lease that has ended: its channel, whose it was, from when to when."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        rows = connection.execute(
            "select channel, coalesce(worker, ''), dequeued_at, finished_at from lonnymq.history"
        )
        return rows.fetchall()
