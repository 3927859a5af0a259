"""The lake: history from PostgreSQL in Delta tables, each transaction once, however often a sync was killed."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lonnymq.lake.dataframes import read_channels, read_history, sources, write_history
    from lonnymq.lake.errors import (
        DatabaseWentBack,
        IdentifierHidden,
        LakeBroken,
        LakeBusy,
        LakeForeign,
        LakeMissing,
        LakeNewer,
        OtherDatabase,
        ServerReplaced,
    )
    from lonnymq.lake.location import Lake
    from lonnymq.lake.maintenance import compact, vacuum
    from lonnymq.lake.status import read_status
    from lonnymq.lake.syncer import sync

HOME = {
    "DatabaseWentBack": "lonnymq.lake.errors",
    "IdentifierHidden": "lonnymq.lake.errors",
    "Lake": "lonnymq.lake.location",
    "LakeBroken": "lonnymq.lake.errors",
    "LakeBusy": "lonnymq.lake.errors",
    "LakeForeign": "lonnymq.lake.errors",
    "LakeMissing": "lonnymq.lake.errors",
    "LakeNewer": "lonnymq.lake.errors",
    "OtherDatabase": "lonnymq.lake.errors",
    "ServerReplaced": "lonnymq.lake.errors",
    "compact": "lonnymq.lake.maintenance",
    "read_channels": "lonnymq.lake.dataframes",
    "read_history": "lonnymq.lake.dataframes",
    "sources": "lonnymq.lake.dataframes",
    "read_status": "lonnymq.lake.status",
    "sync": "lonnymq.lake.syncer",
    "vacuum": "lonnymq.lake.maintenance",
    "write_history": "lonnymq.lake.dataframes",
}

__all__ = [
    "DatabaseWentBack",
    "IdentifierHidden",
    "Lake",
    "LakeBroken",
    "LakeBusy",
    "LakeForeign",
    "LakeMissing",
    "LakeNewer",
    "OtherDatabase",
    "ServerReplaced",
    "compact",
    "read_channels",
    "read_history",
    "read_status",
    "sources",
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
