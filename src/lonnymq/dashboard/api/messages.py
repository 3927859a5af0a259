"""Messages: those of a channel in order, one with attempts, timeline and explanation, and dead ones by error."""

from __future__ import annotations

from typing import Any

from lonnymq.client import calls
from lonnymq.dashboard.api.content import (
    PREVIEW_BYTES,
    format_content,
    format_preview,
    parse_json,
    summarize_error,
)
from lonnymq.dashboard.api.schemas import (
    Attempt,
    DeadGroup,
    DeadRow,
    MessageDetails,
    MessageRow,
    build_count,
    select_fields,
)
from lonnymq.dashboard.errors import ApiError, not_found
from lonnymq.dashboard.queues import MonitoredQueue, Row
from lonnymq.dashboard.request import MAX_ID, MIN_ID, decode_cursor, encode_cursor

MAX_ATTEMPTS = 200
WHOLE_CONTENT = 2**31 - 1
OUTCOME_TEXTS = {
    "completed": "Attempt {0} completed the message",
    "failed": "Attempt {0} failed",
    "deferred": "Attempt {0} deferred the message",
    "expired": "The lease of attempt {0} expired",
    "dead": "Attempt {0} was the last attempt: the message is dead",
    "cancelled": "Message cancelled",
}
MAX_GROUPED = 10_000


async def list_messages(
    queue: MonitoredQueue, *, channel: str, cursor: str | None, limit: int
) -> dict[str, Any]:
    """A page of the live messages of a channel."""
    at, after = decode_cursor(cursor, (MIN_ID, MIN_ID), int, int)
    rows, now_at = await queue.rows_and_now(
        calls.message_page,
        channel,
        after_at=at,
        after_id=after,
        limit=limit,
        head_bytes=PREVIEW_BYTES,
    )
    last = rows[-1] if len(rows) == limit else None
    return {
        "now_at": now_at,
        "messages": [format_row(each) for each in rows],
        "next": encode_cursor(last["dequeue_at"], last["id"]) if last else None,
    }


def format_row(row: Row) -> dict[str, Any]:
    """A message in a list."""
    return select_fields(
        MessageRow,
        row,
        id=str(row["id"]),
        state=find_state(row),
        error=summarize_error(row["error"]),
        preview=format_preview(row["head"], row["size"]),
    )


def find_state(row: Row) -> str:
    """The state of a live message."""
    if row["leased"]:
        return "leased"
    return "scheduled" if row["dequeue_at"] > row["now_at"] else "waiting"


async def read_message(
    queue: MonitoredQueue,
    *,
    id: int,  # noqa: A002 - the parameter's name in the address
) -> dict[str, Any]:
    """One message: live, dead, or completed recently."""
    async with queue.read_transaction() as transaction:
        found = await transaction.rows(calls.message_show, id)
        ended = await transaction.rows(calls.message_attempts, id)
        (explained,) = await transaction.rows(calls.message_explain, id)
        if not found and not ended:
            (figures,) = await transaction.rows(calls.queue_metrics)
            raise explain_missing(id, last_id=figures["last_id"])
    row = format_message(found[0]) if found else format_ended(ended[-1], id)
    attempts = [format_attempt(each) for each in ended]
    return {
        "now_at": (found or ended)[0]["now_at"],
        "message": row,
        "explanation": {
            "answer": explained["answer"],
            "text": explained["explanation"],
            "fields": parse_json(explained["fields"]),
        },
        "attempts": attempts,
        "attempts_complete": bool(found) and len(ended) < MAX_ATTEMPTS,
        "timeline": build_timeline(row, attempts, (found or ended)[0]["now_at"]),
    }


def explain_missing(message_id: int, *, last_id: int) -> ApiError:
    """Say what is known of a message that is neither live nor dead, nor among the latest attempts."""
    if message_id > last_id:
        return not_found(
            f"There is no message {message_id} yet.", f"The latest message has the id {last_id}."
        )
    return not_found(
        f"Message {message_id} has left the queue: it completed, was cancelled or was purged.",
        "History has no attempt of this message any more. The audit has what users deleted.",
    )


def format_message(row: Row) -> dict[str, Any]:
    """A message that is live or dead."""
    return select_fields(
        MessageDetails,
        row,
        id=str(row["id"]),
        state="dead" if row["died_at"] is not None else find_state(row),
        headers=parse_json(row["headers"]),
        content=format_content(row["content"], row["size"]),
        state_content=format_content(row["state"], row["state_size"]),
    )


def format_ended(row: Row, message_id: int) -> dict[str, Any]:
    """A message that only history contains."""
    known = {word: row[word] for word in ("channel", "kind", "key", "attempt", "created_at")}
    return {
        **dict.fromkeys(MessageDetails.__struct_fields__),
        **known,
        "id": str(message_id),
        "state": "completed" if row["outcome"] == "completed" else "gone",
        "dequeue_at": row["dequeue_at"],
        "headers": parse_json(row["headers"]),
        "content": format_content(row["content"], row["size"]),
    }


def format_attempt(row: Row) -> dict[str, Any]:
    """An attempt that ended."""
    due_at = max(row["dequeue_at"], row["created_at"])
    return select_fields(
        Attempt,
        row,
        wait_ms=max(row["dequeued_at"] - due_at, 0),
        run_ms=max(row["finished_at"] - row["dequeued_at"], 0),
        summary=summarize_error(row["error"]),
    )


async def read_content(queue: MonitoredQueue, message_id: int) -> bytes:
    """The whole payload of a message."""
    rows = await queue.rows(calls.message_show, message_id, head_bytes=WHOLE_CONTENT)
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
        if number:  # no attempt was running when a waiting message was cancelled
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


async def group_dead(
    queue: MonitoredQueue, *, channel: str | None, kind: str | None
) -> dict[str, Any]:
    """The newest ten thousand dead messages, grouped by error."""
    async with queue.read_transaction() as transaction:
        rows = await transaction.rows(calls.dead_groups, channel, kind=kind)
        (figures,) = await transaction.rows(calls.queue_metrics)
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
    return select_fields(
        DeadGroup,
        row,
        group=row["error_group"],
        count=row["messages"],
        newest_id=str(row["newest_id"]),
    )


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
    rows = await queue.rows(
        calls.dead_match,
        group,
        channel=channel,
        kind=kind,
        before=before,
        limit=limit,
        head_bytes=PREVIEW_BYTES,
    )
    upto = rows[0]["upto"]
    return {
        "now_at": rows[0]["now_at"],
        "messages": [format_dead(each) for each in rows if each["id"] is not None],
        "next": encode_cursor(upto) if upto is not None else None,
    }


def format_dead(row: Row) -> dict[str, Any]:
    """A dead message in a list."""
    return select_fields(
        DeadRow,
        row,
        id=str(row["id"]),
        summary=summarize_error(row["error"]),
        preview=format_preview(row["head"], row["size"]),
    )
