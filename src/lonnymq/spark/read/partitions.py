"""Cuts a table into slices of pages for tasks to read, on the driver.

Pages, because they cost nothing to find and are read in the order they lie in.
A row that the snapshot sees lies in one place only, unless the table is rewritten (VACUUM FULL, CLUSTER):
so each slice remembers the file that the table was in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from psycopg import Connection

SLICE_BYTES = 32 * 1024 * 1024
MOST_SLICES = 200


@dataclass(frozen=True, slots=True)
class Leaf:
    """A table with rows of its own: its name, the file it is in, its pages, its bytes with what is kept beside it."""

    name: str
    file: int
    pages: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Slice:
    """Some pages of a leaf: from one up to another, which is not included."""

    leaf: str
    file: int
    first: int
    end: int

    @property
    def condition(self) -> str:
        """The rows on these pages, in SQL."""
        return f"r.ctid >= '({self.first},0)'::tid and r.ctid < '({self.end},0)'::tid"


LEAVES = """
    select t.relid::regclass::text, pg_relation_filenode(t.relid),
      pg_relation_size(t.relid) / current_setting('block_size')::bigint, pg_table_size(t.relid)
    from pg_partition_tree(%s::regclass) t
    where t.isleaf
    order by t.relid
"""
ONE_LEAF = """
    select %s::regclass::text, pg_relation_filenode(%s::regclass),
      pg_relation_size(%s::regclass) / current_setting('block_size')::bigint,
      pg_table_size(%s::regclass)
"""


def leaves_of(connection: Connection[Any], table: str) -> list[Leaf]:
    """The tables that a table's rows are in: itself, or its partitions."""
    found = connection.execute(LEAVES, (table,)).fetchall()
    return [Leaf(*row) for row in found or connection.execute(ONE_LEAF, (table,) * 4).fetchall()]


def how_many(leaves: Sequence[Leaf], asked: int | None) -> int:
    """Into how many slices: as many as asked for, else one for every 32 MiB; never more than pages."""
    size = sum(leaf.bytes for leaf in leaves)
    wanted = asked or min(ceil(size / SLICE_BYTES), MOST_SLICES)
    return max(1, min(wanted, sum(leaf.pages for leaf in leaves)))


def shares(leaves: Sequence[Leaf], count: int) -> list[list[Slice]]:
    """The slices of each of `count` tasks: as many pages for one as for the other."""
    pages = sum(leaf.pages for leaf in leaves)
    per_task = max(1, ceil(pages / count))
    tasks: list[list[Slice]] = [[]]
    room = per_task
    for piece in pieces(leaves):
        first, end = piece.first, piece.end
        while first < end:
            if room == 0:
                tasks.append([])
                room = per_task
            taken = min(room, end - first)
            tasks[-1].append(Slice(piece.leaf, piece.file, first, first + taken))
            first, room = first + taken, room - taken
    return tasks


def pieces(leaves: Sequence[Leaf]) -> Iterator[Slice]:
    """Each leaf with pages as one slice."""
    return (Slice(leaf.name, leaf.file, 0, leaf.pages) for leaf in leaves if leaf.pages)
