"""The driver's half of the streaming source: which claim comes next, and when the ones before it are settled."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

from lonnymq.errors import InvalidArgument, StreamFenced, Unreachable
from lonnymq.spark.connection import conninfo
from lonnymq.spark.options import Options
from lonnymq.spark.stream.claim_builder import MOST_AT_ONCE, Aside, Cursor, Filling
from lonnymq.spark.stream.claim_reader import ClaimLost
from lonnymq.spark.stream.claims import Choice, Claims, Part, Taken, logger
from lonnymq.spark.stream.listener import Ear

Offset = dict[str, Any]  # the claim's number, and its token, by which it is known again

IDLE_SECONDS = 1.0
CONTENDED_SECONDS = 0.005


class Driver:
    """One query's hold on a stream: opened with the first call, gone when another query opens the stream."""

    def __init__(self, options: Options) -> None:
        self.options, self.stream = options, str(options["stream"])
        self.lease_ms = int(options["leaseDuration"])
        self.timeout_ms: int | None = options["claimTimeout"] or None
        self.choice = Choice(options["subscribe"], options["subscribePattern"])
        address = conninfo(options, name=f"lonnymq stream {self.stream}")
        self.claims = Claims(address, schema=options.schema, stream=self.stream)
        self.ear = Ear(address, schema=options.schema)
        self.filling = Filling()
        self.epoch = self.acknowledged = self.given = 0
        self.is_limited = (
            True  # whether the last claim counts in limits; of one made before a crash nobody knows
        )
        self.is_full = False  # whether the last claim has all that it may have: more may be waiting
        self.aside = Aside()
        self.is_bounded, self.moment = False, (0, 0)
        self.fenced: StreamFenced | None = None
        self.stopping = threading.Event()

    # Where a query begins

    def open(self) -> None:
        """Take the stream over, once; from then on its claims are kept alive."""
        if self.fenced is not None:
            raise self.fenced
        if self.epoch:
            return
        opened = self.claims.open()
        self.epoch, self.acknowledged = opened.epoch, opened.acknowledged
        self.moment = opened.last_id, opened.now_at
        self.given = max([opened.acknowledged, *(part.seq for part in self.claims.parts())])
        threading.Thread(target=self.keep, name=f"claims of {self.stream}", daemon=True).start()

    def first(self) -> Offset:
        """Where a query without a checkpoint begins: after what is settled."""
        self.open()
        return {"seq": self.acknowledged, "claim": ""}

    def bound(self) -> None:
        """Take no message that was created, or became due, after the stream was opened."""
        self.open()
        self.choice = replace(self.choice, last_id=self.moment[0], last_at=self.moment[1])
        self.is_bounded = True

    # What comes next

    def latest(self, start: Offset, most: int | None) -> Offset:
        """Settle all up to `start`, which Spark has by now, and say where the next batch ends."""
        if not {"seq", "claim"} <= start.keys():
            raise InvalidArgument(
                "the checkpoint is that of another source: give this query a checkpointLocation of its own"
            )
        self.open()
        made = self.aside.join()
        if made and start["seq"] < self.given:  # asked again for a batch before it
            self.given, made = self.given + 1, 0
        if (pending := self.pending(start)) is not None:
            self.settle(start)
            return pending
        seq = max(start["seq"], self.given) + 1
        if not (made or self.settle_and_make(start, seq, most)):
            return start
        self.given = seq
        self.go_ahead(start, seq + 1, most)
        return offset_of(next(each for each in self.claims.parts() if each.seq == seq))

    def settle_and_make(self, start: Offset, seq: int, most: int | None) -> int:
        """Settle one claim and make the next, together unless the next may need the room of the first."""
        if start["seq"] > self.acknowledged and self.is_limited:
            self.settle(start)
        if start["seq"] <= self.acknowledged:
            return self.make(seq, most)
        self.aside.settle(lambda: self.settle(start))
        made = self.make(seq, most, is_patient=False)
        self.aside.join()
        return made or self.make(seq, most)

    def go_ahead(self, start: Offset, seq: int, most: int | None) -> None:
        """While Spark works on a batch, settle the one before it and make the claim for the next.

        Only where the query reads all there is and then ends, and nothing is limited: a claim that waits for its batch
        would else keep messages, and places, from others who could have them sooner.
        """
        if not (self.is_bounded and self.is_full) or self.is_limited:
            return self.settle(start)
        if start["seq"] > self.acknowledged:
            self.aside.settle(lambda: self.settle(start))
        return self.aside.make(lambda: self.make(seq, most, is_patient=False))

    def pending(self, start: Offset) -> Offset | None:
        """A claim that was made before a crash and given to no batch, if it is still whole."""
        if self.given <= start["seq"]:
            return None
        for claim in self.claims.renew(self.epoch, lease_ms=self.lease_ms):
            if claim.seq > start["seq"] and claim.lost:
                self.claims.release(self.epoch, claim.seq)
        parts = (each for each in self.claims.parts() if each.seq > start["seq"])
        return next(map(offset_of, parts), None)

    def settle(self, start: Offset) -> None:
        """Acknowledge a claim that Spark is done with; the query's own words about single messages are followed."""
        if start["seq"] <= self.acknowledged:
            return
        found = list(self.claims.acknowledge(self.epoch, start["seq"], start["claim"]))
        self.acknowledged = start["seq"]
        if lost := sum(each.lost for each in found):
            self.complain(f"claim {start['seq']} of stream {self.stream} was late: {lost} messages")

    def make(self, seq: int, most: int | None, *, is_patient: bool = True) -> int:
        """Make a claim of up to so many messages; 0: there are none, and a while was waited for some."""
        self.ear.open()
        until = time.monotonic() + (IDLE_SECONDS if is_patient else 0)
        self.is_limited = False
        take = partial(self.take, seq)
        while not (taken := self.filling.begin(take, most)).messages:
            if not self.wait(taken.answer, until):
                self.is_full = False
                return 0
        made = taken.messages
        if made == MOST_AT_ONCE and made != most:
            made += self.filling.go_on(take, None if most is None else most - made)
        self.is_full = made == most
        return made

    def take(self, seq: int, limit: int, cursor: Cursor) -> Taken:
        """Add a part to a claim."""
        taken = self.claims.take(
            self.epoch,
            seq,
            limit=limit,
            lease_ms=self.lease_ms,
            timeout_ms=self.timeout_ms,
            cursor=cursor,
            choice=self.choice,
        )
        self.is_limited = self.is_limited or taken.is_limited
        return taken

    def wait(self, answer: str, until: float) -> bool:
        """Wait a moment for messages; False: for long enough."""
        left = until - time.monotonic()
        if left <= 0 or self.stopping.is_set():
            return False
        if answer == "contended":
            self.stopping.wait(CONTENDED_SECONDS)
            return True
        if self.is_bounded:
            return False
        cursor = self.filling.cursors[0]
        self.ear.wait(min(left, 0.1) if cursor and len(cursor) > 3 else left)
        return True

    def parts(self, start: Offset, end: Offset) -> list[Part]:
        """What lies between two offsets; settled claims have nothing left to give."""
        is_new = not self.epoch
        self.open()
        found = [each for each in self.claims.parts() if start["seq"] < each.seq <= end["seq"]]
        if is_new:  # after a crash: what was claimed before it may be another's
            self.renew()
        missing = end["seq"] > self.acknowledged and end["seq"] not in {each.seq for each in found}
        strange = any(each.seq == end["seq"] and each.token != end["claim"] for each in found)
        if missing or strange:
            self.complain(f"claim {end['seq']} of stream {self.stream} is not there")
            return []
        return found

    # What keeps it

    def keep(self) -> None:
        """Extend the leases every third of their time, in a thread."""
        while not self.stopping.wait(self.lease_ms / 3000):
            try:
                self.renew()
            except StreamFenced as error:
                self.fenced = error
                return
            except (Unreachable, ClaimLost) as error:
                logger.warning("stream %s: its claims were not renewed: %s", self.stream, error)

    def renew(self) -> None:
        """Extend the leases of all that is claimed."""
        for claim in self.claims.renew(self.epoch, lease_ms=self.lease_ms):
            if claim.lost:
                self.complain(
                    f"claim {claim.seq} of stream {self.stream} has lost {claim.lost} messages"
                )

    def complain(self, what: str) -> None:
        """End the query, or only say so, as the options say."""
        if self.options["failOnLeaseLost"]:
            raise ClaimLost(f"{what}: {ClaimLost.__doc__}")
        logger.warning("%s", what)

    def stop(self) -> None:
        """Let go of the connections and of nothing else: Spark also says so when the query is to be resumed."""
        self.stopping.set()
        self.aside.stop()
        self.filling.stop()
        self.ear.closing.set()
        self.claims.close()
        self.ear.close()


def offset_of(part: Part) -> Offset:
    """The offset of a claim's end."""
    return {"seq": part.seq, "claim": part.token}


def stretches(parts: Iterable[Part], many: int) -> list[list[tuple[Part, int, int]]]:
    """The messages of these parts in up to so many stretches of equal length: part, first and last of it."""
    listed = list(parts)
    total = sum(each.messages for each in listed)
    size = max(1, -(-total // many))
    found: list[list[tuple[Part, int, int]]] = [[]]
    room = size
    for part in listed:
        first = 1
        while first <= part.messages:
            if not room:
                found.append([])
                room = size
            last = min(part.messages, first + room - 1)
            found[-1].append((part, first, last))
            room -= last - first + 1
            first = last + 1
    return [each for each in found if each]
