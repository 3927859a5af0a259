"""The files that a table of the lake's consists of, as its log tells it; runs on the driver."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pyarrow as pa

if TYPE_CHECKING:
    from deltalake import DeltaTable

COLUMNS = {
    "path": "path",
    "partition.source": "source",
    "partition.date": "day",
    "num_records": "rows",
    "size_bytes": "bytes",
    "max.xid": "last_position",
}


@dataclass(frozen=True, slots=True)
class Listed:
    """A file: its path below the table, whose rows it has, and if known their day and last position."""

    path: str
    source: str
    rows: int
    bytes: int
    day: date | None = None
    last_position: int | None = None


def listed(table: DeltaTable) -> list[Listed]:
    """All files of a table, by path."""
    actions = pa.table(table.get_add_actions(flatten=True))
    known = {name: field for name, field in COLUMNS.items() if name in actions.column_names}
    rows = actions.select(list(known)).rename_columns(list(known.values())).to_pylist()
    # The log writes paths as URLs do.
    found = (Listed(**{**row, "path": unquote(row["path"])}) for row in rows)
    return sorted(found, key=lambda each: each.path)
