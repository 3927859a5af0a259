"""Runs your handlers: fetches messages, extends their leases, settles them, and creates scheduled messages.

The path of a message. Each step hands the message to the next step only:

    PostgreSQL ─ message_dequeue
        ▼
    fetcher     leases as many messages as there are free slots     ◀─ listener wakes it
        ▼ messages
    runner      runs each handler in a slot                         ─▶ execution: payload, handler, outcome
        ▼ outcomes
    settler     stores many outcomes in one statement               ─▶ PostgreSQL: message_complete, _defer, _fail
        ▼ answers
    reporter    log, hooks, metrics

    session     builds, starts and stops the steps       worker      declares handlers and options
    heartbeats  extends the leases of all messages       supervisor  runs several processes
    scheduler   creates scheduled messages (cron)        sync_runner runs handlers without the pipeline

`leases` holds each message from the runner's start to the reporter's report. The runner adds, the reporter removes.
Backwards there are only signals: the fetcher waits for free slots of the runner and wakes after each report.
The database decides what comes after a failure (`message_fail`): the worker reports the error and the wanted delay.
"""

try:
    import cronsim as cronsim
    import msgspec as msgspec
except ImportError as error:
    raise ImportError(
        f'the worker needs {error.name}: run pip install "lonnymq[worker]"', name=error.name
    ) from error

from lonnymq.worker.context import Context, Contexts, SyncContext, SyncContexts
from lonnymq.worker.cron import check_cron, check_zone, next_run
from lonnymq.worker.handlers import Handler, Handlers
from lonnymq.worker.outcomes import Complete, Dead, Defer, Fail, LeaseLost, Outcome, RetryAfter
from lonnymq.worker.sync_runner import SyncRunner
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
    "LeaseLost",
    "Outcome",
    "RetryAfter",
    "SyncContext",
    "SyncContexts",
    "SyncRunner",
    "Worker",
    "check_cron",
    "check_zone",
    "next_run",
]
