"""What every message carries: 256 bytes of JSON with the moment of its creation, written and read by everybody."""

from __future__ import annotations

import json
import time
from typing import Any

BYTES = 256
Payload = dict[str, Any]


def make_payload() -> Payload:
    """A message as the caller has it: when it was made, on the clock that all processes share, and filling."""
    at = time.monotonic_ns()
    return {"at": at, "fill": "x" * (BYTES - len(f'{{"at": {at}, "fill": ""}}'))}


def encode(message: Payload) -> bytes:
    """For queues that take bytes."""
    return json.dumps(message).encode()


def decode(content: bytes | str) -> Payload:
    """For queues that give bytes."""
    message: Payload = json.loads(content)
    return message


def channel_name(number: int) -> str:
    """The tenant of that number."""
    return f"tenant-{number:06}"
