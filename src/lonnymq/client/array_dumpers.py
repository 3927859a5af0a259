"""Dumpers that send the lists of `arrays` in PostgreSQL's binary form.

psycopg looks at each element of a plain list several times to find the type of the array. These dumpers need not look.
A connection that was opened before `register` sends the lists like all others.
"""

from __future__ import annotations

from struct import Struct, pack
from typing import Any, ClassVar

import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format

from lonnymq.client.arguments import Contents, Identifiers, Texts, Tokens

HEADER = Struct("!iiIii").pack  # dimensions, has nulls, type of the elements, length, lower bound
LENGTH = Struct("!i").pack
BYTEA, BIGINT, TEXT, UUID = 17, 20, 25, 2950


class ArrayDumper(Dumper):
    """A one-dimensional array without nulls."""

    format = Format.BINARY
    element: ClassVar[int]

    def dump(self, obj: Any) -> bytes:
        """The array as it travels."""
        if not obj:
            return HEADER(0, 0, self.element, 0, 0)[:12]
        return HEADER(1, 0, self.element, len(obj), 1) + self.elements(obj)

    def elements(self, obj: Any) -> bytes:
        """Each element after its length."""
        parts: list[bytes] = []
        for each in obj:
            parts += (LENGTH(len(each)), each)
        return b"".join(parts)


class ContentsDumper(ArrayDumper):
    """bytea[]"""

    oid, element = 1001, BYTEA


class TextsDumper(ArrayDumper):
    """text[]"""

    oid, element = 1009, TEXT

    def elements(self, obj: Any) -> bytes:
        """Each in the encoding that the connection speaks."""
        spoken = self.connection.info.encoding if self.connection else "utf-8"
        encoding = "utf-8" if spoken == "ascii" else spoken  # SQL_ASCII: whatever was stored
        return super().elements([each.encode(encoding) for each in obj])


class IdentifiersDumper(ArrayDumper):
    """bigint[]"""

    oid, element = 1016, BIGINT

    def elements(self, obj: Any) -> bytes:
        """All at once."""
        packed = [8] * (2 * len(obj))
        packed[1::2] = obj
        return pack("!" + "iq" * len(obj), *packed)


class TokensDumper(ArrayDumper):
    """uuid[]"""

    oid, element = 2951, UUID

    def elements(self, obj: Any) -> bytes:
        """Sixteen bytes each."""
        return b"".join([b"\0\0\0\x10" + each.bytes for each in obj])


def register() -> None:
    """Teach every psycopg connection that is opened from now on."""
    for kind, dumper in (
        (Texts, TextsDumper),
        (Contents, ContentsDumper),
        (Identifiers, IdentifiersDumper),
        (Tokens, TokensDumper),
    ):
        psycopg.adapters.register_dumper(kind, dumper)
