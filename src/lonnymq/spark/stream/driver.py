"""The driver's half of the streaming source: makes the next claim, and acknowledges the claims before it."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import replace
from functools import partial
from typing import Any

import psycopg

from lonnymq.client.calls.spark import ClaimPart, ClaimTaken
from lonnymq.errors import InvalidArgument, StreamFenced, Unreachable
from lonnymq.spark.connection import conninfo
from lonnymq.spark.options import Options
from lonnymq.spark.stream.claim_builder import (
    MESSAGES_PER_CALL,
    BackgroundWork,
    ClaimBuilder,
    Cursor,
)
from lonnymq.spark.stream.claims import Claims, Selection
from lonnymq.spark.stream.progress import Progress
from lonnymq.spark.stream.reader import ClaimLost

Offset = dict[str, Any]  # the number of a claim, and its token, which identifies the claim
logger = logging.getLogger("lonnymq.spark")
IDLE_SECONDS = 1.0
CONTENDED_SECONDS = 0.005


class StreamDriver:
    """The driver of one query: its first call opens the stream, and it ends when another query opens the stream."""

    def __init__(self, options: Options) -> None:
        self.options, self.stream = options, str(options["stream"])
        self.lease_ms = int(options["leaseDuration"])
        self.timeout_ms: int | None = options["claimTimeout"] or None
        self.selection = Selection(options["subscribe"], options["subscribePattern"])
        address = conninfo(options, name=f"lonnymq stream {self.stream}")
        self.claims = Claims(address, schema=options.schema, stream=self.stream)
        self.listener = Listener(address, schema=options.schema)
        self.builder, self.background = ClaimBuilder(), BackgroundWork()
        self.progress = Progress()
        self.epoch = self.acknowledged = self.last_seq = 0
        self.inherited: set[int] = set()  # claims of an earlier run, which may have set outcomes
        # Whether messages of the last claim count in a limit; unknown for a claim from before a crash.
        self.is_limited = True
        self.is_full = False  # whether the last claim reached its maximum: more messages may wait
        self.is_bounded, self.present = False, (0, 0)
        self.fenced: StreamFenced | None = None
        self.stopping = threading.Event()

    # The start of a query

    def open(self) -> None:
        """Take the stream over, once; from then on a thread renews the leases of its claims."""
        if self.fenced is not None:
            raise self.fenced
        if self.epoch:
            return
        opened = self.claims.open()
        self.epoch, self.acknowledged = opened.epoch, opened.acknowledged
        self.present = opened.last_id, opened.now_at
        self.inherited = {each.seq for each in self.claims.list_parts()}
        self.last_seq = max([opened.acknowledged, *self.inherited])
        name = f"claims of {self.stream}"
        threading.Thread(target=self.keep_renewing, name=name, daemon=True).start()

    def initial_offset(self) -> Offset:
        """The start of a query without a checkpoint: after the last acknowledged claim."""
        self.open()
        return {"seq": self.acknowledged, "claim": ""}

    def limit_to_present(self) -> None:
        """Take no message that was created, or became due, after the stream was opened."""
        self.open()
        last_id, last_at = self.present
        self.selection = replace(self.selection, last_id=last_id, last_at=last_at)
        self.is_bounded = True

    # The next batch

    def latest_offset(self, start: Offset, limit: int | None) -> Offset:
        """Acknowledge all claims up to `start`, which Spark has finished, and return the end of the next batch."""
        if not {"seq", "claim"} <= start.keys():
            raise InvalidArgument(
                "the checkpoint belongs to another source: give this query its own checkpointLocation"
            )
        self.open()
        built = self.background.join()
        if built and start["seq"] < self.last_seq:  # Spark asks again for an earlier batch
            self.last_seq, built = self.last_seq + 1, 0
        if (pending := self.find_pending(start)) is not None:
            self.acknowledge(start)
            return pending
        seq = max(start["seq"], self.last_seq) + 1
        if not (built or self.acknowledge_and_build(start, seq, limit)):
            return start
        self.last_seq = seq
        self.work_ahead(start, seq + 1, limit)
        return claim_offset(next(each for each in self.claims.list_parts() if each.seq == seq))

    def acknowledge_and_build(self, start: Offset, seq: int, limit: int | None) -> int:
        """Acknowledge a claim and build the next, both at once unless the next may need the slots of the first."""
        if start["seq"] > self.acknowledged and self.is_limited:
            self.acknowledge(start)
        if start["seq"] <= self.acknowledged:
            return self.build_claim(seq, limit)
        self.background.acknowledge(lambda: self.acknowledge(start))
        built = self.build_claim(seq, limit, can_wait=False)
        self.background.join()
        return built or self.build_claim(seq, limit)

    def work_ahead(self, start: Offset, seq: int, limit: int | None) -> None:
        """While Spark works on a batch, acknowledge the batch before it and build the claim for the next.

        Only where the query reads all waiting messages and then ends, and no limit applies: else a claim that waits for
        its batch would keep messages and slots from consumers that are ready for them.
        """
        if not (self.is_bounded and self.is_full) or self.is_limited:
            return self.acknowledge(start)
        if start["seq"] > self.acknowledged:
            self.background.acknowledge(lambda: self.acknowledge(start))
        return self.background.build(lambda: self.build_claim(seq, limit, can_wait=False))

    def find_pending(self, start: Offset) -> Offset | None:
        """A claim from before a crash that no batch has used, if it still holds all messages."""
        if self.last_seq <= start["seq"]:
            return None
        for claim in self.claims.renew(self.epoch, lease_ms=self.lease_ms):
            if claim.seq > start["seq"] and claim.lost:
                self.claims.release(self.epoch, claim.seq)
        parts = (each for each in self.claims.list_parts() if each.seq > start["seq"])
        return next(map(claim_offset, parts), None)

    def acknowledge(self, start: Offset) -> None:
        """Acknowledge a claim that Spark has finished, with the outcomes that the query has set."""
        if start["seq"] <= self.acknowledged:
            return
        found = list(self.claims.acknowledge(self.epoch, start["seq"], start["claim"]))
        self.acknowledged = start["seq"]
        self.progress.add_settled(found)
        if lost := sum(each.lost for each in found):
            self.report_lost(f"claim {start['seq']} of stream {self.stream} lost {lost} messages")

    def build_claim(self, seq: int, limit: int | None, *, can_wait: bool = True) -> int:
        """Build a claim of up to so many messages; 0: no message came within the idle time."""
        self.listener.open()
        until = time.monotonic() + (IDLE_SECONDS if can_wait else 0)
        self.is_limited = False
        take = partial(self.take_messages, seq)
        while not (taken := self.builder.start_claim(take, limit)).messages:
            if not self.wait(taken.answer, until):
                self.is_full = False
                return 0
        built = taken.messages
        if built == MESSAGES_PER_CALL and built != limit:
            built += self.builder.fill_claim(take, None if limit is None else limit - built)
        self.is_full = built == limit
        self.progress.add_claimed(built)
        return built

    def take_messages(self, seq: int, limit: int, cursor: Cursor) -> ClaimTaken:
        """Add messages to a claim."""
        taken = self.claims.take(
            self.epoch,
            seq,
            limit=limit,
            lease_ms=self.lease_ms,
            timeout_ms=self.timeout_ms,
            cursor=cursor,
            selection=self.selection,
        )
        self.is_limited = self.is_limited or taken.is_limited
        return taken

    def wait(self, answer: str, until: float) -> bool:
        """Wait for messages; False: the time is over."""
        left = until - time.monotonic()
        if left <= 0 or self.stopping.is_set():
            return False
        if answer == "contended":
            self.stopping.wait(CONTENDED_SECONDS)
            return True
        if self.is_bounded:
            return False
        cursor = self.builder.cursors[0]
        self.listener.wait(min(left, 0.1) if cursor and len(cursor) > 3 else left)
        return True

    def find_parts(self, start: Offset, end: Offset) -> list[ClaimPart]:
        """The parts of the claims between two offsets; an acknowledged claim has none."""
        is_new = not self.epoch
        self.open()
        found = [each for each in self.claims.list_parts() if start["seq"] < each.seq <= end["seq"]]
        if is_new:  # after a crash, claims from before may have lost messages
            self.renew()
        missing = end["seq"] > self.acknowledged and end["seq"] not in {each.seq for each in found}
        replaced = any(each.seq == end["seq"] and each.token != end["claim"] for each in found)
        if missing or replaced:
            self.report_lost(f"claim {end['seq']} of stream {self.stream} does not exist")
            return []
        for seq in self.inherited & {each.seq for each in found}:  # the batch is tried again
            self.claims.reset(self.epoch, seq)
            self.inherited.discard(seq)
        return found

    def report_progress(self) -> Offset | None:
        """The progress of the query, once the stream is open."""
        if not self.epoch:
            return None
        self.progress.measure_lag(self.claims)
        return {"seq": self.last_seq, **self.progress.to_dict()}

    # Leases

    def keep_renewing(self) -> None:
        """Renew the leases whenever a third of their time has passed, in a thread."""
        while not self.stopping.wait(self.lease_ms / 3000):
            try:
                self.renew()
            except StreamFenced as error:
                self.fenced = error
                return
            except (Unreachable, ClaimLost) as error:
                logger.warning("stream %s: claims were not renewed: %s", self.stream, error)

    def renew(self) -> None:
        """Renew the leases of all claims."""
        for claim in self.claims.renew(self.epoch, lease_ms=self.lease_ms):
            if claim.lost:
                self.report_lost(
                    f"claim {claim.seq} of stream {self.stream} lost {claim.lost} messages"
                )

    def report_lost(self, problem: str) -> None:
        """End the query, or log the problem if failOnLeaseLost is false."""
        if self.options["failOnLeaseLost"]:
            raise ClaimLost(f"{problem}: {ClaimLost.__doc__}")
        logger.warning("%s", problem)

    def stop(self) -> None:
        """Close the connections and release nothing: Spark also stops a query that it resumes later."""
        self.stopping.set()
        self.background.stop()
        self.builder.stop()
        self.listener.closing.set()
        self.claims.close()
        self.listener.close()


def claim_offset(part: ClaimPart) -> Offset:
    """The offset of the end of a claim."""
    return {"seq": part.seq, "claim": part.token}


class Listener:
    """Waits for a notification of new messages, on its own connection: an idle stream asks once per second and no more.

    Without notifications it waits for the time only.
    """

    def __init__(self, dsn: str, *, schema: str) -> None:
        self.dsn, self.schema = dsn, schema
        self.connection: psycopg.Connection[Any] | None = None
        self.is_pooled = False  # a transaction pooler passes no notifications on
        self.closing = threading.Event()

    def open(self) -> None:
        """Listen before you ask the queue: the next wait receives every notification from now on."""
        if self.connection is not None or self.is_pooled:
            return
        try:
            self.connection = psycopg.connect(self.dsn, autocommit=True, prepare_threshold=None)
            row = self.connection.execute("select pg_backend_pid()").fetchone()
            self.is_pooled = row != (self.connection.info.backend_pid,)
            if self.is_pooled:
                self.close()
            else:
                self.connection.execute(f"listen {self.schema}".encode())
        except psycopg.Error:
            self.close()

    def wait(self, seconds: float) -> None:
        """Wait for a notification, at most for so many seconds."""
        if self.connection is None:
            self.closing.wait(seconds)
            return
        try:
            for _ in self.connection.notifies(timeout=seconds, stop_after=1):
                pass
        except psycopg.Error:
            self.close()

    def close(self) -> None:
        """Close the connection."""
        if self.connection is not None:
            self.connection.close()
            self.connection = None
