"""Leaves what a process of Spark's has imported out of its garbage collections.

Spark collects garbage after every task and every plan, among everything that was ever imported: 30 ms each time, which
for a small job is most of what Python does.
"""

from __future__ import annotations

import gc
import sys


def rest() -> None:
    """Look no more for garbage among what is there by now; once in a process, and only in Spark's own."""
    if gc.get_freeze_count() == 0 and is_of_spark():
        gc.collect()
        gc.freeze()


def is_of_spark() -> bool:
    """Whether this is a process that Spark has started to plan, or to run tasks one after the other."""
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    return spec is not None and spec.name == "pyspark.daemon"
