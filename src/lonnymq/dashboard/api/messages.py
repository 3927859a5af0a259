"""Messages: the messages of a channel in order, and one message with attempts, timeline and explanation."""

from __future__ import annotations

from typing import Any

from lonnymq.dashboard.api.content import (
    PREVIEW_BYTES,
    format_content,
    format_preview,
    parse_json,
    summarize_error,
)
from lonnymq.dashboard.errors import not_found
from lonnymq.dashboard.queues import MonitoredQueue, Row, fetch
from lonnymq.dashboard.request import MIN_ID, decode_cursor, encode_cursor

PAGE = """
select * from {schema}.message_page(%(channel)s, %(at)s, %(id)s, %(limit)s, %(bytes)s)
"""
SHOW = """
select m.id, m.channel, m.kind, m.key, m.attempt, m.max_attempts, m.created_at, m.dequeue_at,
  m.dequeued_at, m.lease_until, m.died_at, m.leased, m.worker, m.headers::text as headers, m.error,
  m.content, m.size, m.state, m.state_size, m.now_at
from {schema}.message_show(%(id)s) m
"""
WHOLE = "select content from {schema}.message_show(%(id)s, 2147483647)"
ATTEMPTS = """
select a.attempt, a.outcome, a.worker, a.channel, a.kind, a.key, a.headers::text as headers,
  a.created_at, a.dequeue_at, a.dequeued_at, a.finished_at, a.size, a.error, a.content, a.now_at
from {schema}.message_attempts(%(id)s, %(most)s) a
"""
EXPLAIN = "select * from {schema}.message_explain(%(id)s)"

LATEST_ATTEMPTS = 5000
MAX_ATTEMPTS = 200
ROW_FIELDS = (
    "kind", "key", "attempt", "created_at", "dequeue_at", "lease_until", "worker", "size",
)  # fmt: skip
MESSAGE_FIELDS = (
    "kind", "key", "attempt", "max_attempts", "created_at", "dequeue_at", "dequeued_at",
    "lease_until", "worker", "died_at", "error",
)  # fmt: skip
ATTEMPT_FIELDS = (
    "attempt", "outcome", "worker", "dequeue_at", "dequeued_at", "finished_at", "error",
)  # fmt: skip
OUTCOME_TEXTS = {
    "completed": "Attempt {0} completed the message",
    "failed": "Attempt {0} failed",
    "deferred": "Attempt {0} deferred the message",
    "expired": "The lease of attempt {0} expired",
    "dead": "Attempt {0} was the last attempt: the message is dead",
}


async def list_messages(
    queue: MonitoredQueue, *, channel: str, cursor: str | None, limit: int
) -> dict[str, Any]:
    """A page of the live messages of a channel."""
    at, after = decode_cursor(cursor, (MIN_ID, MIN_ID), int, int)
    parameters = {
        "channel": channel, "at": at, "id": after, "limit": limit, "bytes": PREVIEW_BYTES,
    }  # fmt: skip
    rows, now_at = await queue.rows_and_now(PAGE, parameters)
    last = rows[-1] if len(rows) == limit else None
    return {
        "now_at": now_at,
        "messages": [format_row(each) for each in rows],
        "next": encode_cursor(last["dequeue_at"], last["id"]) if last else None,
    }


def format_row(row: Row) -> dict[str, Any]:
    """A message in a list."""
    return {
        "id": str(row["id"]),
        "channel": row["channel"],
        "state": find_state(row),
        **{field: row[field] for field in ROW_FIELDS},
        "error": summarize_error(row["error"]),
        "preview": format_preview(row["head"], row["size"]),
    }


def find_state(row: Row) -> str:
    """The state of a live message."""
    if row["leased"]:
        return "leased"
    return "scheduled" if row["dequeue_at"] > row["now_at"] else "waiting"


async def read_message(queue: MonitoredQueue, message_id: int) -> dict[str, Any]:
    """One message: live, dead, or completed recently."""
    async with queue.read_transaction() as connection:
        parameters: dict[str, Any] = {"id": message_id}
        found = await fetch(connection, queue.schema, SHOW, parameters)
        most = 0 if found else LATEST_ATTEMPTS
        ended = await fetch(connection, queue.schema, ATTEMPTS, {**parameters, "most": most})
        explained = (await fetch(connection, queue.schema, EXPLAIN, parameters))[0]
    if not found and not ended:
        raise not_found(
            f"Message {message_id} is not in the queue.",
            "The message completed some time ago, was cancelled, or never existed. History has completed messages.",
        )
    row = format_message(found[0]) if found else format_ended(ended[-1], message_id)
    attempts = [format_attempt(each) for each in ended]
    return {
        "now_at": (found or ended)[0]["now_at"],
        "message": row,
        "explanation": {
            "answer": explained["answer"],
            "text": explained["explanation"],
            "fields": explained["fields"],
        },
        "attempts": attempts,
        "attempts_complete": bool(found) and len(ended) < MAX_ATTEMPTS,
        "timeline": build_timeline(row, attempts, (found or ended)[0]["now_at"]),
    }


def format_message(row: Row) -> dict[str, Any]:
    """A message that is live or dead."""
    return {
        "id": str(row["id"]),
        "channel": row["channel"],
        "state": "dead" if row["died_at"] is not None else find_state(row),
        **{field: row[field] for field in MESSAGE_FIELDS},
        "headers": parse_json(row["headers"]),
        "content": format_content(row["content"], row["size"]),
        "state_content": format_content(row["state"], row["state_size"]),
    }


def format_ended(row: Row, message_id: int) -> dict[str, Any]:
    """A message that only history contains."""
    is_done = row["outcome"] == "completed"
    return {
        **dict.fromkeys(MESSAGE_FIELDS),
        "id": str(message_id),
        "channel": row["channel"],
        "state": "completed" if is_done else "gone",
        **{word: row[word] for word in ("kind", "key", "attempt", "created_at", "dequeue_at")},
        "headers": parse_json(row["headers"]),
        "content": format_content(row["content"], row["size"]),
        "state_content": None,
    }


def format_attempt(row: Row) -> dict[str, Any]:
    """An attempt that ended."""
    due_at = max(row["dequeue_at"], row["created_at"])
    return {
        **{field: row[field] for field in ATTEMPT_FIELDS},
        "wait_ms": max(row["dequeued_at"] - due_at, 0),
        "run_ms": max(row["finished_at"] - row["dequeued_at"], 0),
        "summary": summarize_error(row["error"]),
    }


async def read_content(queue: MonitoredQueue, message_id: int) -> bytes:
    """The whole payload of a message."""
    rows = await queue.rows(WHOLE, {"id": message_id})
    if not rows:
        raise not_found(f"Message {message_id} is not in the queue.")
    data: bytes = rows[0]["content"]
    return data


def build_timeline(
    message: dict[str, Any], attempts: list[dict[str, Any]], now_at: int
) -> list[dict[str, Any]]:
    """What happened to a message and what will happen, in order."""
    steps = [build_step(message["created_at"], "created", "Message created")]
    due_at = attempts[0]["dequeue_at"] if attempts else message["dequeue_at"]
    if due_at > message["created_at"]:
        steps.append(build_step(due_at, "due", "Message due", future=due_at > now_at))
    for each in attempts:
        number = each["attempt"]
        by = f" by {each['worker']}" if each["worker"] else ""
        steps.append(
            build_step(each["dequeued_at"], "leased", f"Attempt {number} leased{by}", number)
        )
        text = OUTCOME_TEXTS[each["outcome"]].format(number)
        error = f": {each['summary']}" if each["summary"] else ""
        steps.append(build_step(each["finished_at"], each["outcome"], text + error, number))
    steps += current_steps(message, attempts, now_at)
    return sorted(steps, key=lambda each: (each["future"], each["at"]))


def current_steps(
    message: dict[str, Any], attempts: list[dict[str, Any]], now_at: int
) -> list[dict[str, Any]]:
    """The present lease of a message, or the time of the next attempt."""
    number = message["attempt"]
    match message["state"]:
        case "leased":
            by = f" by {message['worker']}" if message["worker"] else ""
            until = message["lease_until"]
            return [
                build_step(message["dequeued_at"], "leased", f"Attempt {number} leased{by}", number),
                build_step(until, "lease_ends", "The lease ends unless the worker extends it", number,
                           future=until > now_at),
            ]  # fmt: skip
        case "waiting" | "scheduled" if attempts:
            due_at = message["dequeue_at"]
            return [build_step(due_at, "retry_due", "Next attempt due", future=due_at > now_at)]
        case "dead" if not any(each["outcome"] == "dead" for each in attempts):
            return [build_step(message["died_at"], "dead", "Message died")]
        case _:
            return []


def build_step(
    at: int, what: str, text: str, attempt: int | None = None, *, future: bool = False
) -> dict[str, Any]:
    """One step of the timeline."""
    return {"at": at, "what": what, "text": text, "attempt": attempt, "future": future}
