"""The lake: history from PostgreSQL in Delta tables, each transaction once, however often a sync was killed."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lonnymq.lake.place import Lake
    from lonnymq.lake.reading import read_channels, read_history, sources
    from lonnymq.lake.refusals import (
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
    from lonnymq.lake.standing import status
    from lonnymq.lake.syncing import sync
    from lonnymq.lake.upkeep import compact, vacuum
    from lonnymq.lake.writing import write_history

HOME = {
    "DatabaseWentBack": "lonnymq.lake.refusals",
    "IdentifierHidden": "lonnymq.lake.refusals",
    "Lake": "lonnymq.lake.place",
    "LakeBroken": "lonnymq.lake.refusals",
    "LakeBusy": "lonnymq.lake.refusals",
    "LakeForeign": "lonnymq.lake.refusals",
    "LakeMissing": "lonnymq.lake.refusals",
    "LakeNewer": "lonnymq.lake.refusals",
    "OtherDatabase": "lonnymq.lake.refusals",
    "ServerReplaced": "lonnymq.lake.refusals",
    "compact": "lonnymq.lake.upkeep",
    "read_channels": "lonnymq.lake.reading",
    "read_history": "lonnymq.lake.reading",
    "sources": "lonnymq.lake.reading",
    "status": "lonnymq.lake.standing",
    "sync": "lonnymq.lake.syncing",
    "vacuum": "lonnymq.lake.upkeep",
    "write_history": "lonnymq.lake.writing",
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
    "sources",
    "status",
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
