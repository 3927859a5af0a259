"""The queue on Spark: DataFrames into it, its messages and its history out of it, its work done by a cluster."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lonnymq.spark.cluster.runner import run_shifts
    from lonnymq.spark.data_source import LonnySource
    from lonnymq.spark.spark_session import pack, register, session, ship
    from lonnymq.spark.stream.outcomes import outcomes

HOME = {
    "LonnySource": "lonnymq.spark.data_source",
    "outcomes": "lonnymq.spark.stream.outcomes",
    "pack": "lonnymq.spark.spark_session",
    "register": "lonnymq.spark.spark_session",
    "run_shifts": "lonnymq.spark.cluster.runner",
    "session": "lonnymq.spark.spark_session",
    "ship": "lonnymq.spark.spark_session",
}
NEEDED = ("pyspark", "pyarrow", "adbc_driver_postgresql")

__all__ = ["LonnySource", "outcomes", "pack", "register", "run_shifts", "session", "ship"]

for needed in NEEDED:
    if find_spec(needed) is None:
        raise ImportError(f'Spark needs {needed}: pip install "lonnymq[spark]"', name=needed)


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: an executor needs one of them, not all."""
    if name not in HOME:
        raise AttributeError(f"module 'lonnymq.spark' has no attribute {name!r}")
    value = getattr(import_module(HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
