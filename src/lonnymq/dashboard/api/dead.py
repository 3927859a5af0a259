"""Dead messages: grouped by what their errors have in common, and listed."""

from __future__ import annotations

from typing import Any

from lonnymq.dashboard.content import HEAD_BYTES, head_of, summary_of
from lonnymq.dashboard.cursors import NEWEST, packed, unpacked
from lonnymq.dashboard.figures import figure
from lonnymq.dashboard.queues import Row, Shown, fetch

GROUPS = "select * from {schema}.dead_groups(%(channel)s, %(kind)s, 10000)"
MATCH = """
select * from {schema}.dead_match(
  %(group)s, %(channel)s, %(kind)s, %(before)s, %(limit)s, 10000, %(bytes)s)
"""
FIGURES = "select * from {schema}.queue_figures()"
LOOKED_AT = 10_000


async def groups(queue: Shown, *, channel: str | None, kind: str | None) -> dict[str, Any]:
    """The dead messages by what their errors have in common, of the newest ten thousand."""
    async with queue.reading() as connection:
        asked = {"channel": channel, "kind": kind}
        rows = await fetch(connection, queue.schema, GROUPS, asked)
        figures = (await fetch(connection, queue.schema, FIGURES))[0]
    looked_at = rows[0]["looked_at"]
    is_filtered = channel is not None or kind is not None
    matched = sum(each["messages"] or 0 for each in rows)
    return {
        "now_at": rows[0]["now_at"],
        "total": figure(matched, at_least=looked_at >= LOOKED_AT)
        if is_filtered or looked_at < LOOKED_AT
        else figure(max(figures["dead"], looked_at), exact=figures["dead_is_exact"]),
        "looked_at": looked_at,
        "complete": looked_at < LOOKED_AT,
        "groups": [group(each) for each in rows if each["error_group"] is not None],
    }


def group(row: Row) -> dict[str, Any]:
    """Dead messages whose errors are alike."""
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


async def dead(
    queue: Shown,
    *,
    group: str | None,
    channel: str | None,
    kind: str | None,
    cursor: str | None,
    limit: int,
) -> dict[str, Any]:
    """A page of dead messages, newest first."""
    (before,) = unpacked(cursor, (NEWEST,), int)
    asked = {"group": group, "channel": channel, "kind": kind, "before": before, "limit": limit,
             "bytes": HEAD_BYTES}  # fmt: skip
    rows = await queue.rows(MATCH, asked)
    upto = rows[0]["upto"]
    return {
        "now_at": rows[0]["now_at"],
        "messages": [listed(each) for each in rows if each["id"] is not None],
        "next": packed(upto) if upto is not None else None,
    }


def listed(row: Row) -> dict[str, Any]:
    """A dead message as one line of a list."""
    return {
        "id": str(row["id"]),
        **{word: row[word] for word in LISTED},
        "summary": summary_of(row["error"]),
        "preview": head_of(row["head"], row["size"]),
    }


LISTED = ("channel", "kind", "name", "attempt", "created_at", "died_at", "size")
