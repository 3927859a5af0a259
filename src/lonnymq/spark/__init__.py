"""LonnyMQ on Spark: read and write the queue with DataFrames, and run handlers on a cluster."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lonnymq.spark.cluster.runner import run_workers
    from lonnymq.spark.data_source import LonnyMQDataSource
    from lonnymq.spark.spark_session import package_library, register, send_library, session
    from lonnymq.spark.stream.outcomes import set_outcomes

MODULES = {
    "LonnyMQDataSource": "lonnymq.spark.data_source",
    "package_library": "lonnymq.spark.spark_session",
    "register": "lonnymq.spark.spark_session",
    "run_workers": "lonnymq.spark.cluster.runner",
    "send_library": "lonnymq.spark.spark_session",
    "session": "lonnymq.spark.spark_session",
    "set_outcomes": "lonnymq.spark.stream.outcomes",
}
REQUIRED = ("pyspark", "pyarrow", "adbc_driver_postgresql")

__all__ = [
    "LonnyMQDataSource",
    "package_library",
    "register",
    "run_workers",
    "send_library",
    "session",
    "set_outcomes",
]

for required in REQUIRED:
    if find_spec(required) is None:
        raise ImportError(f'Spark needs {required}: pip install "lonnymq[spark]"', name=required)


if not TYPE_CHECKING:  # a type checker would take every name for a public one

    def __getattr__(name: str) -> Any:
        """Import a public name when it is first used: an executor needs one of them, not all."""
        if name not in MODULES:
            raise AttributeError(f"module 'lonnymq.spark' has no attribute {name!r}")
        value = getattr(import_module(MODULES[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
