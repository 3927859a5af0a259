"""Builders of what concerns the whole queue: clock, policy, figures, sweep, check, repair."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lonnymq.calls import check
from lonnymq.calls.call import Call, Record, scalar
from lonnymq.results import Installed, QueueSetAnswer, QueueStats, Repair, Swept, Violation

STATS = Record(QueueStats)
INSTALLED = Record(Installed)
SWEPT = Record(Swept)
VIOLATION = Record(Violation)
REPAIR = Record(Repair)


def epoch(schema: str) -> Call[int]:
    """The queue's clock."""
    return scalar(schema, "epoch", "", ())


def queue_installed(schema: str) -> Call[Installed]:
    """Which version is installed."""
    return INSTALLED.call_one(schema, "queue_installed", "", ())


def queue_set(schema: str, options: Mapping[str, Any]) -> Call[QueueSetAnswer]:
    """Set the queue's policy; what is not given stays."""
    return scalar(schema, "queue_set", "jsonb", (check.as_json("options", options),))


def queue_stats(schema: str) -> Call[QueueStats]:
    """The queue's figures."""
    return STATS.call_one(schema, "queue_stats", "", ())


def queue_sweep(schema: str, *, limit: int) -> Call[Swept]:
    """Expire leases, forget idle channels, drop old history."""
    return SWEPT.call_one(schema, "queue_sweep", "integer", (check.count("limit", limit),))


def queue_check(schema: str) -> Call[list[Violation]]:
    """Look for broken invariants."""
    return VIOLATION.call(schema, "queue_check", "", ())


def queue_repair(schema: str) -> Call[list[Repair]]:
    """Mend broken invariants."""
    return REPAIR.call(schema, "queue_repair", "", ())
