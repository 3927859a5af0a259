"""Splits a table into ranges of pages, one partition per task, on the driver.

Page ranges cost nothing to find and are read in the order of the file.
A row that a snapshot sees lies in one place only, unless the table is rewritten (VACUUM FULL, CLUSTER):
so each range remembers the file that the table was in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from psycopg import Connection

PARTITION_BYTES = 32 * 1024 * 1024
MAX_PARTITIONS = 200


@dataclass(frozen=True, slots=True)
class LeafTable:
    """A table with rows of its own: name, file, number of pages, and bytes including TOAST."""

    name: str
    file: int
    pages: int
    bytes: int


@dataclass(frozen=True, slots=True)
class PageRange:
    """The pages of a leaf table from `first` up to but not including `end`."""

    table: str
    file: int
    first: int
    end: int

    @property
    def condition(self) -> str:
        """The SQL condition for the rows on these pages."""
        return f"r.ctid >= '({self.first},0)'::tid and r.ctid < '({self.end},0)'::tid"


PARTITION_LEAVES = """
    select t.relid::regclass::text, pg_relation_filenode(t.relid),
      pg_relation_size(t.relid) / current_setting('block_size')::bigint, pg_table_size(t.relid)
    from pg_partition_tree(%s::regclass) t
    where t.isleaf
    order by t.relid
"""
SINGLE_TABLE = """
    select %s::regclass::text, pg_relation_filenode(%s::regclass),
      pg_relation_size(%s::regclass) / current_setting('block_size')::bigint,
      pg_table_size(%s::regclass)
"""


def fetch_leaf_tables(connection: Connection[Any], table: str) -> list[LeafTable]:
    """The tables that hold the rows of a table: the table itself, or its partitions."""
    found = connection.execute(PARTITION_LEAVES, (table,)).fetchall()
    rows = found or connection.execute(SINGLE_TABLE, (table,) * 4).fetchall()
    return [LeafTable(*row) for row in rows]


def count_partitions(tables: Sequence[LeafTable], requested: int | None) -> int:
    """The requested number of partitions, or one per 32 MiB; never more than pages."""
    size = sum(table.bytes for table in tables)
    wanted = requested or min(ceil(size / PARTITION_BYTES), MAX_PARTITIONS)
    return max(1, min(wanted, sum(table.pages for table in tables)))


def split_tables(tables: Sequence[LeafTable], count: int) -> list[list[PageRange]]:
    """The page ranges of each of `count` partitions, with equal numbers of pages."""
    per_partition = max(1, ceil(sum(table.pages for table in tables) / count))
    partitions: list[list[PageRange]] = [[]]
    room = per_partition
    for table in tables:
        first = 0
        while first < table.pages:
            if room == 0:
                partitions.append([])
                room = per_partition
            end = min(first + room, table.pages)
            partitions[-1].append(PageRange(table.name, table.file, first, end))
            first, room = end, room - (end - first)
    return partitions
