"""The Delta tables of a lake: their columns, and opening, creating, checking and listing them; runs on the driver."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa
from pyspark.sql.types import DateType, StringType, StructField, StructType

from lonnymq.lake.errors import LakeBroken, LakeMissing, LakeTooNew, NotALake
from lonnymq.lake.location import ANALYTICS, CHANNELS, HISTORY, Lake
from lonnymq.spark.read import schemas
from lonnymq.spark.read.schemas import Column, arrow_schema, columns, spark_schema

if TYPE_CHECKING:
    from deltalake import DeltaTable, Schema

FORMAT = 1  # raised when an older library would misread what is written
FORMAT_KEY = "lonnymq.format"
STORE_ADVICE = "Check the URL, and the region and keys in --storage-option."
# The columns in the files. Partition columns are in the table's log only.
HISTORY_COLUMNS: tuple[Column, ...] = schemas.HISTORY
CHANNEL_COLUMNS: tuple[Column, ...] = (
    *columns("r", channel="text", taken_at="instant", max_concurrency="integer"),
    *columns("r", min_interval_ms="long", burst="integer", max_size="long", when_full="text"),
    *columns("r", weight="integer", max_attempts="integer", paused="boolean"),
    # The limit of the whole queue, in the row of the defaults.
    *columns("r", queue_max_concurrency="integer"),
)
TABLE_COLUMNS = {HISTORY: HISTORY_COLUMNS, CHANNELS: CHANNEL_COLUMNS}
PARTITION_COLUMNS = {HISTORY: ["source", "date"], CHANNELS: ["source"]}
PARTITION_TYPES = {"source": (StringType(), pa.string()), "date": (DateType(), pa.date32())}
LISTED_COLUMNS = {
    "path": "path",
    "partition.source": "source",
    "partition.date": "day",
    "num_records": "rows",
    "size_bytes": "bytes",
    "max.xid": "last_position",
}


def read_schema(name: str) -> StructType:
    """The columns of a read: those of the files and the partition columns."""
    added = [StructField(each, PARTITION_TYPES[each][0], True) for each in PARTITION_COLUMNS[name]]
    return StructType([*spark_schema(TABLE_COLUMNS[name]).fields, *added])


def delta_schema(name: str) -> Schema:
    """A table's schema in Delta."""
    from deltalake import Schema

    added = [pa.field(each, PARTITION_TYPES[each][1]) for each in PARTITION_COLUMNS[name]]
    return Schema.from_arrow(pa.schema([*arrow_schema(TABLE_COLUMNS[name]), *added]))


def find_table(lake: Lake, name: str) -> DeltaTable | None:
    """Open a table, or return None if there is none. Raises if something else is there."""
    from deltalake import DeltaTable

    location, options = lake.table(name), dict(lake.options)
    check_no_file(lake, name)
    try:
        if not DeltaTable.is_deltatable(location, options):
            check_no_foreign_files(lake, name)
            return None
        table = DeltaTable(location, storage_options=options)
        check_table(table, location, name)
    except (NotALake, LakeTooNew):
        raise
    except Exception as error:  # of several libraries, for one reason: it cannot be read
        advice = LakeBroken.__doc__ if lake.is_local else STORE_ADVICE
        if name.startswith(ANALYTICS):
            advice = "Delete the folder: the next report computes the table again"
        raise LakeBroken(
            f"the table {location} cannot be read: {first_line(error)}. {advice}"
        ) from error
    return table


def open_table(lake: Lake, name: str) -> DeltaTable:
    """Open a table; raises if there is none."""
    table = find_table(lake, name)
    if table is None:
        raise LakeMissing(f"there is no table {name} at {lake.url}. {LakeMissing.__doc__}")
    return table


def ensure_table(lake: Lake, name: str, schema: Schema | None = None) -> DeltaTable:
    """Open a table, created if there is none, with all columns of this version. Aggregates give their schema."""
    schema = schema or delta_schema(name)
    table = find_table(lake, name)
    if table is None:
        create_table(lake, name, schema)
        table = open_table(lake, name)
    return add_missing_columns(table, schema)


def create_table(lake: Lake, name: str, schema: Schema) -> None:
    """Create an empty table. Another process may do so at the same time."""
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    if lake.is_local:
        create_folder(Path(lake.table(name)))
    try:
        DeltaTable.create(
            lake.table(name),
            schema,
            partition_by=PARTITION_COLUMNS.get(name, ["source", "date"]),
            name=f"lonnymq {name.replace('/', ' ')}",
            configuration={FORMAT_KEY: str(FORMAT)},
            raise_if_key_not_exists=False,
            storage_options=dict(lake.options),
        )
    except DeltaError:
        if find_table(lake, name) is None:
            raise


def create_folder(path: Path) -> None:
    """Create a local folder."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NotALake(
            f"the folder {path} cannot be created: {error.strerror}. {NotALake.__doc__}"
        ) from None


def add_missing_columns(table: DeltaTable, schema: Schema) -> DeltaTable:
    """Add the columns that an earlier version did not have. Existing rows have nulls there."""
    known = {field.name for field in table.schema().fields}
    added = [field for field in schema.fields if field.name not in known]
    if added:
        table.alter.add_columns(added)
        table.update_incremental()
    return table


def check_table(table: DeltaTable, location: str, name: str) -> None:
    """Raise if a Delta table does not belong to a lake, or if a later version wrote the table."""
    about = table.metadata()
    version = about.configuration.get(FORMAT_KEY)
    if version is None or about.partition_columns != PARTITION_COLUMNS.get(
        name, about.partition_columns
    ):
        raise NotALake(f"the Delta table {location} does not belong to a lake. {NotALake.__doc__}")
    if not version.isdigit() or int(version) > FORMAT:
        raise LakeTooNew(
            f"the table {location} has format {version}, but this version of LonnyMQ reads formats up to {FORMAT}. "
            f"{LakeTooNew.__doc__}"
        )
    if name not in TABLE_COLUMNS:
        return
    types: dict[str, Any] = {field.name: field.type for field in table.schema().fields}
    for field in delta_schema(name).fields:
        if types.get(field.name, field.type) != field.type:
            raise NotALake(
                f"the column {field.name} of {location} has type {types[field.name]}, not {field.type}. "
                f"{NotALake.__doc__}"
            )


def check_no_file(lake: Lake, name: str) -> None:
    """Raise if a file is where a folder is needed."""
    for location in (lake.url, lake.table(name)):
        if lake.is_local and Path(location).is_file():
            raise NotALake(f"{location} is a file, but a lake needs a folder. {NotALake.__doc__}")


def check_no_foreign_files(lake: Lake, name: str) -> None:
    """Raise if the folder of a new table has other files."""
    from pyarrow import fs

    if lake.is_local and not Path(lake.table(name)).exists():
        return
    found = lake.files().get_file_info(fs.FileSelector(name, allow_not_found=True))
    # A log without a commit belongs to a table that another sync is creating.
    if any(each.base_name != "_delta_log" for each in found):
        raise NotALake(
            f"the folder {lake.table(name)} has files, but no table of a lake. {NotALake.__doc__}"
        )


def first_line(error: BaseException) -> str:
    """The first line of an error, without a full stop."""
    lines = str(error).strip().splitlines()
    return (lines[0] if lines else type(error).__name__).rstrip(".")


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file of a table: path below the table, source, size, and if known its day and last position."""

    path: str
    source: str
    rows: int
    bytes: int
    day: date | None = None
    last_position: int | None = None


def list_files(
    table: DeltaTable,
    source: str | None = None,
    first: date | None = None,
    last: date | None = None,
) -> list[DataFile]:
    """List the files of a table, by path: all files, or those of a source and of days from the first to the last."""
    actions = pa.table(table.get_add_actions(flatten=True))
    known = {name: field for name, field in LISTED_COLUMNS.items() if name in actions.column_names}
    rows = actions.select(list(known)).rename_columns(list(known.values())).to_pylist()
    # Paths in the log are URL-encoded.
    found = (DataFile(**{**row, "path": unquote(row["path"])}) for row in rows)
    chosen = (
        each
        for each in found
        if source in (None, each.source)
        and (each.day is None or (first or each.day) <= each.day <= (last or each.day))
    )
    return sorted(chosen, key=lambda each: each.path)
