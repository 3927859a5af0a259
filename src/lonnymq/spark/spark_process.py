"""The processes that Spark starts: modules left out of garbage collection, and errors without a traceback.

Spark collects garbage after every task and every plan, among everything that was ever imported: 30 ms each time, which
for a small job is most of what Python does.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from lonnymq.errors import LonnyMQError

DATABASE_DRIVERS = ("psycopg", "adbc_driver")


def freeze_imports() -> None:
    """Exclude all present objects from garbage collection, once per process, and only in Spark's own processes."""
    if gc.get_freeze_count() == 0 and main_module() == "pyspark.daemon":
        gc.collect()
        gc.freeze()


@contextmanager
def plain_errors() -> Iterator[None]:
    """Let Spark show errors of the library and of the database as one line, without the traceback.

    Spark reads the variable when it reports the error, and ends the process after that.
    """
    try:
        yield
    except Exception as error:
        is_ours = isinstance(error, LonnyMQError)
        is_plain = is_ours or type(error).__module__.startswith(DATABASE_DRIVERS)
        if is_plain and main_module().startswith("pyspark."):
            os.environ["SPARK_HIDE_TRACEBACK"] = "1"
        raise


def main_module() -> str:
    """The module that this process runs: a process that plans or runs tasks, one after the other, is the daemon's."""
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    return "" if spec is None else str(spec.name)
