"""The claims of a stream in the database: one method per SQL function, with retries, on the driver."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import psycopg

from lonnymq.client._sync import connections
from lonnymq.client.call import Call, Record, scalar
from lonnymq.errors import Unreachable
from lonnymq.spark.retry import Backoff

Answer = TypeVar("Answer")

FIRST_RETRY_SECONDS = 5.0  # before the first call worked
RETRY_SECONDS = 600.0  # and after it


@dataclass(frozen=True, slots=True)
class OpenedStream:
    """A stream that belongs to this driver from now on."""

    epoch: int
    acknowledged: int
    last_id: int
    now_at: int


@dataclass(frozen=True, slots=True)
class TakenMessages:
    """The messages that a call added to a claim, or the reason that it added none."""

    answer: str
    token: str | None
    messages: int
    is_limited: bool
    retry_at: int | None
    cursor: list[int]


@dataclass(frozen=True, slots=True)
class ClaimPart:
    """A part of a claim that is not acknowledged yet."""

    seq: int
    token: str
    part: int
    messages: int


@dataclass(frozen=True, slots=True)
class AcknowledgedPart:
    """The outcomes of the messages in a part of a claim."""

    completed: int
    deferred: int
    retrying: int
    dead: int
    lost: int
    is_more: bool


@dataclass(frozen=True, slots=True)
class HeldClaim:
    """How many messages a claim still holds, and how many it has lost."""

    seq: int
    held: int
    lost: int


@dataclass(frozen=True, slots=True)
class Selection:
    """The messages that a stream takes: by channel, and by the time that they were created and due."""

    channels: tuple[str, ...] | None = None
    pattern: str | None = None
    last_id: int | None = None
    last_at: int | None = None


OPENED, TAKEN, PART = Record(OpenedStream), Record(TakenMessages), Record(ClaimPart)
ACKNOWLEDGED, HELD = Record(AcknowledgedPart), Record(HeldClaim)
TAKE_TYPES = "text bigint bigint integer bigint bigint bigint[] text[] text bigint bigint"


class Claims:
    """The claims of one stream. Every call is safe to make twice, which allows retries."""

    def __init__(self, dsn: str, *, schema: str, stream: str) -> None:
        self.source = connections.DsnSource(dsn)
        self.schema, self.stream = schema, stream
        self.retry_seconds = FIRST_RETRY_SECONDS
        self.closing = threading.Event()

    def open(self) -> OpenedStream:
        """Take the stream over."""
        return self.run(OPENED.call_one(self.schema, "stream_open", "text", (self.stream,)))

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
    ) -> TakenMessages:
        """Add messages to a claim, up to 10,000 per call."""
        chosen = None if selection.channels is None else list(selection.channels)
        values = (self.stream, epoch, seq, limit, lease_ms, timeout_ms, cursor, chosen)
        more = (selection.pattern, selection.last_id, selection.last_at)
        return self.run(
            TAKEN.call_one(self.schema, "claim_take", TAKE_TYPES, (*values, *more)),
            is_dequeue=True,
        )

    def list_parts(self) -> list[ClaimPart]:
        """All parts of claims that are not acknowledged yet."""
        return self.run(PART.call(self.schema, "claim_list", "text", (self.stream,)))

    def acknowledge(self, epoch: int, seq: int, token: str) -> Iterator[AcknowledgedPart]:
        """Acknowledge a claim, part by part."""
        values = (self.stream, epoch, seq, token)
        call = ACKNOWLEDGED.call_one(
            self.schema, "claim_acknowledge", "text bigint bigint text", values
        )
        while True:
            part = self.run(call)
            yield part
            if not part.is_more:
                return

    def release(self, epoch: int, seq: int) -> None:
        """Return the messages of a claim that no batch has used."""
        values = (self.stream, epoch, seq)
        self.run(scalar(self.schema, "claim_release", "text bigint bigint", values))

    def renew(self, epoch: int, *, lease_ms: int) -> list[HeldClaim]:
        """Extend the leases of all claims."""
        values = (self.stream, epoch, lease_ms)
        return self.run(HELD.call(self.schema, "claim_renew", "text bigint bigint", values))

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
