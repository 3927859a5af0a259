"""A payload as it can be shown: text, JSON or bytes, cut where it is large."""

from __future__ import annotations

import json
from typing import Any

MOST_BYTES = 16_384
HEAD_BYTES = 256
HEAD_LETTERS = 120


def content_of(data: bytes | None, size: int | None) -> dict[str, Any] | None:
    """A payload of which the beginning was read."""
    if data is None or size is None:
        return None
    is_cut = len(data) < size
    text = text_of(data, is_cut=is_cut)
    document = pretty(text) if text is not None and not is_cut else None
    return {
        "size": size,
        "shown": len(data),
        "cut": is_cut,
        "kind": "json" if document is not None else "text" if text is not None else "hex",
        "text": document if document is not None else text,
        "hex": data.hex(" ", -2),
    }


def text_of(data: bytes, *, is_cut: bool) -> str | None:
    """The bytes as text, if they are text; a character that was cut in two at the end is left out."""
    for end in range(len(data), max(len(data) - 4, -1), -1) if is_cut else [len(data)]:
        try:
            text = data[:end].decode()
        except UnicodeDecodeError:
            continue
        return text if all(is_readable(each) for each in text) else None
    return None


def is_readable(letter: str) -> bool:
    """Whether a character belongs in a text rather than among bytes."""
    return letter in "\t\n\r" or not (letter < " " or "\x7f" <= letter < "\xa0")


def pretty(text: str) -> str | None:
    """JSON in lines, if it is JSON; a lone number or word is shown as the text that it is."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return None


def head_of(data: bytes | None, size: int | None) -> str:
    """The first of a payload on one line."""
    if not data:
        return ""
    text = text_of(data, is_cut=len(data) < (size or 0))
    if text is None:
        return data[: HEAD_LETTERS // 3].hex(" ")
    return " ".join(text.split())[:HEAD_LETTERS]


def document_of(text: str | None) -> Any:
    """JSON that the database keeps, with numbers that JSON cannot say spelled out."""
    return None if text is None else json.loads(text, parse_float=number)


def number(text: str) -> float | str:
    """A number, or its digits where it is beyond what a float can hold."""
    value = float(text)
    return text if value in (float("inf"), float("-inf")) else value


def summary_of(error: str | None) -> str | None:
    """The line of an error that says what went wrong: the last one."""
    lines = (error or "").strip().splitlines()
    return lines[-1].strip()[:300] if lines else None
