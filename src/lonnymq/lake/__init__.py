"""The lake: history from PostgreSQL in Delta tables, each transaction once, however often a sync was killed."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lonnymq.lake.dataframes import list_sources, read_channels, read_history, write_history
    from lonnymq.lake.errors import (
        DatabaseRestored,
        IdentifierHidden,
        LakeBroken,
        LakeBusy,
        LakeMissing,
        LakeTooNew,
        NotALake,
        ServerReplaced,
        WrongDatabase,
    )
    from lonnymq.lake.location import Lake
    from lonnymq.lake.maintenance import compact, read_status, vacuum
    from lonnymq.lake.syncer import sync

# The names of each module besides the errors.
MODULES = {
    "dataframes": ("list_sources", "read_channels", "read_history", "write_history"),
    "location": ("Lake",),
    "maintenance": ("compact", "read_status", "vacuum"),
    "syncer": ("sync",),
}

__all__ = [
    "DatabaseRestored",
    "IdentifierHidden",
    "Lake",
    "LakeBroken",
    "LakeBusy",
    "LakeMissing",
    "LakeTooNew",
    "NotALake",
    "ServerReplaced",
    "WrongDatabase",
    "compact",
    "list_sources",
    "read_channels",
    "read_history",
    "read_status",
    "sync",
    "vacuum",
    "write_history",
]

for needed in ("pyspark", "pyarrow", "deltalake"):
    if find_spec(needed) is None:
        raise ImportError(f'the lake needs {needed}: pip install "lonnymq[spark]"', name=needed)


if not TYPE_CHECKING:  # a type checker would take every name for a public one

    def __getattr__(name: str) -> Any:
        """Import a public name when it is first used: an executor needs one of them, not all."""
        if name not in __all__:
            raise AttributeError(f"module 'lonnymq.lake' has no attribute {name!r}")
        home = next((module for module, names in MODULES.items() if name in names), "errors")
        value = getattr(import_module(f"lonnymq.lake.{home}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
