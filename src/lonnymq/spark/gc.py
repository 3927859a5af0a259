"""Leaves imported modules out of garbage collection in the processes that Spark starts.

Spark collects garbage after every task and every plan, among everything that was ever imported: 30 ms each time, which
for a small job is most of what Python does.
"""

from __future__ import annotations

import gc
import sys


def freeze_imports() -> None:
    """Exclude all present objects from garbage collection, once per process, and only in Spark's own processes."""
    if gc.get_freeze_count() == 0 and is_spark_process():
        gc.collect()
        gc.freeze()


def is_spark_process() -> bool:
    """Whether Spark started this process, to plan or to run tasks one after the other."""
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    return spec is not None and spec.name == "pyspark.daemon"
