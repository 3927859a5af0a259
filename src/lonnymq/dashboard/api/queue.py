"""A whole queue: its overview, its last hour and day, its workers, schedules and audit log."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lonnymq.client import calls
from lonnymq.dashboard.access import Access, Role
from lonnymq.dashboard.api import schemas
from lonnymq.dashboard.api.channels import format_stats
from lonnymq.dashboard.api.content import parse_json
from lonnymq.dashboard.api.ranges import HOUR_MS, find_range
from lonnymq.dashboard.api.schemas import build_count, select_fields
from lonnymq.dashboard.queues import MonitoredQueue, QueueTransaction, Row, per_second
from lonnymq.dashboard.request import MAX_ID, decode_cursor, encode_cursor
from lonnymq.fairness import jain_index

MAX_AUDIT_READ = 1000
MAX_AUDIT_READS = 10  # of a thousand entries each
RATE_WINDOW_MS = 10_000
MAX_BUSIEST = 10
MAX_ATTENTION = 100
MAX_ATTENTION_OF_SOME = 1000  # for users who may see only some channels
MAX_KINDS = 50
COPIED_FIELDS = (
    "now_at", "oldest_at", "next_at", "last_id", "max_concurrency", "in_flight", "history",
)  # fmt: skip


async def read_overview(queue: MonitoredQueue) -> dict[str, Any]:
    """The present state of the queue: one read-only transaction, five statements."""
    async with queue.read_transaction() as transaction:
        (row,) = await transaction.rows(calls.queue_metrics)
        now_at = row["now_at"]
        ended = await transaction.rows(
            calls.history_recent, now_at - RATE_WINDOW_MS, step_ms=RATE_WINDOW_MS
        )
        active = await transaction.rows(calls.channel_active, limit=50, count=100)
        workers = await transaction.rows(calls.worker_list, limit=10_000)
        created = queue.creation_rate.update(now_at, row["last_id"])
        if created is None:
            created = await read_sampled_rate(transaction, now_at)
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
        **{name: row[name] for name in COPIED_FIELDS},
        **{
            name: build_count(row[name], exact=row[f"{name}_is_exact"])
            for name in ("waiting", "running", "dead", "channels")
        },
        "ready_channels": build_count(row["ready"], at_least=not row["ready_is_exact"]),
        "oldest_exact": row["oldest_is_exact"],
    }


def calculate_rates(row: Row, ended: list[Row]) -> dict[str, Any]:
    """How many attempts ended per second, unknown where history is off."""
    span = max(row["now_at"] - ended[0]["from_at"], 1)
    has_history = row["history"] != "off"

    def rate(*words: str) -> float | None:
        count = sum(each[word] or 0 for each in ended for word in words)
        return per_second(count, span) if has_history else None

    completed, failed = rate("completed"), rate("failed", "expired", "died")
    return {
        "out_per_s": completed,
        "failed_per_s": failed,
        "failed_share": find_share_of_rates(failed, completed),
        "rate_ms": span,
    }


def find_share_of_rates(failed: float | None, completed: float | None) -> float | None:
    """The share of attempts that failed, unknown where no attempt ended."""
    if failed is None or completed is None or failed + completed == 0:
        return None
    return round(failed / (failed + completed), 4)


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
        select_fields(
            schemas.BusyChannel,
            each,
            waiting=build_count(each["waiting"], at_least=not each["counted_exactly"]),
            running=each["in_flight"],
            out_per_s=per_second(each["completed"], each["finished_ms"]),
        )
        for each in first[:MAX_BUSIEST]
        if each["finished"] or each["in_flight"] or each["waiting"]
    ]


async def read_sampled_rate(transaction: QueueTransaction, now_at: int) -> float | None:
    """The creation rate between the latest two samples, unknown without samples."""
    samples = await transaction.rows(calls.sample_list, now_at - 60_000, step_ms=1000)
    if len(samples) < 2:
        return None
    return per_second(samples[-1]["created"], samples[-1]["at"] - samples[-2]["at"])


async def read_series(
    queue: MonitoredQueue, span: str, start: int | None, end: int | None
) -> dict[str, Any]:
    """The queue over a range of time."""
    async with queue.read_transaction() as transaction:
        now_at = await transaction.call(calls.epoch)
        wanted = find_range(now_at, span, start, end)
        points = await transaction.rows(calls.sample_list, wanted.from_at, step_ms=wanted.step_ms)
    return {
        "now_at": now_at,
        "from_at": wanted.from_at,
        "to_at": wanted.to_at,
        "step_ms": wanted.step_ms,
        "sampled": bool(points),
        "points": [each for each in points if each["at"] < wanted.to_at],
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


async def list_attention(queue: MonitoredQueue, *, target_s: int, access: Access) -> dict[str, Any]:
    """What needs attention: the queue without workers, and channels in trouble, the gravest first."""
    limit = MAX_ATTENTION if access.allows(Role.VIEW) else MAX_ATTENTION_OF_SOME
    rows, now_at = await queue.rows_and_now(calls.queue_attention, target_s * 1000, limit=limit)
    allowed = [
        each
        for each in rows
        if each["channel"] is None or access.allows(Role.VIEW, each["channel"])
    ]
    return {
        "now_at": now_at,
        "rows": [select_fields(schemas.AttentionRow, each) for each in allowed[:MAX_ATTENTION]],
        "complete": len(rows) < limit and len(allowed) <= MAX_ATTENTION,
    }


async def list_kinds(queue: MonitoredQueue) -> dict[str, Any]:
    """The kinds of messages with outcomes and durations of the last hour."""
    async with queue.read_transaction() as transaction:
        now_at = await transaction.call(calls.epoch)
        rows = await transaction.rows(
            calls.attempt_stats, "kind", start=now_at - HOUR_MS, limit=MAX_KINDS
        )
    return {"now_at": now_at, "kinds": [format_stats(each) for each in rows]}


async def list_workers(queue: MonitoredQueue) -> dict[str, Any]:
    """The workers, those that are alive first."""
    rows, now_at = await queue.rows_and_now(calls.worker_list, limit=1000)
    rows.sort(key=lambda each: (not each["alive"], each["name"]))
    workers = [select_fields(schemas.Worker, row, about=parse_json(row["about"])) for row in rows]
    return {"now_at": now_at, "workers": workers}


async def list_schedules(queue: MonitoredQueue) -> dict[str, Any]:
    """The schedules by name."""
    rows, now_at = await queue.rows_and_now(
        calls.schedule_columns, schemas.Schedule.__struct_fields__, limit=1000
    )
    for each in rows:
        each["message_id"] = None if each["message_id"] is None else str(each["message_id"])
    return {"now_at": now_at, "schedules": rows}


async def list_audit_entries(
    queue: MonitoredQueue,
    *,
    subject: str | None,
    user: str | None,
    action: str | None,
    cursor: str | None,
    limit: int,
) -> dict[str, Any]:
    """A page of the audit log, newest first. A filter by user or action reads at most ten thousand entries."""
    (before,) = decode_cursor(cursor, (MAX_ID,), int)
    rows: list[Row] = []
    following = None
    most = limit if user is None and action is None else MAX_AUDIT_READ
    async with queue.read_transaction() as transaction:
        now_at = await transaction.call(calls.epoch)
        for _ in range(MAX_AUDIT_READS):
            found = await transaction.rows(calls.audit_list, subject, before=before, limit=most)
            rows += [
                each
                for each in found
                if (user is None or user.lower() in each["who"].lower())
                and action in (None, each["action"])
            ]
            following = encode_cursor(found[-1]["id"]) if len(found) == most else None
            if following is None or len(rows) >= limit:
                break
            before = found[-1]["id"]
    if len(rows) > limit:
        rows = rows[:limit]
        following = encode_cursor(rows[-1]["id"])
    for each in rows:
        each["id"] = str(each["id"])
        each["parameters"] = parse_json(each["parameters"])
        each["answer"] = parse_json(each["answer"])
    return {"now_at": now_at, "entries": rows, "next": following}
