"""The claims of a stream in the database: a method per SQL function, with retries, on the driver."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import psycopg

from lonnymq.client import calls
from lonnymq.client._sync import connections
from lonnymq.client._sync.pool import DsnSource
from lonnymq.client.call import Call
from lonnymq.client.calls.spark import (
    ClaimPart,
    ClaimRenewed,
    ClaimSettled,
    ClaimTaken,
    StreamOpened,
)
from lonnymq.errors import Unreachable
from lonnymq.spark.retry import CALL_SECONDS, Backoff

Answer = TypeVar("Answer")

FIRST_RETRY_SECONDS = 5.0  # before the first call worked
RETRY_SECONDS = 600.0  # and after it


@dataclass(frozen=True, slots=True)
class Selection:
    """The messages that a stream takes: by channel, and by the time that they were created and due."""

    channels: tuple[str, ...] | None = None
    pattern: str | None = None
    last_id: int | None = None
    last_at: int | None = None


class Claims:
    """The claims of one stream. Every call is safe to make twice, which allows retries."""

    def __init__(self, dsn: str, *, schema: str, stream: str) -> None:
        self.source = DsnSource(dsn, timeout=CALL_SECONDS)
        self.schema, self.stream = schema, stream
        self.retry_seconds = FIRST_RETRY_SECONDS
        self.closing = threading.Event()

    def open(self) -> StreamOpened:
        """Take the stream over."""
        return self.run(calls.stream_open(self.schema, self.stream))

    def take(
        self,
        epoch: int,
        seq: int,
        *,
        limit: int,
        lease_ms: int,
        timeout_ms: int | None,
        cursor: Sequence[int] | None,
        selection: Selection,
    ) -> ClaimTaken:
        """Add messages to a claim, up to 10,000 per call."""
        call = calls.claim_take(
            self.schema, self.stream, epoch, seq, limit=limit, lease_ms=lease_ms,
            timeout_ms=timeout_ms, cursor=cursor, channels=selection.channels,
            pattern=selection.pattern, last_id=selection.last_id, last_at=selection.last_at,
        )  # fmt: skip
        return self.run(call, is_dequeue=True)

    def list_parts(self) -> list[ClaimPart]:
        """All parts of claims that are not acknowledged yet."""
        return self.run(calls.claim_list(self.schema, self.stream))

    def acknowledge(self, epoch: int, seq: int, token: str) -> Iterator[ClaimSettled]:
        """Acknowledge a claim, part by part."""
        call = calls.claim_acknowledge(self.schema, self.stream, epoch, seq, token)
        while True:
            part = self.run(call)
            yield part
            if not part.is_more:
                return

    def reset(self, epoch: int, seq: int) -> None:
        """Remove the outcomes of a claim whose batch is tried again."""
        self.run(calls.claim_reset(self.schema, self.stream, epoch, seq))

    def release(self, epoch: int, seq: int) -> None:
        """Return the messages of a claim that no batch has used."""
        self.run(calls.claim_release(self.schema, self.stream, epoch, seq))

    def renew(self, epoch: int, *, lease_ms: int) -> list[ClaimRenewed]:
        """Extend the leases of all claims."""
        return self.run(calls.claim_renew(self.schema, self.stream, epoch, lease_ms=lease_ms))

    def run(self, call: Call[Answer], *, is_dequeue: bool = False) -> Answer:
        """Run a call, again and again while the database is unreachable."""
        run = connections.run_dequeue if is_dequeue else connections.run
        backoff = Backoff(self.retry_seconds, wait=self.closing.wait)
        while True:
            try:
                answer = run(self.source, call)
            except (psycopg.OperationalError, psycopg.InterfaceError) as error:
                if self.closing.is_set() or not backoff.pause(f"stream {self.stream}: {error}"):
                    raise Unreachable(
                        f"the database cannot be reached: {str(error).strip()}"
                    ) from None
            else:
                self.retry_seconds = RETRY_SECONDS
                return answer

    def close(self) -> None:
        """Close the connections. The claims stay."""
        self.closing.set()
        self.source.close()
