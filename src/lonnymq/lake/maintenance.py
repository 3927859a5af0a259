"""Maintenance of a lake: merges small files and deletes unused files. Needs no Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from lonnymq.errors import InvalidArgument
from lonnymq.lake.location import ANALYTICS, CHANNELS, HISTORY, Lake, resolve_lake
from lonnymq.lake.tables import open_table

if TYPE_CHECKING:
    from deltalake import DeltaTable

MIN_HOURS = 1
DEFAULT_AGE = timedelta(days=7)
TARGET_BYTES = 128 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class CompactResult:
    """What became of a table's files."""

    table: str
    files_before: int
    files_after: int


@dataclass(frozen=True, slots=True)
class VacuumResult:
    """The files of a table that were taken away, or would be."""

    table: str
    files: list[str]


def compact(
    lake: Lake | Path | str,
    *,
    target_bytes: int = TARGET_BYTES,
    storage_options: Mapping[str, str] | None = None,
) -> list[CompactResult]:
    """Merge small files into large files, day by day. Running reads continue with the small files."""
    location = resolve_lake(lake, storage_options)
    found = []
    for name in list_tables(location):
        table = open_any_table(location, name)
        before = len(table.file_uris())
        table.optimize.compact(target_size=target_bytes)
        found.append(CompactResult(name, before, len(table.file_uris())))
    return found


def vacuum(
    lake: Lake | Path | str,
    *,
    older_than: timedelta = DEFAULT_AGE,
    dry_run: bool = False,
    storage_options: Mapping[str, str] | None = None,
) -> list[VacuumResult]:
    """Delete files that belong to no table: replaced by a compaction, or left by a killed sync."""
    hours = int(older_than / timedelta(hours=1))
    if hours < MIN_HOURS:
        raise InvalidArgument(
            "older_than must be at least an hour: a sync or a reader may use younger files"
        )
    location = resolve_lake(lake, storage_options)
    found = []
    for name in list_tables(location):
        files = open_any_table(location, name).vacuum(
            retention_hours=hours, dry_run=dry_run, enforce_retention_duration=False, full=True
        )
        found.append(VacuumResult(name, sorted(files)))
    return found


def open_any_table(lake: Lake, name: str) -> DeltaTable:
    """Open a table of the lake, or any table of analytics."""
    from deltalake import DeltaTable

    if name in (HISTORY, CHANNELS):
        return open_table(lake, name)
    return DeltaTable(lake.table(name), storage_options=dict(lake.options))


def list_tables(lake: Lake) -> Iterator[str]:
    """List the tables of a lake; raises without a history table."""
    from deltalake import DeltaTable
    from pyarrow import fs

    yield HISTORY
    found = lake.files().get_file_info(fs.FileSelector(ANALYTICS, allow_not_found=True))
    for name in (CHANNELS, *sorted(f"{ANALYTICS}/{each.base_name}" for each in found)):
        if DeltaTable.is_deltatable(lake.table(name), dict(lake.options)):
            yield name
