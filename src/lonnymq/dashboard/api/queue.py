"""A whole queue: its overview, its last hour and day, its workers, schedules and audit log."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from psycopg import AsyncConnection

from lonnymq.dashboard.api.content import parse_json
from lonnymq.dashboard.api.schemas import build_count
from lonnymq.dashboard.queues import MonitoredQueue, Row, fetch, per_second
from lonnymq.dashboard.request import MAX_ID, decode_cursor, encode_cursor
from lonnymq.fairness import jain_index

FIGURES = "select * from {schema}.queue_metrics()"
ENDED = """
select * from {schema}.history_recent(({schema}.epoch() - 10000)::bigint, 10000, null, 5000)
"""
ACTIVE = "select * from {schema}.channel_active(50, 100)"
ALL_WORKERS = "select * from {schema}.worker_list(null, 10000)"
LATEST_SAMPLES = "select * from {schema}.sample_list({schema}.epoch() - 60000, 1000)"
SAMPLES = """
select * from {schema}.sample_list({schema}.epoch() - %(span)s::bigint, %(step)s)
"""
WORKERS = """
select w.name, w.alive, w.stopping, w.concurrency, w.running, w.started_at, w.seen_at,
  w.about::text as about
from {schema}.worker_list(null, 1000) w
"""
SCHEDULES = """
select s.name, s.cron, s.every_ms, s.timezone, s.channel, s.kind, s.misfire, s.paused, s.last_run_at,
  s.next_at, s.message_id, s.answer, s.set_at
from {schema}.schedule_list(null, 1000) s
"""
AUDIT = """
select a.id, a.at, a.who, a.db_user, a.action, a.subject, a.parameters::text as parameters,
  a.answer::text as answer
from {schema}.audit_list(%(subject)s, %(before)s, %(limit)s) a
"""

SPANS = {"hour": (3_600_000, 10_000), "day": (86_400_000, 300_000)}
MAX_BUSIEST = 10


async def read_overview(queue: MonitoredQueue) -> dict[str, Any]:
    """The present state of the queue: one read-only transaction, five statements."""
    async with queue.read_transaction() as connection:
        row = (await fetch(connection, queue.schema, FIGURES))[0]
        ended = await fetch(connection, queue.schema, ENDED)
        active = await fetch(connection, queue.schema, ACTIVE)
        workers = await fetch(connection, queue.schema, ALL_WORKERS)
        created = queue.creation_rate.update(row["now_at"], row["last_id"])
        if created is None:
            created = await read_sampled_rate(connection, queue.schema)
    return {
        **format_counts(row),
        **calculate_rates(row, ended),
        "in_per_s": created,
        "fairness": measure_fairness(active),
        "workers": count_workers(workers),
        "top": find_busiest(active),
    }


def format_counts(row: Row) -> dict[str, Any]:
    """The counts of a queue."""
    return {
        "now_at": row["now_at"],
        "waiting": build_count(row["waiting"], exact=row["waiting_is_exact"]),
        "running": build_count(row["running"], exact=row["running_is_exact"]),
        "dead": build_count(row["dead"], exact=row["dead_is_exact"]),
        "channels": build_count(row["channels"], exact=row["channels_is_exact"]),
        "ready_channels": build_count(row["ready"], at_least=not row["ready_is_exact"]),
        "oldest_at": row["oldest_at"],
        "oldest_exact": row["oldest_is_exact"],
        "next_at": row["next_at"],
        "last_id": row["last_id"],
        "max_concurrency": row["max_concurrency"],
        "in_flight": row["in_flight"],
        "history": row["history"],
    }


def calculate_rates(row: Row, ended: list[Row]) -> dict[str, Any]:
    """How many attempts ended per second, unknown where history is off."""
    span = max(row["now_at"] - ended[0]["from_at"], 1)
    has_history = row["history"] != "off"

    def rate(*words: str) -> float | None:
        count = sum(each[word] or 0 for each in ended for word in words)
        return per_second(count, span) if has_history else None

    return {
        "out_per_s": rate("completed"),
        "failed_per_s": rate("failed", "expired", "died"),
        "rate_ms": span,
    }


def count_workers(workers: list[Row]) -> dict[str, int]:
    """Count the workers by state."""
    alive = [each for each in workers if each["alive"]]
    return {
        "alive": len(alive),
        "stopping": sum(each["stopping"] for each in alive),
        "gone": len(workers) - len(alive),
        "running": sum(each["running"] for each in alive),
        "concurrency": sum(each["concurrency"] for each in alive),
    }


def find_busiest(active: list[Row]) -> list[dict[str, Any]]:
    """The busiest channels."""
    first = sorted(
        active,
        key=lambda each: (each["finished"] or 0, each["in_flight"], each["waiting"]),
        reverse=True,
    )
    return [
        {
            "channel": each["channel"],
            "state": each["state"],
            "waiting": build_count(each["waiting"], at_least=not each["counted_exactly"]),
            "running": each["in_flight"],
            "out_per_s": per_second(each["finished"], each["finished_ms"]),
        }
        for each in first[:MAX_BUSIEST]
        if each["finished"] or each["in_flight"] or each["waiting"]
    ]


async def read_sampled_rate(connection: AsyncConnection[Any], schema: str) -> float | None:
    """The creation rate between the latest two samples, unknown without samples."""
    samples = await fetch(connection, schema, LATEST_SAMPLES)
    if len(samples) < 2:
        return None
    return per_second(samples[-1]["created"], samples[-1]["at"] - samples[-2]["at"])


async def read_series(queue: MonitoredQueue, span: str) -> dict[str, Any]:
    """The queue over the last hour or day."""
    span_ms, step_ms = SPANS[span]
    points, now_at = await queue.rows_and_now(SAMPLES, {"span": span_ms, "step": step_ms})
    return {
        "now_at": now_at,
        "from_at": now_at - span_ms,
        "step_ms": step_ms,
        "sampled": bool(points),
        "points": points,
    }


def measure_fairness(active: Iterable[Row]) -> dict[str, Any]:
    """How evenly turns were shared, by weight, among channels that have a backlog and no limits."""
    backlogged = [
        row
        for row in active
        if row["state"] == "ready"
        and row["waiting"] > 0
        and row["max_concurrency"] is None
        and row["min_interval_ms"] is None
        and row["finished"] is not None
    ]
    index = jain_index(row["finished"] / row["weight"] for row in backlogged)
    return {
        "jain": None if index is None else round(index, 4),
        "channels": len(backlogged),
        "attempts": sum(row["finished"] for row in backlogged),
    }


async def list_workers(queue: MonitoredQueue) -> dict[str, Any]:
    """The workers, those that are alive first."""
    rows, now_at = await queue.rows_and_now(WORKERS)
    for each in rows:
        each["about"] = parse_json(each["about"])
    rows.sort(key=lambda each: (not each["alive"], each["name"]))
    return {"now_at": now_at, "workers": rows}


async def list_schedules(queue: MonitoredQueue) -> dict[str, Any]:
    """The schedules by name."""
    rows, now_at = await queue.rows_and_now(SCHEDULES)
    for each in rows:
        each["message_id"] = None if each["message_id"] is None else str(each["message_id"])
    return {"now_at": now_at, "schedules": rows}


async def list_audit_entries(
    queue: MonitoredQueue, *, subject: str | None, cursor: str | None, limit: int
) -> dict[str, Any]:
    """A page of the audit log, newest first."""
    (before,) = decode_cursor(cursor, (MAX_ID,), int)
    parameters = {"subject": subject, "before": before, "limit": limit}
    rows, now_at = await queue.rows_and_now(AUDIT, parameters)
    following = encode_cursor(rows[-1]["id"]) if len(rows) == limit else None
    for each in rows:
        each["id"] = str(each["id"])
        each["parameters"] = parse_json(each["parameters"])
        each["answer"] = parse_json(each["answer"])
    return {"now_at": now_at, "entries": rows, "next": following}
