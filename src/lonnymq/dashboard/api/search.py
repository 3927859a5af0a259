"""Messages across channels: running, retrying, scheduled, recently completed, and found by key, kind or field."""

from __future__ import annotations

import contextlib
import json
from typing import Any

from lonnymq.client import calls
from lonnymq.dashboard.access import Access, Role
from lonnymq.dashboard.api.content import format_preview, summarize_error
from lonnymq.dashboard.api.schemas import FoundMessage, select_fields
from lonnymq.dashboard.errors import ApiError, invalid
from lonnymq.dashboard.queues import MonitoredQueue, Row
from lonnymq.dashboard.request import decode_cursor, encode_cursor

STATES = ("live", "running", "waiting", "scheduled", "retrying", "dead", "completed")
UNORDERED = ("running", "dead", "completed")  # not in the order of a channel


async def find_messages(
    queue: MonitoredQueue,
    *,
    state: str,
    channel: str | None,
    field: str | None,
    value: str | None,
    cursor: str | None,
    limit: int,
    access: Access,
    **names: str | None,
) -> dict[str, Any]:
    """A page of the messages that match. Messages of channels that the user may not see are left out."""
    if field is not None and not access.shows_payloads:
        raise ApiError("forbidden", "You cannot search in payloads that you may not see.")
    types = (int, int) if channel is not None and state not in UNORDERED else (int,)
    after = decode_cursor(cursor, (), *types)
    rows = await queue.rows(
        calls.message_find,
        state,
        channel=channel,
        fields=build_fields(field, value) if field is not None else None,
        after=after or None,
        limit=limit,
        **names,
    )
    upto = rows[0]["upto"]
    return {
        "now_at": rows[0]["now_at"],
        "messages": [
            format_found(each, access)
            for each in rows
            if each["id"] is not None and access.allows(Role.VIEW, each["channel"])
        ],
        "looked_at": rows[0]["looked_at"],
        "next": encode_cursor(*upto) if upto is not None else None,
    }


def build_fields(field: str, value: str | None) -> list[Any]:
    """The JSON of which a content has to contain one: the value as text, and as JSON if it is JSON."""
    if value is None:
        raise invalid("'value' is missing: give the value of the field.")
    values: list[Any] = [value]
    with contextlib.suppress(ValueError, RecursionError):
        parsed = json.loads(value)
        json.dumps(parsed, allow_nan=False)  # jsonb has no NaN
        values.append(parsed)
    return [nest(field.split("."), each) for each in values]


def nest(names: list[str], value: Any) -> Any:
    """A value inside of JSON objects with these names."""
    return {names[0]: nest(names[1:], value)} if names else value


def format_found(row: Row, access: Access) -> dict[str, Any]:
    """A message that was found."""
    head = access.redact_content(row["channel"], row["head"], row["size"])
    return select_fields(
        FoundMessage,
        row,
        id=str(row["id"]),
        error=summarize_error(row["error"]),
        preview=format_preview(head, row["size"]),
    )
