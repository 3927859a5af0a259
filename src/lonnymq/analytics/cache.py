"""Caches DataFrames that are used several times."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark import StorageLevel
from pyspark.sql import DataFrame

MAX_WAIT_SECONDS = 10.0
POLL_SECONDS = 0.02


@contextmanager
def cached(
    *frames: DataFrame, level: StorageLevel = StorageLevel.MEMORY_AND_DISK_DESER
) -> Iterator[None]:
    """Cache the frames until the end of the block."""
    for frame in frames:
        frame.persist(level)
    try:
        yield
    finally:
        for frame in frames:
            wait_for_tasks(frame.sparkSession.sparkContext)
            frame.unpersist(blocking=True)


def wait_for_tasks(context: Any) -> None:
    """Wait until no task runs any more, though not for long: others may have work of their own in this session.

    Where one side of a join turns out to be empty Spark gives up the stages of the other and answers, while their
    tasks still run for a moment, and put what they compute into a memory that is not there any longer.
    """
    until = time.monotonic() + MAX_WAIT_SECONDS
    while count_running_tasks(context) and time.monotonic() < until:
        time.sleep(POLL_SECONDS)


def count_running_tasks(context: Any) -> int:
    """How many tasks run on all executors; PySpark's own tracker does not say."""
    executors = context._jsc.sc().statusTracker().getExecutorInfos()
    return sum(each.numRunningTasks() for each in executors)
