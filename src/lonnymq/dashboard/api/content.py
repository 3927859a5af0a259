"""Payloads as the page shows them: JSON, text or bytes, cut where they are large."""

from __future__ import annotations

import json
from typing import Any

PREVIEW_BYTES = 256
PREVIEW_LENGTH = 120


def format_content(data: bytes | None, size: int | None) -> dict[str, Any] | None:
    """A payload whose beginning was read."""
    if data is None or size is None:
        return None
    is_cut = len(data) < size
    text = decode_text(data, is_cut=is_cut)
    document = format_json(text) if text is not None and not is_cut else None
    return {
        "size": size,
        "shown": len(data),
        "cut": is_cut,
        "kind": "json" if document is not None else "text" if text is not None else "hex",
        "text": document if document is not None else text,
        "hex": data.hex(" ", -2),
    }


def decode_text(data: bytes, *, is_cut: bool) -> str | None:
    """Decode bytes that are text, without a character that was cut in two at the end."""
    for end in range(len(data), max(len(data) - 4, -1), -1) if is_cut else [len(data)]:
        try:
            text = data[:end].decode()
        except UnicodeDecodeError:
            continue
        return text if all(is_readable(each) for each in text) else None
    return None


def is_readable(letter: str) -> bool:
    """Whether a character is ordinary text rather than a control character."""
    return letter in "\t\n\r" or not (letter < " " or "\x7f" <= letter < "\xa0")


def format_json(text: str) -> str | None:
    """Indent a JSON object or list. Other text returns None."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return None


def format_preview(data: bytes | None, size: int | None) -> str:
    """The beginning of a payload on one line."""
    if not data:
        return ""
    text = decode_text(data, is_cut=len(data) < (size or 0))
    if text is None:
        return data[: PREVIEW_LENGTH // 3].hex(" ")
    return " ".join(text.split())[:PREVIEW_LENGTH]


def parse_json(text: str | None) -> Any:
    """Parse JSON of the database. Numbers that are too large for a float stay strings."""
    return None if text is None else json.loads(text, parse_float=parse_number)


def parse_number(text: str) -> float | str:
    """A number, or the digits of a number that is too large for a float."""
    value = float(text)
    return text if value in (float("inf"), float("-inf")) else value


def summarize_error(error: str | None) -> str | None:
    """The last line of an error, which says what went wrong."""
    lines = (error or "").strip().splitlines()
    return lines[-1].strip()[:300] if lines else None
