"""The progress of a stream, which Spark shows to listeners as the latest offset of the source."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any

import psycopg

from lonnymq.client import calls
from lonnymq.client._sync import connections
from lonnymq.errors import LonnyMQError

if TYPE_CHECKING:
    from lonnymq.client.calls.spark import ClaimSettled
    from lonnymq.spark.stream.claims import Claims

LAG_SECONDS = 5.0  # between two looks at the queue: a query reports many times per second


@dataclass
class Progress:
    """Counts of messages since the query started, and the lag of the queue."""

    claimed: int = 0
    acknowledged: int = 0
    given_back: int = 0
    dead: int = 0
    lost: int = 0
    lag_messages: int | None = None
    lag_seconds: float | None = None

    def __post_init__(self) -> None:
        self.lock, self.looked_at = Lock(), -LAG_SECONDS

    def add_claimed(self, messages: int) -> None:
        """Count the messages of a claim."""
        with self.lock:
            self.claimed += messages

    def add_settled(self, parts: Iterable[ClaimSettled]) -> None:
        """Count what became of the messages of a claim."""
        with self.lock:
            for part in parts:
                self.acknowledged += part.completed
                self.given_back += part.deferred + part.retrying
                self.dead += part.dead
                self.lost += part.lost

    def measure_lag(self, claims: Claims) -> None:
        """Look how many messages of the queue are due or scheduled, and for how long the oldest has been due.

        Only now and then, and never at the expense of the query: without the viewer role the lag stays unknown.
        """
        if monotonic() - self.looked_at < LAG_SECONDS:
            return
        self.looked_at = monotonic()
        try:
            stats = connections.run(claims.source, calls.queue_stats(claims.schema))
        except (psycopg.Error, LonnyMQError, OSError):
            self.lag_messages = self.lag_seconds = None
            return
        oldest = stats.oldest_ready_at
        self.lag_messages = stats.waiting
        self.lag_seconds = 0.0 if oldest is None else max(0, stats.now_at - oldest) / 1000

    def to_dict(self) -> dict[str, Any]:
        """The values by name, for JSON."""
        return {
            "claimed": self.claimed,
            "acknowledged": self.acknowledged,
            "givenBack": self.given_back,
            "dead": self.dead,
            "lost": self.lost,
            "lagMessages": self.lag_messages,
            "lagSeconds": self.lag_seconds,
        }
