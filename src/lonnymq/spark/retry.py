"""Retries while the database is unreachable: it restarts, crashed or fails over. Drivers and executors share them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, TypeVar

from lonnymq import backoff
from lonnymq.errors import Unreachable
from lonnymq.spark.connection import conninfo, open_connection
from lonnymq.spark.options import Options

if TYPE_CHECKING:  # tasks that only read do without psycopg, and start sooner
    from psycopg import Connection

Answer = TypeVar("Answer")

logger = logging.getLogger("lonnymq.spark")
RETRY_SECONDS = 120.0  # for a server that answered a moment ago
FIRST_RETRY_SECONDS = 30.0  # for a server that perhaps never existed
CALL_SECONDS = 120.0  # for an answer to a call with many messages
TRANSIENT_STATES = ("08", "57P")  # SQLSTATEs of broken connections, servers that start or stop


class Backoff(backoff.Backoff):
    """Pauses between tries, each about twice as long as the pause before, until `seconds` have passed."""

    def __init__(self, seconds: float, *, wait: Callable[[float], object] | None = None) -> None:
        super().__init__()
        self.seconds, self.wait = seconds, wait or sleep
        self.until: float | None = None

    def reset(self) -> None:
        """Start again, after a try that made progress."""
        super().reset()
        self.until = None

    def pause(self, reason: object) -> bool:
        """Log the reason and wait for the next try; False: the time is over."""
        self.until = self.until or monotonic() + self.seconds
        if monotonic() > self.until:
            return False
        logger.warning("database unreachable, retrying: %s", str(reason).strip())
        self.wait(self.next_delay())
        return True


def is_transient(error: Exception) -> bool:
    """Whether the same work may succeed later: the connection broke, or the server starts or stops."""
    state = getattr(error, "sqlstate", None)
    return not state or state.startswith(TRANSIENT_STATES)


def run_with_retries(work: Callable[[], Answer], *, seconds: float = RETRY_SECONDS) -> Answer:
    """Run work that is safe to run twice, again and again while the database is unreachable."""
    from psycopg import InterfaceError, OperationalError

    pauses = Backoff(seconds)
    while True:
        try:
            return work()
        except (Unreachable, OperationalError, InterfaceError) as error:
            if not is_transient(error) or not pauses.pause(error):
                raise


def open_connection_with_retries(options: Options) -> Connection[Any]:
    """A connection for a task, whose driver has reached the server before."""
    return run_with_retries(lambda: open_connection(options))


def wait_until_reachable(options: Options) -> None:
    """Wait for a server that gives no answer or is starting. Any other answer ends the wait."""
    from psycopg.pq import PGconn, Ping

    pauses, address = Backoff(FIRST_RETRY_SECONDS), conninfo(options).encode()
    while (found := PGconn.ping(address)) in (Ping.REJECT, Ping.NO_RESPONSE):
        reason = "no answer" if found == Ping.NO_RESPONSE else "the server is starting"
        if not pauses.pause(reason):
            return
