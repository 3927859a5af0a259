"""The functions of dead messages, those that ran out of attempts: list, redrive and purge."""
# mypy: disable-error-code="empty-body"

from __future__ import annotations

from lonnymq.client.arguments import Count, Identifier, Ids, Name
from lonnymq.client.describe import ADMIN, VIEWER, sql_function
from lonnymq.results import DeadMessage, Redriven


@sql_function(VIEWER)
def dead_list(
    channel: Name | None = None,
    *,
    kind: Name | None = None,
    after: Identifier | None = None,
    limit: Count = 100,
) -> list[DeadMessage]:
    """A page of dead messages, after an id."""


@sql_function(VIEWER)
def dead_ids(
    channel: Name | None = None,
    *,
    kind: Name | None = None,
    after: Identifier | None = None,
    limit: Count = 1000,
) -> list[int]:
    """A page of the ids of dead messages, after an id."""


@sql_function(ADMIN)
def dead_redrive(
    message_ids: Ids | None = None,
    *,
    channel: Name | None = None,
    kind: Name | None = None,
    limit: Count = 1000,
) -> list[Redriven]:
    """Let dead messages live again, at their place in time; channel '*' means all."""


@sql_function(ADMIN)
def dead_purge(
    message_ids: Ids | None = None,
    *,
    channel: Name | None = None,
    kind: Name | None = None,
    limit: Count = 10_000,
) -> int:
    """Delete dead messages for good, and say how many; channel '*' means all."""
