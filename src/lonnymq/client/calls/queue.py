"""The functions of the whole queue: clock, policy, figures, sweep, check, repair."""
# mypy: disable-error-code="empty-body"

from __future__ import annotations

from lonnymq.client.arguments import Count, Json
from lonnymq.client.describe import ADMIN, CONSUMER, EVERYBODY, VIEWER, sql_function
from lonnymq.results import Installed, QueueSetAnswer, QueueStats, Repair, Swept, Violation


@sql_function(EVERYBODY)
def queue_installed() -> Installed:
    """Which version of the queue is in the schema."""


@sql_function(EVERYBODY, runs_as="caller")
def epoch() -> int:
    """The queue's clock: epoch milliseconds of the database."""


@sql_function(ADMIN, method=False)
def queue_set(options: Json) -> QueueSetAnswer:
    """Set the queue's policy; what is not given stays."""


@sql_function(VIEWER)
def queue_stats() -> QueueStats:
    """The queue's figures."""


@sql_function(CONSUMER)
def queue_sweep(*, limit: Count = 1000) -> Swept:
    """Expire leases, forget idle channels, drop old history; safe from anywhere, by many."""


@sql_function(VIEWER)
def queue_check() -> list[Violation]:
    """Look for broken invariants; none means healthy."""


@sql_function(ADMIN)
def queue_repair() -> list[Repair]:
    """Mend broken invariants, and say which."""
