"""Keeps a lake's tables in shape: small files made into large ones, files that are nobody's taken away. No Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from lonnymq.errors import InvalidArgument
from lonnymq.lake.location import CHANNELS, FIGURES, HISTORY, Lake, lake_at
from lonnymq.lake.tables import table_at

if TYPE_CHECKING:
    from deltalake import DeltaTable

LEAST_HOURS = 1
KEPT = timedelta(days=7)
TARGET_BYTES = 128 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Compacted:
    """What became of a table's files."""

    table: str
    files_before: int
    files_after: int


@dataclass(frozen=True, slots=True)
class Vacuumed:
    """The files of a table that were taken away, or would be."""

    table: str
    files: list[str]


def compact(
    lake: Lake | Path | str,
    *,
    target_bytes: int = TARGET_BYTES,
    storage_options: Mapping[str, str] | None = None,
) -> list[Compacted]:
    """Make few large files of many small ones, day by day; who reads meanwhile keeps reading the small ones."""
    place = lake_at(lake, storage_options)
    found = []
    for name in tables_of(place):
        table = opened(place, name)
        before = len(table.file_uris())
        table.optimize.compact(target_size=target_bytes)
        found.append(Compacted(name, before, len(table.file_uris())))
    return found


def vacuum(
    lake: Lake | Path | str,
    *,
    older_than: timedelta = KEPT,
    dry_run: bool = False,
    storage_options: Mapping[str, str] | None = None,
) -> list[Vacuumed]:
    """Delete files that no table has: what compaction replaced, and what a killed sync left."""
    hours = int(older_than / timedelta(hours=1))
    if hours < LEAST_HOURS:
        raise InvalidArgument(
            "files younger than an hour are kept: a sync or a reader may be at work with them"
        )
    place = lake_at(lake, storage_options)
    found = []
    for name in tables_of(place):
        files = opened(place, name).vacuum(
            retention_hours=hours, dry_run=dry_run, enforce_retention_duration=False, full=True
        )
        found.append(Vacuumed(name, sorted(files)))
    return found


def opened(lake: Lake, name: str) -> DeltaTable:
    """A table of the lake's; of figures whatever there is."""
    from deltalake import DeltaTable

    if name in (HISTORY, CHANNELS):
        return table_at(lake, name)
    return DeltaTable(lake.table(name), storage_options=dict(lake.options))


def tables_of(lake: Lake) -> Iterator[str]:
    """The names of the tables that a lake has; raises if it has none of history."""
    from deltalake import DeltaTable
    from pyarrow import fs

    yield HISTORY
    figures = lake.files().get_file_info(fs.FileSelector(FIGURES, allow_not_found=True))
    for name in (CHANNELS, *sorted(f"{FIGURES}/{each.base_name}" for each in figures)):
        if DeltaTable.is_deltatable(lake.table(name), dict(lake.options)):
            yield name
