"""The Delta tables of a lake, on the driver: opened with a look whether they are ours, made, and grown."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from lonnymq.lake.columns import COLUMNS, PARTED_BY, table_schema
from lonnymq.lake.errors import LakeBroken, LakeForeign, LakeMissing, LakeNewer
from lonnymq.lake.location import Lake

if TYPE_CHECKING:
    from deltalake import DeltaTable

FORMAT = 1  # raised when an older library would misread what is written
FORMAT_KEY = "lonnymq.format"
STORE = "Check the address, and what --storage-option says of the store's region and keys."


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
