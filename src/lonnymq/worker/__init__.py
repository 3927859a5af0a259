"""Runs your handlers: takes messages, keeps their leases, settles them, and creates what schedules say."""

try:
    import cronsim as cronsim
    import msgspec as msgspec
except ImportError as error:
    raise ImportError(
        f'a worker needs {error.name}: pip install "lonnymq[worker]"', name=error.name
    ) from error

from lonnymq.worker.context import Context, Contexts, SyncContext, SyncContexts
from lonnymq.worker.cron import check_cron, check_zone, next_tick
from lonnymq.worker.handlers import Handler, Handlers
from lonnymq.worker.outcomes import Complete, Dead, Defer, Fail, LeaseLost, Outcome, RetryAfter
from lonnymq.worker.sync_runner import Inline
from lonnymq.worker.worker import Worker

__all__ = [
    "Complete",
    "Context",
    "Contexts",
    "Dead",
    "Defer",
    "Fail",
    "Handler",
    "Handlers",
    "Inline",
    "LeaseLost",
    "Outcome",
    "RetryAfter",
    "SyncContext",
    "SyncContexts",
    "Worker",
    "check_cron",
    "check_zone",
    "next_tick",
]
