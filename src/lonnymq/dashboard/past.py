"""What became of a channel's attempts over the last hour and day: from samples, else from the latest attempts."""

from __future__ import annotations

from typing import Any

from psycopg import AsyncConnection

from lonnymq.dashboard.queues import Row, Shown, fetch
from lonnymq.dashboard.schemas import ENDED

SAMPLED = """
select * from {schema}.channel_sample_list(
  %(name)s, ({schema}.epoch() - %(span)s)::bigint, %(step)s)
"""
LATEST = """
select * from {schema}.history_recent(
  ({schema}.epoch() - %(span)s)::bigint, %(step)s, %(name)s, 10000)
"""

SPANS = {"hour": (3_600_000, 60_000), "day": (86_400_000, 900_000)}


async def series(queue: Shown, *, name: str, span: str) -> dict[str, Any]:
    """A channel's past, by itself."""
    async with queue.reading() as connection:
        return await past(connection, queue.schema, name, span)


async def past(
    connection: AsyncConnection[Any], schema: str, name: str, span: str
) -> dict[str, Any]:
    """What became of a channel's attempts, step by step; `exact` unless some may be missing since `from_at`."""
    span_ms, step_ms = SPANS[span]
    asked = {"name": name, "span": span_ms, "step": step_ms}
    rows = await fetch(connection, schema, SAMPLED, asked)
    is_sampled = rows[0]["from_at"] is not None
    if not is_sampled:
        rows = await fetch(connection, schema, LATEST, asked)
    first, of_row = rows[0], mean if is_sampled else point
    return {
        "now_at": first["now_at"],
        "step_ms": step_ms,
        "exact": first["all_channels"] if is_sampled else True,
        "from_at": first["from_at"],
        "points": [of_row(each) for each in rows if each["at"] is not None],
    }


def mean(row: Row) -> dict[str, Any]:
    """A step of samples, in which times are sums."""
    attempts = max(sum(row[word] for word in ENDED), 1)
    return point({**row, "wait_ms": row["wait_ms"] / attempts, "run_ms": row["run_ms"] / attempts})


def point(row: Row) -> dict[str, Any]:
    """A step."""
    return {
        "at": row["at"],
        **{word: row[word] for word in ENDED},
        "wait_ms": round(row["wait_ms"]),
        "run_ms": round(row["run_ms"]),
    }
