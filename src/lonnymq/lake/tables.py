"""The Delta tables of a lake, on the driver: opened with a look whether they are ours, made, and grown."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa
from pyspark.sql.types import DateType, StringType, StructField, StructType

from lonnymq.lake.errors import LakeBroken, LakeForeign, LakeMissing, LakeNewer
from lonnymq.lake.location import CHANNELS, HISTORY, Lake
from lonnymq.spark import schemas
from lonnymq.spark.schemas import Column, arrow_schema, columns, spark_schema

if TYPE_CHECKING:
    from deltalake import DeltaTable, Schema

FORMAT = 1  # raised when an older library would misread what is written
FORMAT_KEY = "lonnymq.format"
STORE = "Check the address, and what --storage-option says of the store's region and keys."
# What the files hold. What the rows are parted by stands in the table's log, and is not in the files.
OF_HISTORY: tuple[Column, ...] = schemas.HISTORY
OF_CHANNELS: tuple[Column, ...] = (
    *columns("r", channel="text", taken_at="instant", max_concurrency="integer"),
    *columns("r", release_interval_ms="long", burst="integer", max_size="long", when_full="text"),
    *columns("r", weight="integer", max_attempts="integer", paused="boolean"),
    # Of the whole queue: it stands in the row of the defaults.
    *columns("r", queue_max_concurrency="integer"),
)
COLUMNS = {HISTORY: OF_HISTORY, CHANNELS: OF_CHANNELS}
PARTED_BY = {HISTORY: ["source", "date"], CHANNELS: ["source"]}
PARTING = {"source": (StringType(), pa.string()), "date": (DateType(), pa.date32())}
LISTED_COLUMNS = {
    "path": "path",
    "partition.source": "source",
    "partition.date": "day",
    "num_records": "rows",
    "size_bytes": "bytes",
    "max.xid": "last_position",
}


def row_schema(name: str) -> StructType:
    """What a read of a table gives: the columns of its files, and what they are parted by."""
    added = [StructField(each, PARTING[each][0], True) for each in PARTED_BY[name]]
    return StructType([*spark_schema(COLUMNS[name]).fields, *added])


def table_schema(name: str) -> Schema:
    """A table's schema in Delta."""
    from deltalake import Schema

    added = [pa.field(each, PARTING[each][1]) for each in PARTED_BY[name]]
    return Schema.from_arrow(pa.schema([*arrow_schema(COLUMNS[name]), *added]))


def find_table(lake: Lake, name: str) -> DeltaTable | None:
    """A table of the lake's; None: it is not there. Raises where something else is."""
    from deltalake import DeltaTable

    place, options = lake.table(name), dict(lake.options)
    refuse_a_file(lake, name)
    try:
        if not DeltaTable.is_deltatable(place, options):
            refuse_others(lake, name)
            return None
        table = DeltaTable(place, storage_options=options)
        check_ours(table, place, name)
    except (LakeForeign, LakeNewer):
        raise
    except Exception as error:  # of several libraries, for one reason: it cannot be read
        advice = LakeBroken.__doc__ if lake.is_local else STORE
        raise LakeBroken(
            f"the table {place} cannot be read: {first_line(error)}. {advice}"
        ) from error
    return table


def table_at(lake: Lake, name: str) -> DeltaTable:
    """A table of the lake's; raises if it is not there."""
    table = find_table(lake, name)
    if table is None:
        raise LakeMissing(f"there is no table {name} at {lake.url}. {LakeMissing.__doc__}")
    return table


def made_table(lake: Lake, name: str) -> DeltaTable:
    """A table of the lake's, made if it is not there, with all columns of this version."""
    table = find_table(lake, name)
    if table is None:
        create(lake, name)
        table = table_at(lake, name)
    return grown(table, name)


def create(lake: Lake, name: str) -> None:
    """Make an empty table; another may do the same at the same moment."""
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    if lake.is_local:
        make_folder(Path(lake.table(name)))
    try:
        DeltaTable.create(
            lake.table(name),
            table_schema(name),
            partition_by=PARTED_BY[name],
            name=f"lonnymq {name}",
            configuration={FORMAT_KEY: str(FORMAT)},
            raise_if_key_not_exists=False,
            storage_options=dict(lake.options),
        )
    except DeltaError:
        if find_table(lake, name) is None:
            raise


def make_folder(path: Path) -> None:
    """Make a folder on this machine, or say why it cannot be."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LakeForeign(
            f"the lake's folder {path} cannot be made: {error.strerror}. {LakeForeign.__doc__}"
        ) from None


def grown(table: DeltaTable, name: str) -> DeltaTable:
    """The table with the columns that an earlier version did not know; its rows have nothing there."""
    known = {field.name for field in table.schema().fields}
    added = [field for field in table_schema(name).fields if field.name not in known]
    if added:
        table.alter.add_columns(added)
        table.update_incremental()
    return table


def check_ours(table: DeltaTable, place: str, name: str) -> None:
    """Raise if a Delta table is none of a lake's, or one of a lake that is newer than this library."""
    about = table.metadata()
    said = about.configuration.get(FORMAT_KEY)
    if said is None or about.partition_columns != PARTED_BY.get(name, about.partition_columns):
        raise LakeForeign(
            f"at {place} is a Delta table, but none of a lake's. {LakeForeign.__doc__}"
        )
    if not said.isdigit() or int(said) > FORMAT:
        raise LakeNewer(
            f"the table {place} has the format {said}, and this library knows those up to {FORMAT}. "
            f"{LakeNewer.__doc__}"
        )
    if name not in COLUMNS:
        return
    types: dict[str, Any] = {field.name: field.type for field in table.schema().fields}
    for field in table_schema(name).fields:
        if types.get(field.name, field.type) != field.type:
            raise LakeForeign(
                f"the column {field.name} of {place} is {types[field.name]}, not {field.type}. "
                f"{LakeForeign.__doc__}"
            )


def refuse_a_file(lake: Lake, name: str) -> None:
    """Raise if there is a file where a folder would be."""
    for place in (lake.url, lake.table(name)):
        if lake.is_local and Path(place).is_file():
            raise LakeForeign(f"the lake's folder {place} is a file. {LakeForeign.__doc__}")


def refuse_others(lake: Lake, name: str) -> None:
    """Raise if there are files where a table would be."""
    from pyarrow import fs

    if lake.is_local and not Path(lake.table(name)).exists():
        return
    found = lake.files().get_file_info(fs.FileSelector(name, allow_not_found=True))
    # A log without a commit is that of a table which another sync makes at this moment.
    if any(each.base_name != "_delta_log" for each in found):
        raise LakeForeign(
            f"the folder {lake.table(name)} has files, and is no table of a lake's. {LakeForeign.__doc__}"
        )


def first_line(error: BaseException) -> str:
    """What an error says, on one line and without its full stop."""
    lines = str(error).strip().splitlines()
    return (lines[0] if lines else type(error).__name__).rstrip(".")


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
    known = {name: field for name, field in LISTED_COLUMNS.items() if name in actions.column_names}
    rows = actions.select(list(known)).rename_columns(list(known.values())).to_pylist()
    # The log writes paths as URLs do.
    found = (Listed(**{**row, "path": unquote(row["path"])}) for row in rows)
    return sorted(found, key=lambda each: each.path)
