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
    from lonnymq.lake.maintenance import compact, vacuum
    from lonnymq.lake.status import read_status
    from lonnymq.lake.syncer import sync

HOME = {
    "DatabaseRestored": "lonnymq.lake.errors",
    "IdentifierHidden": "lonnymq.lake.errors",
    "Lake": "lonnymq.lake.location",
    "LakeBroken": "lonnymq.lake.errors",
    "LakeBusy": "lonnymq.lake.errors",
    "NotALake": "lonnymq.lake.errors",
    "LakeMissing": "lonnymq.lake.errors",
    "LakeTooNew": "lonnymq.lake.errors",
    "WrongDatabase": "lonnymq.lake.errors",
    "ServerReplaced": "lonnymq.lake.errors",
    "compact": "lonnymq.lake.maintenance",
    "read_channels": "lonnymq.lake.dataframes",
    "read_history": "lonnymq.lake.dataframes",
    "list_sources": "lonnymq.lake.dataframes",
    "read_status": "lonnymq.lake.status",
    "sync": "lonnymq.lake.syncer",
    "vacuum": "lonnymq.lake.maintenance",
    "write_history": "lonnymq.lake.dataframes",
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


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: an executor needs one of them, not all."""
    if name not in HOME:
        raise AttributeError(f"module 'lonnymq.lake' has no attribute {name!r}")
    value = getattr(import_module(HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
