"""The bytes of a handler's result: bytes as they are, and every other value as JSON."""

from __future__ import annotations

from typing import Any

import msgspec

from lonnymq.client.arguments import describe_value
from lonnymq.errors import InvalidArgument, TooLarge

DEFAULT_RESULT_BYTES = 64 * 1024


def encode_result(value: Any, most: int) -> bytes:
    """Return the bytes that are stored, at most `most`."""
    if not most:
        raise InvalidArgument("this handler stores no results: its max_result_bytes is 0")
    encoded = bytes(value) if isinstance(value, bytes | bytearray | memoryview) else to_json(value)
    if len(encoded) > most:
        raise TooLarge(
            f"the result is {len(encoded)} bytes, and the handler allows {most}: "
            "set max_result_bytes of the handler, or store the result elsewhere and return the address"
        )
    return encoded


def to_json(value: Any) -> bytes:
    """Return a value as JSON: also dataclasses, msgspec structs, pydantic models and times."""
    if hasattr(value, "model_dump_json"):  # pydantic
        return str(value.model_dump_json()).encode()
    try:
        return msgspec.json.encode(value)
    except (TypeError, ValueError, msgspec.MsgspecError, RecursionError) as error:
        raise InvalidArgument(
            f"the result must be bytes or a value that JSON can hold, not {describe_value(value)}: {error}"
        ) from None
