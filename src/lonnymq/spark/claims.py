"""A stream's claims as its driver handles them: one method a SQL function, tried again while the database is away."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import psycopg

from lonnymq.client._sync import connections
from lonnymq.client.call import Call, Record, scalar
from lonnymq.errors import Unreachable

Answer = TypeVar("Answer")

logger = logging.getLogger("lonnymq.spark")
TROUBLE = (psycopg.OperationalError, psycopg.InterfaceError)
FIRST_SECONDS, TRY_SECONDS = (
    5.0,
    600.0,
)  # how long trouble is borne: before anything worked, and after


@dataclass(frozen=True, slots=True)
class Opened:
    """A stream that is ours from now on."""

    epoch: int
    acknowledged: int
    last_id: int
    now_at: int


@dataclass(frozen=True, slots=True)
class Taken:
    """What was added to a claim, or why nothing was."""

    answer: str
    token: str | None
    messages: int
    is_limited: bool
    look_at: int | None
    cursor: list[int]


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a claim that is not settled yet."""

    seq: int
    token: str
    part: int
    messages: int


@dataclass(frozen=True, slots=True)
class Settled:
    """What came of a part of a claim."""

    completed: int
    deferred: int
    retrying: int
    dead: int
    lost: int
    is_more: bool


@dataclass(frozen=True, slots=True)
class Held:
    """How many messages of a claim are still its own."""

    seq: int
    held: int
    lost: int


@dataclass(frozen=True, slots=True)
class Choice:
    """Which messages a stream takes: of these channels, created and due up to a moment."""

    channels: tuple[str, ...] | None = None
    pattern: str | None = None
    last_id: int | None = None
    last_at: int | None = None


OPENED, TAKEN, PART = Record(Opened), Record(Taken), Record(Part)
SETTLED, HELD = Record(Settled), Record(Held)
TAKE_TYPES = "text bigint bigint integer bigint bigint bigint[] text[] text bigint bigint"


class Claims:
    """The claims of one stream. Every call is safe to make twice: that is how an outage is lived through."""

    def __init__(self, dsn: str, *, schema: str, stream: str) -> None:
        self.source = connections.DsnSource(dsn)
        self.schema, self.stream = schema, stream
        self.patience = FIRST_SECONDS
        self.closing = threading.Event()

    def open(self) -> Opened:
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
        choice: Choice,
    ) -> Taken:
        """Add messages to a claim, up to 10,000 a call."""
        chosen = None if choice.channels is None else list(choice.channels)
        values = (self.stream, epoch, seq, limit, lease_ms, timeout_ms, cursor, chosen)
        more = (choice.pattern, choice.last_id, choice.last_at)
        return self.run(
            TAKEN.call_one(self.schema, "claim_take", TAKE_TYPES, (*values, *more)),
            is_dequeue=True,
        )

    def parts(self) -> list[Part]:
        """All that is claimed and not settled."""
        return self.run(PART.call(self.schema, "claim_list", "text", (self.stream,)))

    def acknowledge(self, epoch: int, seq: int, token: str) -> Iterator[Settled]:
        """Settle a claim and say what came of each of its parts."""
        values = (self.stream, epoch, seq, token)
        call = SETTLED.call_one(self.schema, "claim_acknowledge", "text bigint bigint text", values)
        while True:
            settled = self.run(call)
            yield settled
            if not settled.is_more:
                return

    def release(self, epoch: int, seq: int) -> None:
        """Give a claim back that no batch was given."""
        values = (self.stream, epoch, seq)
        self.run(scalar(self.schema, "claim_release", "text bigint bigint", values))

    def renew(self, epoch: int, *, lease_ms: int) -> list[Held]:
        """Extend the leases of all that is claimed."""
        values = (self.stream, epoch, lease_ms)
        return self.run(HELD.call(self.schema, "claim_renew", "text bigint bigint", values))

    def run(self, call: Call[Answer], *, is_dequeue: bool = False) -> Answer:
        """Run a call, again and again while the database is out of reach."""
        until, pause = time.monotonic() + self.patience, 0.05
        while True:
            try:
                made = connections.run_dequeue if is_dequeue else connections.run
                answer = made(self.source, call)
            except TROUBLE as error:
                if time.monotonic() > until or self.closing.is_set():
                    raise Unreachable(
                        f"the database cannot be reached: {str(error).strip()}"
                    ) from None
                logger.warning("stream %s: the database is away, trying on: %s", self.stream, error)
                self.closing.wait(random.uniform(pause / 2, pause))  # noqa: S311 - spreads load
                pause = min(pause * 2, 2.0)
            else:
                self.patience = TRY_SECONDS
                return answer

    def close(self) -> None:
        """Let go of the connections; what is claimed stays claimed."""
        self.closing.set()
        self.source.close()
