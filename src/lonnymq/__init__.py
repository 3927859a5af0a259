"""LonnyMQ: a multi-tenant message queue inside PostgreSQL, and its public Python names."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lonnymq import errors as errors
    from lonnymq import results as results
    from lonnymq.client import AsyncQueue as AsyncQueue
    from lonnymq.client import NewMessage as NewMessage
    from lonnymq.client import Queue as Queue
    from lonnymq.client import install as install
    from lonnymq.client import install_script as install_script
    from lonnymq.embedded_postgres import embedded as embedded
    from lonnymq.results import Lease as Lease
    from lonnymq.task import Task as Task
    from lonnymq.worker import Context as Context
    from lonnymq.worker import Contexts as Contexts
    from lonnymq.worker import Dead as Dead
    from lonnymq.worker import LeaseLost as LeaseLost
    from lonnymq.worker import RetryAfter as RetryAfter
    from lonnymq.worker import SyncContext as SyncContext
    from lonnymq.worker import SyncContexts as SyncContexts
    from lonnymq.worker import Worker as Worker

__version__ = "0.1.0"  # the only place where the version stands

HOMES = {
    "AsyncQueue": "lonnymq.client",
    "Context": "lonnymq.worker",
    "Contexts": "lonnymq.worker",
    "Dead": "lonnymq.worker",
    "Lease": "lonnymq.results",
    "LeaseLost": "lonnymq.worker",
    "NewMessage": "lonnymq.client",
    "Queue": "lonnymq.client",
    "RetryAfter": "lonnymq.worker",
    "SyncContext": "lonnymq.worker",
    "SyncContexts": "lonnymq.worker",
    "Task": "lonnymq.task",
    "Worker": "lonnymq.worker",
    "embedded": "lonnymq.embedded_postgres",
    "install": "lonnymq.client",
    "install_script": "lonnymq.client",
}
MODULES = ("errors", "results")


if not TYPE_CHECKING:  # a type checker would take every name for a public one

    def __getattr__(name: str) -> Any:
        """Import a public name when it is first used, so that the pytest plugin costs nothing."""
        if name in MODULES:
            return import_module(f"lonnymq.{name}")
        if name not in HOMES:
            raise AttributeError(f"module 'lonnymq' has no attribute {name!r}")
        value = getattr(import_module(HOMES[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted([*HOMES, *MODULES])
