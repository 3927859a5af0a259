"""Messages: those of a channel in order, one with attempts, timeline and explanation, and dead ones by error."""

from __future__ import annotations

from typing import Any

from lonnymq.client import calls
from lonnymq.dashboard.access import Access, Role
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
MAX_RESULT_BYTES = 16 * 1024
OUTCOME_TEXTS = {
    "completed": "Attempt {0} completed the message",
    "failed": "Attempt {0} failed",
    "deferred": "Attempt {0} deferred the message",
    "expired": "The lease of attempt {0} expired",
    "dead": "Attempt {0} was the last attempt: the message is dead",
    "cancelled": "Message cancelled",
    "lapsed": "Message expired before a worker took it",
}
MAX_GROUPED = 10_000
MAX_GROUPED_CHANNELS = 50  # for users who may see only some channels
MAX_RANKED = 1000


async def list_messages(
    queue: MonitoredQueue, *, channel: str, cursor: str | None, limit: int, access: Access
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
        "messages": [format_row(each, access) for each in rows],
        "next": encode_cursor(last["dequeue_at"], last["id"]) if last else None,
    }


def format_row(row: Row, access: Access) -> dict[str, Any]:
    """A message in a list."""
    head = access.redact_content(row["channel"], row["head"], row["size"])
    return select_fields(
        MessageRow,
        row,
        id=str(row["id"]),
        state=find_state(row),
        error=summarize_error(row["error"]),
        preview=format_preview(head, row["size"]),
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
    access: Access,
) -> dict[str, Any]:
    """One message: live, dead, or completed recently."""
    async with queue.read_transaction() as transaction:
        found = await transaction.rows(calls.message_show, id)
        ended = await transaction.rows(calls.message_attempts, id)
        (explained,) = await transaction.rows(calls.message_explain, id)
        (status,) = await transaction.rows(calls.message_status, id)
        size = status["result_size"]
        has_result = size is not None and size <= MAX_RESULT_BYTES
        result = await transaction.call(calls.message_result, id) if has_result else None
        channels = {each["channel"] for each in (*found, *ended)}
        if not all(access.allows(Role.VIEW, each) for each in channels):
            found, ended = [], []
        if not found and not ended:
            (figures,) = await transaction.rows(calls.queue_metrics)
            raise explain_missing(id, last_id=figures["last_id"])
    row = format_message(found[0], access) if found else format_ended(ended[-1], id, access)
    row |= {each: status[each] for each in ("progress", "progress_note", "result_size")}
    stored = {"channel": row["channel"], "content": result, "size": size}
    row["result"] = show_content(stored, access) if result is not None else None
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


def format_message(row: Row, access: Access) -> dict[str, Any]:
    """A message that is live or dead."""
    return select_fields(
        MessageDetails,
        row,
        id=str(row["id"]),
        state="dead" if row["died_at"] is not None else find_state(row),
        payloads=access.find_payloads(row["channel"]),
        headers=show_headers(row, access),
        content=show_content(row, access),
        **dict.fromkeys(("progress", "progress_note", "result", "result_size")),
        state_content=show_content(row, access, "state", "state_size"),
    )


def show_content(
    row: Row, access: Access, content: str = "content", size: str = "size"
) -> dict[str, Any] | None:
    """A payload as the user may see it."""
    data = access.redact_content(row["channel"], row[content], row[size])
    is_changed = data is not None and data != row[content]
    return format_content(data, len(data or b"") if is_changed else row[size])


def show_headers(row: Row, access: Access) -> Any:
    """The headers as the user may see them."""
    headers = parse_json(row["headers"])
    match access.find_payloads(row["channel"]):
        case "hidden":
            return None
        case "redacted":
            return access.redact_json(headers)
    return headers


def format_ended(row: Row, message_id: int, access: Access) -> dict[str, Any]:
    """A message that only history contains."""
    known = {word: row[word] for word in ("channel", "kind", "key", "attempt", "created_at")}
    return {
        **dict.fromkeys(MessageDetails.__struct_fields__),
        **known,
        "id": str(message_id),
        "state": "completed" if row["outcome"] == "completed" else "gone",
        "dequeue_at": row["dequeue_at"],
        "payloads": access.find_payloads(row["channel"]),
        "headers": show_headers(row, access),
        "content": show_content(row, access),
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


async def read_content(queue: MonitoredQueue, message_id: int, access: Access) -> bytes:
    """The whole payload of a message, as the user may see it."""
    rows = await queue.rows(calls.message_show, message_id, head_bytes=WHOLE_CONTENT)
    if not rows or not access.allows(Role.VIEW, rows[0]["channel"]):
        raise not_found(f"Message {message_id} is not in the queue.")
    data = access.redact_content(rows[0]["channel"], rows[0]["content"], rows[0]["size"])
    if data is None:
        raise ApiError("forbidden", "Payloads of this channel are hidden from you.")
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
    queue: MonitoredQueue, *, channel: str | None, kind: str | None, access: Access
) -> dict[str, Any]:
    """The newest ten thousand dead messages, grouped by error."""
    if not access.allows(Role.VIEW, channel):
        if channel is not None:
            raise ApiError("forbidden", "You may not see this channel.")
        return await group_allowed(queue, kind, access)
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


async def group_allowed(queue: MonitoredQueue, kind: str | None, access: Access) -> dict[str, Any]:
    """The dead messages of the allowed channels with the most dead messages, grouped by error."""
    async with queue.read_transaction() as transaction:
        now_at = await transaction.call(calls.epoch)
        ranks = await transaction.rows(calls.channel_rank, "dead")
        allowed = [each["channel"] for each in ranks if access.allows(Role.VIEW, each["channel"])]
        groups: dict[str, Row] = {}
        looked_at = 0
        for channel in allowed[:MAX_GROUPED_CHANNELS]:
            rows = await transaction.rows(calls.dead_groups, channel, kind=kind)
            looked_at += rows[0]["looked_at"]
            for each in rows:
                if each["error_group"] is not None:
                    known = groups.get(each["error_group"])
                    groups[each["error_group"]] = merge_groups(known, each) if known else each
    found = sorted(groups.values(), key=lambda each: -each["messages"])
    complete = len(allowed) <= MAX_GROUPED_CHANNELS and len(ranks) < MAX_RANKED
    return {
        "now_at": now_at,
        "total": build_count(sum(each["messages"] for each in found), at_least=not complete),
        "looked_at": looked_at,
        "complete": complete,
        "groups": [format_group(each) for each in found],
    }


def merge_groups(one: Row, other: Row) -> Row:
    """Dead messages with similar errors of several channels as one group."""
    return {
        **one,
        "messages": one["messages"] + other["messages"],
        "channels": one["channels"] + other["channels"],
        "example_channels": [*one["example_channels"], *other["example_channels"]][:5],
        "kinds": sorted({*one["kinds"], *other["kinds"]})[:5],
        "first_at": min(one["first_at"], other["first_at"]),
        "last_at": max(one["last_at"], other["last_at"]),
        "newest_id": max(one["newest_id"], other["newest_id"]),
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
    access: Access,
) -> dict[str, Any]:
    """A page of dead messages, newest first. Messages of channels that the user may not see are left out."""
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
        "messages": [
            format_dead(each, access)
            for each in rows
            if each["id"] is not None and access.allows(Role.VIEW, each["channel"])
        ],
        "next": encode_cursor(upto) if upto is not None else None,
    }


def format_dead(row: Row, access: Access) -> dict[str, Any]:
    """A dead message in a list."""
    head = access.redact_content(row["channel"], row["head"], row["size"])
    return select_fields(
        DeadRow,
        row,
        id=str(row["id"]),
        summary=summarize_error(row["error"]),
        preview=format_preview(head, row["size"]),
    )
