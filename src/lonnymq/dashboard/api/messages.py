"""Messages: those of a channel in their order, and one with its attempts, its time line, and why it waits."""

from __future__ import annotations

from typing import Any

from lonnymq.dashboard.content import HEAD_BYTES, content_of, document_of, head_of, summary_of
from lonnymq.dashboard.cursors import OLDEST, packed, unpacked
from lonnymq.dashboard.problems import not_found
from lonnymq.dashboard.queues import Row, Shown, fetch
from lonnymq.dashboard.timeline import timeline

PAGE = """
select * from {schema}.message_page(%(channel)s, %(at)s, %(id)s, %(limit)s, %(bytes)s)
"""
SHOW = """
select m.id, m.channel, m.kind, m.name, m.attempt, m.max_attempts, m.created_at, m.dequeue_at,
  m.dequeued_at, m.lease_until, m.died_at, m.leased, m.worker, m.headers::text as headers, m.error,
  m.content, m.size, m.state, m.state_size, m.now_at
from {schema}.message_show(%(id)s) m
"""
WHOLE = "select content from {schema}.message_show(%(id)s, 2147483647)"
ATTEMPTS = """
select a.attempt, a.outcome, a.worker, a.channel, a.kind, a.name, a.headers::text as headers,
  a.created_at, a.dequeue_at, a.dequeued_at, a.finished_at, a.size, a.error, a.content, a.now_at
from {schema}.message_attempts(%(id)s, %(most)s) a
"""
EXPLAIN = "select * from {schema}.message_explain(%(id)s)"

LATEST = 5000
MOST_ATTEMPTS = 200


async def messages(queue: Shown, *, channel: str, cursor: str | None, limit: int) -> dict[str, Any]:
    """A page of a channel's live messages."""
    at, after = unpacked(cursor, (OLDEST, OLDEST), int, int)
    asked = {"channel": channel, "at": at, "id": after, "limit": limit, "bytes": HEAD_BYTES}
    rows, now_at = await queue.rows_and_now(PAGE, asked)
    last = rows[-1] if len(rows) == limit else None
    return {
        "now_at": now_at,
        "messages": [listed(each) for each in rows],
        "next": packed(last["dequeue_at"], last["id"]) if last else None,
    }


def listed(row: Row) -> dict[str, Any]:
    """A message as one line of a list."""
    return {
        "id": str(row["id"]),
        "channel": row["channel"],
        "state": state_of(row),
        **{word: row[word] for word in LISTED},
        "error": summary_of(row["error"]),
        "preview": head_of(row["head"], row["size"]),
    }


def state_of(row: Row) -> str:
    """A live message's state, in a word."""
    if row["leased"]:
        return "leased"
    return "scheduled" if row["dequeue_at"] > row["now_at"] else "waiting"


async def message(queue: Shown, message_id: int) -> dict[str, Any]:
    """One message: alive, dead, or ended a short while ago."""
    async with queue.reading() as connection:
        asked = {"id": message_id}
        found = await fetch(connection, queue.schema, SHOW, asked)
        most = 0 if found else LATEST
        ended = await fetch(connection, queue.schema, ATTEMPTS, {**asked, "most": most})
        explained = (await fetch(connection, queue.schema, EXPLAIN, asked))[0]
    if not found and not ended:
        raise not_found(
            f"Message {message_id} is not here.",
            "It has ended, and not lately, or was cancelled, or never was. History has those that ended.",
        )
    row = shown(found[0]) if found else gone(ended[-1], message_id)
    attempts = [attempt(each) for each in ended]
    return {
        "now_at": (found or ended)[0]["now_at"],
        "message": row,
        "explanation": {
            "answer": explained["answer"],
            "text": explained["explanation"],
            "fields": explained["fields"],
        },
        "attempts": attempts,
        "attempts_complete": bool(found) and len(ended) < MOST_ATTEMPTS,
        "timeline": timeline(row, attempts, (found or ended)[0]["now_at"]),
    }


def shown(row: Row) -> dict[str, Any]:
    """A message that is alive or dead."""
    return {
        "id": str(row["id"]),
        "channel": row["channel"],
        "state": "dead" if row["died_at"] is not None else state_of(row),
        **{word: row[word] for word in SHOWN},
        "headers": document_of(row["headers"]),
        "content": content_of(row["content"], row["size"]),
        "state_content": content_of(row["state"], row["state_size"]),
    }


def gone(row: Row, message_id: int) -> dict[str, Any]:
    """A message of which only history knows."""
    is_done = row["outcome"] == "completed"
    return {
        **dict.fromkeys(SHOWN),
        "id": str(message_id),
        "channel": row["channel"],
        "state": "completed" if is_done else "gone",
        **{word: row[word] for word in ("kind", "name", "attempt", "created_at", "dequeue_at")},
        "headers": document_of(row["headers"]),
        "content": content_of(row["content"], row["size"]),
        "state_content": None,
    }


def attempt(row: Row) -> dict[str, Any]:
    """An attempt that ended."""
    due_at = max(row["dequeue_at"], row["created_at"])
    return {
        **{word: row[word] for word in TRIED},
        "wait_ms": max(row["dequeued_at"] - due_at, 0),
        "run_ms": max(row["finished_at"] - row["dequeued_at"], 0),
        "summary": summary_of(row["error"]),
    }


async def whole_content(queue: Shown, message_id: int) -> bytes:
    """All of a message's payload."""
    rows = await queue.rows(WHOLE, {"id": message_id})
    if not rows:
        raise not_found(f"Message {message_id} is not here.")
    data: bytes = rows[0]["content"]
    return data


LISTED = (
    "kind", "name", "attempt", "created_at", "dequeue_at", "lease_until", "worker", "size",
)  # fmt: skip
SHOWN = (
    "kind", "name", "attempt", "max_attempts", "created_at", "dequeue_at", "dequeued_at",
    "lease_until", "worker", "died_at", "error",
)  # fmt: skip
TRIED = (
    "attempt", "outcome", "worker", "dequeue_at", "dequeued_at", "finished_at", "error",
)  # fmt: skip
