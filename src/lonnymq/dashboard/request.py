"""What a request says: its JSON body and its query, checked before anything is done with them."""

from __future__ import annotations

import json
from typing import Any

from starlette.requests import Request

from lonnymq.dashboard.problems import Problem, invalid

LARGEST_BODY = 64 * 1024
LARGEST_ID = 2**63 - 1


async def body_of(request: Request) -> dict[str, Any]:
    """The JSON object that was sent."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Problem("unsupported", "Send JSON, as Content-Type: application/json.")
    data = b""
    async for part in request.stream():
        data += part
        if len(data) > LARGEST_BODY:
            raise Problem("too_large", f"A request has at most {LARGEST_BODY} bytes.")
    try:
        body = json.loads(data)
    except (ValueError, RecursionError):
        raise invalid("The body is not JSON.") from None
    if not isinstance(body, dict):
        raise invalid("The body is not a JSON object.")
    return body


def text_in(body: dict[str, Any], name: str, *, required: bool = True) -> str:
    """A text of the body."""
    value = body.get(name)
    if value is None and not required:
        return ""
    if not isinstance(value, str):
        raise invalid(f"'{name}' is to be a text.")
    return storable(value, name)


def storable(value: str, name: str) -> str:
    """A text that PostgreSQL can compare with: no NUL, no half of a character."""
    if "\0" in value or any("\ud800" <= each <= "\udfff" for each in value):
        raise invalid(f"'{name}' holds a character that cannot be stored.")
    return value


def id_from(value: Any, name: str = "id") -> int:
    """A message's id, which travels as digits in a text: it may be more than a browser can count."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not value.isascii() or not value.isdigit():
        raise invalid(f"'{name}' is to be digits.")
    if len(value) > 19 or int(value) > LARGEST_ID:
        raise invalid(f"'{name}' is too large.")
    return int(value)
