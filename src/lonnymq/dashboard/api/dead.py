"""Dead messages, grouped by error and listed."""

from __future__ import annotations

from typing import Any

from lonnymq.dashboard.api.content import PREVIEW_BYTES, format_preview, summarize_error
from lonnymq.dashboard.api.schemas import build_count
from lonnymq.dashboard.queues import MonitoredQueue, Row, fetch
from lonnymq.dashboard.request import MAX_ID, decode_cursor, encode_cursor

GROUPS = "select * from {schema}.dead_groups(%(channel)s, %(kind)s, 10000)"
MATCH = """
select * from {schema}.dead_match(
  %(group)s, %(channel)s, %(kind)s, %(before)s, %(limit)s, 10000, %(bytes)s)
"""
FIGURES = "select * from {schema}.queue_metrics()"
MAX_GROUPED = 10_000


async def group_dead(
    queue: MonitoredQueue, *, channel: str | None, kind: str | None
) -> dict[str, Any]:
    """The newest ten thousand dead messages, grouped by error."""
    async with queue.read_transaction() as connection:
        parameters = {"channel": channel, "kind": kind}
        rows = await fetch(connection, queue.schema, GROUPS, parameters)
        figures = (await fetch(connection, queue.schema, FIGURES))[0]
    looked_at = rows[0]["looked_at"]
    is_filtered = channel is not None or kind is not None
    matched = sum(each["messages"] or 0 for each in rows)
    return {
        "now_at": rows[0]["now_at"],
        "total": build_count(matched, at_least=looked_at >= MAX_GROUPED)
        if is_filtered or looked_at < MAX_GROUPED
        else build_count(max(figures["dead"], looked_at), exact=figures["dead_is_exact"]),
        "looked_at": looked_at,
        "complete": looked_at < MAX_GROUPED,
        "groups": [format_group(each) for each in rows if each["error_group"] is not None],
    }


def format_group(row: Row) -> dict[str, Any]:
    """Dead messages with similar errors."""
    return {
        "group": row["error_group"],
        "error": row["error"],
        "count": row["messages"],
        "channels": row["channels"],
        "example_channels": row["example_channels"],
        "kinds": row["kinds"],
        "first_at": row["first_at"],
        "last_at": row["last_at"],
        "newest_id": str(row["newest_id"]),
    }


async def list_dead(
    queue: MonitoredQueue,
    *,
    group: str | None,
    channel: str | None,
    kind: str | None,
    cursor: str | None,
    limit: int,
) -> dict[str, Any]:
    """A page of dead messages, newest first."""
    (before,) = decode_cursor(cursor, (MAX_ID,), int)
    parameters = {"group": group, "channel": channel, "kind": kind, "before": before, "limit": limit,
             "bytes": PREVIEW_BYTES}  # fmt: skip
    rows = await queue.rows(MATCH, parameters)
    upto = rows[0]["upto"]
    return {
        "now_at": rows[0]["now_at"],
        "messages": [format_row(each) for each in rows if each["id"] is not None],
        "next": encode_cursor(upto) if upto is not None else None,
    }


def format_row(row: Row) -> dict[str, Any]:
    """A dead message in a list."""
    return {
        "id": str(row["id"]),
        **{field: row[field] for field in ROW_FIELDS},
        "summary": summarize_error(row["error"]),
        "preview": format_preview(row["head"], row["size"]),
    }


ROW_FIELDS = ("channel", "kind", "key", "attempt", "created_at", "died_at", "size")
