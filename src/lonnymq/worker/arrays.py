"""Ids and tokens as PostgreSQL's binary arrays, made in one go: psycopg makes them one by one, 3 µs a message."""

from __future__ import annotations

from collections.abc import Iterable
from struct import pack
from uuid import UUID

from psycopg import adapters
from psycopg.abc import Buffer
from psycopg.adapt import Dumper
from psycopg.pq import Format

INT8, INT8_ARRAY, UUID_TYPE, UUID_ARRAY = 20, 1016, 2950, 2951
HEAD = "!iiIii"  # dimensions, nulls, the type of an element, how many, the first one's number
SIXTEEN = pack("!i", 16)


class Ids(list[int]):
    """A bigint[]."""


class Tokens(list[UUID]):
    """A uuid[]."""


class IdsDumper(Dumper):
    """Writes a bigint[]."""

    format = Format.BINARY
    oid = INT8_ARRAY

    def dump(self, obj: Iterable[int]) -> Buffer:
        """The array as it is sent."""
        ids = list(obj)
        elements = [8] * (2 * len(ids))
        elements[1::2] = ids
        return pack(f"{HEAD}{'iq' * len(ids)}", 1, 0, INT8, len(ids), 1, *elements)


class TokensDumper(Dumper):
    """Writes a uuid[]."""

    format = Format.BINARY
    oid = UUID_ARRAY

    def dump(self, obj: Iterable[UUID]) -> Buffer:
        """The array as it is sent."""
        tokens = [SIXTEEN + token.bytes for token in obj]
        return pack(HEAD, 1, 0, UUID_TYPE, len(tokens), 1) + b"".join(tokens)


adapters.register_dumper(Ids, IdsDumper)
adapters.register_dumper(Tokens, TokensDumper)
