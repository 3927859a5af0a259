"""Where a page of a list ended, as a text to hand back for the next one."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable
from typing import Any

from lonnymq.dashboard.bodies import storable
from lonnymq.dashboard.problems import invalid

NEWEST = 2**63 - 1
OLDEST = -NEWEST


def packed(*parts: Any) -> str:
    """A cursor made of these."""
    text = json.dumps(parts, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def unpacked(cursor: str | None, first: tuple[Any, ...], *kinds: Callable[..., Any]) -> list[Any]:
    """What a cursor is made of; at the beginning, where there is none yet, `first`."""
    if cursor is None:
        return list(first)
    try:
        data = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        parts = json.loads(data)
    except (ValueError, binascii.Error, RecursionError):
        raise invalid("This is no cursor.") from None
    if not isinstance(parts, list) or [type(each) for each in parts] != list(kinds):
        raise invalid("This cursor is of another list.")
    for each in parts:
        if isinstance(each, str):
            storable(each, "cursor")
        elif not OLDEST <= each <= NEWEST:
            raise invalid("This cursor is of another list.")
    return parts
