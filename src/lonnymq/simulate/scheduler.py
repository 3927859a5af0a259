"""The engine's decisions without a database: the same turns, limits and seats, on a clock that is handed in."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush

from lonnymq.simulate.ring import Channel, Cursor, Message, Ring

MOST_OFF_NOTES = 8
MOST_ONE_BY_ONE = 16
SWEEP_MS = 1000
LATER = 1 << 62


class Scheduler:
    """Takes messages in as producers would, and gives them out as a dequeue of one message does."""

    def __init__(self, channels: Iterable[Channel], *, max_concurrency: int | None = None) -> None:
        self.channels = list(channels)
        self.max_concurrency = max_concurrency
        self.in_flight = 0
        self.ring = Ring()
        self.told: dict[Channel, Message | None] = {}  # what the engine has not heard of yet
        self.quiet = self.queue_slots = self.waiting = 0
        self.plain = True  # all that was told is one message each, of channels of their own
        self.wakes: list[tuple[int, int, Channel]] = []
        self.swept: int | None = None

    # What happens to the queue

    def arrive(self, channel: Channel, message: Message) -> None:
        """A message is created."""
        self.waiting += 1
        channel.add(message)
        told = self.told
        if channel not in told:
            told[channel] = message
        else:
            self.plain = False
            first = told[channel]
            if first is None or message < first:
                told[channel] = message
        if (
            channel.seat is not None
            or channel.hold is not None
            or (channel.wake_at is not None and channel.wake_at <= message[0])
        ):
            self.quiet += 1

    def finish(self, channel: Channel, message: Message) -> None:
        """A lease ends."""
        channel.leased.discard(message)
        if channel.max_concurrency is not None or self.max_concurrency is not None:
            if channel not in self.told:
                self.told[channel] = None
            self.plain = False
            if channel.max_concurrency is not None:
                channel.freed += 1
            if self.max_concurrency is not None:
                self.queue_slots += 1

    def next_wake(self) -> int | None:
        """When a channel's time comes."""
        wakes = self.wakes
        while wakes and wakes[0][2].wake_at != wakes[0][0]:
            heappop(wakes)
        return wakes[0][0] if wakes else None

    # What a dequeue does

    def take(self, cursor: Cursor, now: int) -> tuple[Channel, Message] | None:
        """The message whose turn it is, leased; None if there is none."""
        swept = self.swept
        is_late = swept is None or not swept <= now < swept + SWEEP_MS or self.quiet > 0
        if not is_late and self.wakes:
            wake_at = self.next_wake()
            is_late = wake_at is not None and wake_at <= now
        if self.told and not is_late:
            taken = self.take_off_note(now)
            if taken is not None:
                return taken
        if is_late or self.told:
            self.fold(now)
        taken = self.walk(cursor, now)
        if taken is not None and (self.swept is None or now - SWEEP_MS >= self.swept):
            self.swept = now
        return taken

    def take_off_note(self, now: int) -> tuple[Channel, Message] | None:
        """The message of the first note, where nobody sits and each note tells of one message of its own channel."""
        if (
            not self.plain
            or self.ring.count
            or self.max_concurrency is not None
            or len(self.told) > MOST_OFF_NOTES
        ):
            return None
        for first in self.told.values():
            if first is None or first[0] > now:
                return None
        channel, message = next(iter(self.told.items()))
        if channel.is_limited or not channel.is_known or message is None:
            return None
        del self.told[channel]
        channel.line.remove(message)
        self.lease(channel, message)
        return channel, message

    def lease(self, channel: Channel, message: Message) -> None:
        """Note that a message is leased."""
        self.waiting -= 1
        channel.leased.add(message)
        if message > channel.top:
            channel.top = message

    def fold(self, now: int) -> None:
        """Seats for those whose time has come, then for those of whom something was told, the longest due first."""
        is_full = self.swept is None or now - SWEEP_MS >= self.swept or now < self.swept
        if self.wakes:
            self.wake(now)
        if not self.told:
            return
        if is_full:
            self.swept = now
        told, self.told = self.told, {}
        self.quiet, self.plain = 0, True
        self.in_flight -= self.queue_slots
        self.queue_slots = 0
        for channel, first in (
            sorted(told.items(), key=longest_due) if len(told) > 1 else told.items()
        ):
            self.place(channel, first, now)

    def wake(self, now: int) -> None:
        """Seats for channels whose first message is due, or whose rate allows the next."""
        while (wake_at := self.next_wake()) is not None and wake_at <= now:
            channel = heappop(self.wakes)[2]
            channel.wake_at = channel.hold = None
            self.ring.sit(channel)

    def place(self, channel: Channel, first: Message | None, now: int) -> None:
        """Where a channel stands now that its first new message and its freed slots are known."""
        channel.is_known = True
        freed, channel.freed = channel.freed, 0
        channel.in_flight -= freed
        due_at = None if first is None else first[0]
        if not freed and (
            channel.seat is not None
            or channel.hold is not None
            or due_at is None
            or (channel.wake_at is not None and due_at >= channel.wake_at)
        ):
            return None
        if channel.is_limited and channel.held(now):
            return self.hold(channel, now)
        was_held, channel.hold = channel.hold is not None, None
        if channel.wake_at is not None and (due_at is None or channel.wake_at < due_at):
            due_at = channel.wake_at
        if channel.seat is None and (was_held or (due_at is not None and due_at <= now)):
            self.ring.sit(channel)
        return self.set_wake(channel, due_at if channel.seat is None else None)

    def set_wake(self, channel: Channel, at: int | None) -> None:
        """Have a channel given a seat at a time."""
        if at is not None and at != channel.wake_at:
            heappush(self.wakes, (at, channel.number, channel))
        channel.wake_at = at

    def walk(self, cursor: Cursor, now: int) -> tuple[Channel, Message] | None:
        """Visit one channel after the other until one gives a message."""
        most = self.max_concurrency
        if most is not None and self.in_flight >= most:
            return None
        ring, visits, by_window = self.ring, 0, most is not None
        while ring.count:
            channel = ring.next(cursor)
            if channel is None:
                return None
            visits += 1
            by_window = by_window or channel.is_limited or visits > MOST_ONE_BY_ONE
            quota = channel.weight - cursor.used if by_window else 1
            if channel.is_limited:
                quota = channel.allowed(quota, now)
            line = channel.line
            if quota > 0 and line and line[0][0] <= now:
                message = line.popleft()
                self.lease(channel, message)
                cursor.used += 1
                if cursor.used >= channel.weight:
                    cursor.used = 0
                if most is not None:
                    self.in_flight += 1
                if channel.is_limited and channel.charge(now):
                    self.hold(channel, now)
                elif quota > 1 or (not by_window and self.is_last(channel, message, now)):
                    self.look(channel, now)
                return channel, message
            cursor.used = 0
            if channel.is_limited and channel.held(now):
                self.hold(channel, now)
            else:
                self.look(channel, now)
        return None

    def hold(self, channel: Channel, now: int) -> None:
        """Take the seat of a channel that is at its limit, or its next one until the rate allows it."""
        channel.hold = channel.held(now)
        self.ring.leave(channel)
        self.set_wake(channel, channel.allowed_at if channel.hold == "throttled" else None)

    def look(self, channel: Channel, now: int) -> None:
        """Take the seat of a channel that has nothing due."""
        line = channel.line
        if not line or line[0][0] > now:
            self.ring.leave(channel)
            self.set_wake(channel, line[0][0] if line else None)

    def is_last(self, channel: Channel, message: Message, now: int) -> bool:
        """Whether nothing that is due, waiting or leased, comes after this message in its line."""
        if channel.line and channel.line[0][0] <= now:
            return False
        return message >= channel.top or not any(each > message for each in channel.leased)


def longest_due(told: tuple[Channel, Message | None]) -> tuple[int, int]:
    """What channels that become ready together are seated by; where the engine draws lots, by number."""
    channel, first = told
    wake_at = LATER if channel.wake_at is None else channel.wake_at
    return wake_at if first is None else min(wake_at, first[0]), channel.number
