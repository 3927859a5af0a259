"""The queue at a glance, and how it stood over the last hour and day."""

from __future__ import annotations

from typing import Any

from psycopg import AsyncConnection

from lonnymq.dashboard.figures import fairness, figure, per_second
from lonnymq.dashboard.queues import Row, Shown, fetch

FIGURES = "select * from {schema}.queue_figures()"
ENDED = """
select * from {schema}.history_recent(({schema}.epoch() - 10000)::bigint, 10000, null, 5000)
"""
ACTIVE = "select * from {schema}.channel_active(50, 100)"
WORKERS = "select * from {schema}.worker_list(null, 10000)"
LATEST_SAMPLES = "select * from {schema}.sample_list({schema}.epoch() - 60000, 1000)"
SAMPLES = """
select * from {schema}.sample_list({schema}.epoch() - %(span)s::bigint, %(step)s)
"""

SPANS = {"hour": (3_600_000, 10_000), "day": (86_400_000, 300_000)}
TOP = 10


async def overview(queue: Shown) -> dict[str, Any]:
    """The queue at a glance: one read-only transaction, five statements."""
    async with queue.reading() as connection:
        row = (await fetch(connection, queue.schema, FIGURES))[0]
        ended = await fetch(connection, queue.schema, ENDED)
        active = await fetch(connection, queue.schema, ACTIVE)
        workers = await fetch(connection, queue.schema, WORKERS)
        created = queue.creating.per_second(row["now_at"], row["last_id"])
        if created is None:
            created = await sampled_rate(connection, queue.schema)
    return {**glance(row), **rates(row, ended), "in_per_s": created,
            "fairness": fairness(active), "workers": crew(workers), "top": busiest(active)}  # fmt: skip


def glance(row: Row) -> dict[str, Any]:
    """What the figures say."""
    return {
        "now_at": row["now_at"],
        "waiting": figure(row["waiting"], exact=row["waiting_is_exact"]),
        "running": figure(row["running"], exact=row["running_is_exact"]),
        "dead": figure(row["dead"], exact=row["dead_is_exact"]),
        "channels": figure(row["channels"], exact=row["channels_is_exact"]),
        "ready_channels": figure(row["ready"], at_least=not row["ready_is_exact"]),
        "oldest_at": row["oldest_at"],
        "oldest_exact": row["oldest_is_exact"],
        "next_at": row["next_at"],
        "last_id": row["last_id"],
        "max_concurrency": row["max_concurrency"],
        "in_flight": row["in_flight"],
        "history": row["history"],
    }


def rates(row: Row, ended: list[Row]) -> dict[str, Any]:
    """How many attempts ended a second; unknown where no history is kept."""
    span = max(row["now_at"] - ended[0]["from_at"], 1)
    is_kept = row["history"] != "off"

    def rate(*words: str) -> float | None:
        count = sum(each[word] or 0 for each in ended for word in words)
        return per_second(count, span) if is_kept else None

    return {
        "out_per_s": rate("completed"),
        "failed_per_s": rate("failed", "expired", "died"),
        "rate_ms": span,
    }


def crew(workers: list[Row]) -> dict[str, int]:
    """The workers, counted."""
    alive = [each for each in workers if each["alive"]]
    return {
        "alive": len(alive),
        "stopping": sum(each["stopping"] for each in alive),
        "gone": len(workers) - len(alive),
        "running": sum(each["running"] for each in alive),
        "concurrency": sum(each["concurrency"] for each in alive),
    }


def busiest(active: list[Row]) -> list[dict[str, Any]]:
    """The channels in which most goes on."""
    first = sorted(
        active,
        key=lambda each: (each["finished"] or 0, each["in_flight"], each["waiting"]),
        reverse=True,
    )
    return [
        {
            "channel": each["channel"],
            "state": each["state"],
            "waiting": figure(each["waiting"], at_least=not each["counted_exactly"]),
            "running": each["in_flight"],
            "out_per_s": per_second(each["finished"], each["finished_ms"]),
        }
        for each in first[:TOP]
        if each["finished"] or each["in_flight"] or each["waiting"]
    ]


async def sampled_rate(connection: AsyncConnection[Any], schema: str) -> float | None:
    """What the latest two samples say about creation; unknown if nobody samples."""
    samples = await fetch(connection, schema, LATEST_SAMPLES)
    if len(samples) < 2:
        return None
    return per_second(samples[-1]["created"], samples[-1]["at"] - samples[-2]["at"])


async def series(queue: Shown, span: str) -> dict[str, Any]:
    """How the queue stood over the last hour or day."""
    span_ms, step_ms = SPANS[span]
    points, now_at = await queue.rows_and_now(SAMPLES, {"span": span_ms, "step": step_ms})
    return {
        "now_at": now_at,
        "from_at": now_at - span_ms,
        "step_ms": step_ms,
        "sampled": bool(points),
        "points": points,
    }
