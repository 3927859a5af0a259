"""Work that is tried again while the database is away: restarted, crashed, or failing over."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from time import monotonic, sleep
from typing import Any, TypeVar

from psycopg import Connection, InterfaceError, OperationalError
from psycopg.pq import PGconn, Ping

from lonnymq.errors import Unreachable
from lonnymq.spark.connection import conninfo, open_connection
from lonnymq.spark.options import Options

Answer = TypeVar("Answer")

PATIENCE = 120.0  # seconds, for a server that was there a moment ago
PASSING = ("08", "57P")  # the SQLSTATEs
logger = logging.getLogger("lonnymq.spark")
FIRST_SECONDS = 30.0  # of patience with a server that perhaps never was there
AWAY = (Ping.REJECT, Ping.NO_RESPONSE)
TROUBLE = (Unreachable, OperationalError, InterfaceError)
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 2.0


def is_passing(error: Exception) -> bool:
    """Whether what the server said, if it said anything, is no verdict on the work."""
    state = getattr(error, "sqlstate", None)
    return not state or state.startswith(PASSING)


def patiently(work: Callable[[], Answer], *, seconds: float = PATIENCE) -> Answer:
    """Do work that is safe to do twice, again and again while the database is away."""
    pause, until = FIRST_PAUSE, None
    while True:
        try:
            return work()
        except TROUBLE as error:
            until = until or monotonic() + seconds
            if not is_passing(error) or monotonic() > until:
                raise
            logger.warning("the database is away, trying on: %s", str(error).strip())
        sleep(random.uniform(pause / 2, pause))  # noqa: S311 (spreads load)
        pause = min(pause * 2, LONGEST_PAUSE)


def wait_until_there(options: Options) -> None:
    """Wait for a server that does not answer, or says that it is starting; not for one that says anything else."""
    until = monotonic() + FIRST_SECONDS
    while PGconn.ping(conninfo(options).encode()) in AWAY and monotonic() < until:
        sleep(FIRST_PAUSE)


def open_patiently(options: Options) -> Connection[Any]:
    """A connection for a task: its driver has reached the server, so that one that is away is waited for."""
    return patiently(lambda: open_connection(options))
