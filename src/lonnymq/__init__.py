"""LonnyMQ: a multi-tenant message queue inside PostgreSQL, and its public Python names."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lonnymq import errors, results
    from lonnymq.calls import NewMessage
    from lonnymq.embedded_postgres import embedded
    from lonnymq.queue import Queue
    from lonnymq.queue_async import AsyncQueue
    from lonnymq.results import Lease
    from lonnymq.worker import (
        Context,
        Contexts,
        Dead,
        LeaseLost,
        RetryAfter,
        SyncContext,
        SyncContexts,
        Worker,
    )

__all__ = [
    "AsyncQueue",
    "Context",
    "Contexts",
    "Dead",
    "Lease",
    "LeaseLost",
    "NewMessage",
    "Queue",
    "RetryAfter",
    "SyncContext",
    "SyncContexts",
    "Worker",
    "embedded",
    "errors",
    "results",
]

HOME = {
    "AsyncQueue": "lonnymq.queue_async",
    "Context": "lonnymq.worker",
    "Contexts": "lonnymq.worker",
    "Dead": "lonnymq.worker",
    "Lease": "lonnymq.results",
    "LeaseLost": "lonnymq.worker",
    "NewMessage": "lonnymq.calls",
    "Queue": "lonnymq.queue",
    "RetryAfter": "lonnymq.worker",
    "SyncContext": "lonnymq.worker",
    "SyncContexts": "lonnymq.worker",
    "Worker": "lonnymq.worker",
    "embedded": "lonnymq.embedded_postgres",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that the pytest plugin costs nothing."""
    if name in ("errors", "results"):
        return import_module(f"lonnymq.{name}")
    if name not in HOME:
        raise AttributeError(f"module 'lonnymq' has no attribute {name!r}")
    value = getattr(import_module(HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
