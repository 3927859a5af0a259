"""Builders of the worker functions: who is there, and what they are at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lonnymq.calls import check
from lonnymq.calls.call import Call, Record, loads, scalar
from lonnymq.results import WorkerGoneAnswer, WorkerSeen, WorkerSeenAnswer

WORKER = Record(WorkerSeen, about=loads)


def worker_seen(
    schema: str,
    name: str,
    *,
    concurrency: int,
    running: int,
    stopping: bool,
    about: Mapping[str, Any] | None,
    again_ms: check.Duration,
) -> Call[WorkerSeenAnswer]:
    """Say that a worker is there."""
    values = (
        check.name("worker", name),
        check.count("concurrency", concurrency),
        check.count("running", running),
        check.yes_or_no("stopping", stopping),
        check.headers("about", about or {}),
        check.milliseconds("again_ms", again_ms),
    )
    return scalar(schema, "worker_seen", "text integer integer boolean jsonb bigint", values)


def worker_gone(schema: str, name: str) -> Call[WorkerGoneAnswer]:
    """Say that a worker has ended."""
    return scalar(schema, "worker_gone", "text", (check.name("worker", name),))


def worker_list(schema: str, *, after: str | None, limit: int) -> Call[list[WorkerSeen]]:
    """A page of workers, by name."""
    values = (check.optional(check.text, "after", after), check.count("limit", limit))
    return WORKER.call(schema, "worker_list", "text integer", values)
