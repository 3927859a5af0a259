"""Arrays on their way to PostgreSQL: lists that say what is in them, so that a driver can pack them quickly."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class Texts(list[str]):
    """The elements of a text[], none of them null."""


class Contents(list[bytes]):
    """The elements of a bytea[], none of them null."""


class Identifiers(list[int]):
    """The elements of a bigint[], none of them null."""


class Tokens(list[Any]):
    """The elements of a uuid[], none of them null."""


def optional_column(values: Iterable[object]) -> list[object] | None:
    """A column of which rows may say nothing, or None where none says anything: then it is quicker to store."""
    found = list(values)
    return None if found.count(None) == len(found) else found
