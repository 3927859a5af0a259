"""The functions of dead messages, those that ran out of attempts: list, redrive and purge."""

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
    """List dead messages page by page, after an id."""


@sql_function(VIEWER)
def dead_ids(
    channel: Name | None = None,
    *,
    kind: Name | None = None,
    after: Identifier | None = None,
    limit: Count = 1000,
) -> list[int]:
    """List the ids of dead messages page by page, after an id."""


@sql_function(ADMIN)
def dead_redrive(
    message_ids: Ids | None = None,
    *,
    channel: Name | None = None,
    kind: Name | None = None,
    limit: Count = 1000,
) -> list[Redriven]:
    """Put dead messages back into their channels, by id or by channel. The channel '*' means all channels."""


@sql_function(ADMIN)
def dead_purge(
    message_ids: Ids | None = None,
    *,
    channel: Name | None = None,
    kind: Name | None = None,
    limit: Count = 10_000,
) -> int:
    """Delete dead messages, by id or by channel, and answer how many. The channel '*' means all channels."""
