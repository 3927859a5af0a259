"""What could be leased: which messages are certainly committed, due, unheld and permitted, and from when on."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Container
from math import inf

from .statements import Message
from .visibility import Sessions


def everything(_: Message) -> bool:
    """What a dequeue wants."""
    return True


class Availability(Sessions):
    """What a dequeue can find."""

    chooses: Callable[[Message], bool] = staticmethod(
        everything
    )  # what the call wants that is judged

    def available(
        self, session: str, channels: Container[str] | None = None
    ) -> dict[str, list[Message]]:
        """The messages of each channel that are certainly committed, due and unheld, limits aside."""
        held, taken_back = self.held(session), self.is_dequeuing(session)
        own = self.open[session].changes.messages if session in self.open else {}
        found: dict[str, list[Message]] = defaultdict(list)
        for tag, message in self.committed.messages.items():
            if message is None or message.dequeue_at > self.now or tag in held or tag in own:
                continue
            if self.is_expired(message):
                continue
            if not self.chooses(message) or (
                channels is not None and message.channel not in channels
            ):
                continue
            lease = message.lease
            if lease is not None and (
                lease.until > self.now or taken_back or self.is_maybe_dead(self.committed, message)
            ):
                continue
            found[message.channel].append(message)
        return found

    def in_flight(self) -> tuple[Counter[str], Counter[str]]:
        """How many leases of each channel count, at least and at most."""
        low: Counter[str] = Counter()
        high: Counter[str] = Counter()
        changed: dict[str, Message | None] = {}
        is_dequeuing = False
        for transaction in self.open.values():
            changed |= transaction.changes.messages
            is_dequeuing |= transaction.changes.has_dequeued
        for tag, message in self.committed.messages.items():
            if message is not None and message.lease:
                is_over = message.lease.until <= self.now
                low[message.channel] += not self.is_maybe_over(message)
                high[message.channel] += not is_over or tag in changed or is_dequeuing
        for tag, message in changed.items():
            before = self.committed.messages.get(tag)
            if (
                message is not None
                and message.lease
                and (before is None or before.lease != message.lease)
            ):
                counted = before is not None and before.lease is not None
                low[message.channel] += message.lease.until > self.now and not (
                    counted and not self.is_maybe_over(before)
                )
                high[message.channel] += not counted
        return low, high

    def granted(self, channel: str) -> list[tuple[tuple[int | None, int], int]]:
        """The leases of a channel in open transactions, as (rate, time)."""
        return [
            each[1:] for t in self.open.values() for each in t.changes.grants if each[0] == channel
        ]

    def deliverable(self, session: str) -> dict[str, int]:
        """How many messages of each channel a dequeue must find, if it finds nothing else."""
        _, high = self.in_flight()
        limit = self.committed.queue_limit[-1] if self.committed.queue_limit else None
        if limit is not None and sum(high.values()) >= limit:
            return {}
        found = {}
        for channel, messages in self.available(session).items():
            policy = self.policy(self.committed, channel)
            room = inf if policy.max_concurrency is None else policy.max_concurrency - high[channel]
            if policy.min_interval_ms is not None:
                _, paid = self.rates[channel].moved(self.granted(channel), policy)
                room = min(room, self.rates[channel].allows(paid, policy, self.now))
            if room > 0 and not policy.paused:
                found[channel] = int(min(room, len(messages)))
        return found

    def next_moment(self, session: str) -> int | None:
        """When something can be leased if nobody does anything: it is due, a lease is over, or the rate allows it."""
        messages = [message for message in self.committed.messages.values() if message is not None]
        moments = {message.dequeue_at for message in messages}
        moments |= {message.lease.until for message in messages if message.lease}
        for channel in {message.channel for message in messages}:
            interval, burst = self.policy(self.committed, channel).rate
            if interval is not None:
                moments.add(self.rates[channel].high - (burst - 1) * interval)
        now = self.now
        try:
            for self.now in sorted(moment for moment in moments if moment > now):
                if self.deliverable(session):
                    return self.now
        finally:
            self.now = now
        return None
