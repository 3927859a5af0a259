"""Lets Spark's Python workers save their coverage: every Python that finds this folder on its path imports it.

Spark's daemon ends its workers with SIGHUP or SIGKILL, after which nothing is saved. Under `make coverage` it sends
SIGHUP alone, and a worker leaves by `os._exit`, which coverage has patched. tests/conftest.py sets the path.
"""

import os
import signal
import sys
from types import FrameType
from typing import Any

kill, set_handler, daemon = os.kill, signal.signal, os.getpid()


def end(number: int, frame: FrameType | None) -> None:
    set_handler(number, signal.SIG_IGN)
    os._exit(128 + number)


def kill_gently(pid: int, number: int) -> None:
    gently = os.getpid() == daemon and number == signal.SIGKILL
    kill(pid, signal.SIGHUP if gently else number)


def set_handler_that_saves(number: int, handler: Any) -> Any:
    saves = number == signal.SIGHUP and handler == signal.SIG_DFL
    return set_handler(number, end if saves else handler)


if "pyspark.daemon" in sys.orig_argv:
    vars(os)["kill"], vars(signal)["signal"] = kill_gently, set_handler_that_saves
