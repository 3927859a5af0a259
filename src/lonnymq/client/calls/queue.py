"""The functions of the whole queue: clock, policy, figures, sweep, check, repair."""

from __future__ import annotations

from lonnymq.client.arguments import Count, Json
from lonnymq.client.describe import ADMIN, CONSUMER, EVERYBODY, VIEWER, sql_function
from lonnymq.results import (
    Installed,
    MaintenanceResult,
    QueueSetAnswer,
    QueueStats,
    Repair,
    Violation,
)


@sql_function(EVERYBODY)
def queue_installed() -> Installed:
    """Show which version of the queue is installed in the schema."""


@sql_function(EVERYBODY, runs_as="caller")
def epoch() -> int:
    """Answer the time of the database in epoch milliseconds."""


@sql_function(ADMIN, method=False)
def queue_set(options: Json) -> QueueSetAnswer:
    """Set options of the queue. Options that you do not give stay as they are."""


@sql_function(VIEWER)
def queue_stats() -> QueueStats:
    """Show the state and the options of the queue."""


@sql_function(CONSUMER)
def queue_maintain(*, limit: Count = 1000) -> MaintenanceResult:
    """Expire leases, remove idle channels and drop old history. Any number of processes can run this at once."""


@sql_function(VIEWER)
def queue_check() -> list[Violation]:
    """Check the queue for broken invariants. An empty list means that the queue is healthy."""


@sql_function(ADMIN)
def queue_repair() -> list[Repair]:
    """Repair broken invariants, and list the repairs."""
