"""Texts in a statement that is sent as it is."""

from __future__ import annotations


def literal(value: str) -> str:
    """A string literal, which means the same whatever the server's settings are."""
    escaped = value.replace("\\", "\\\\").replace("'", "''")
    return f"E'{escaped}'"
