"""The engine's decisions without a database: the same turns, limits and seats, on a clock that is handed in."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush

from lonnymq.simulate.ring import BITS, Channel, Cursor, Message, Ring

MOST_OFF_NOTES = 8
MOST_ONE_BY_ONE = 16
SWEEP_MS = 1000
LATER = 1 << 62


class Scheduler:
    """Takes messages in as producers would, and gives them out as a dequeue of one message does."""

    __slots__ = (
        "channels",
        "in_flight",
        "max_concurrency",
        "plain",
        "queue_slots",
        "quiet",
        "ring",
        "swept",
        "told",
        "waiting",
        "wakes",
    )

    def __init__(self, channels: Iterable[Channel], *, max_concurrency: int | None = None) -> None:
        self.channels = list(channels)
        self.max_concurrency = max_concurrency
        self.in_flight = 0
        self.ring = Ring()
        self.told: list[Channel] = []  # of whom the engine has not heard everything yet
        self.quiet = self.queue_slots = self.waiting = 0
        self.plain = True  # all that was told is one message each, of channels of their own
        self.wakes: list[tuple[int, int, Channel]] = []
        self.swept: int | None = None

    # What happens to the queue

    def arrive(self, channel: Channel, message: Message) -> None:
        """A message is created."""
        self.waiting += 1
        line, told = channel.line, self.told
        if not line or message > line[-1]:
            line.append(message)
        else:
            channel.add(message)
        if not channel.is_told:
            channel.is_told, channel.first = True, message
            told.append(channel)
        else:
            self.plain = False
            if channel.first is None or message < channel.first:
                channel.first = message
        if (
            channel.seat is not None
            or channel.hold is not None
            or (channel.wake_at is not None and channel.wake_at <= message >> BITS)
        ):
            self.quiet += 1

    def come_back(self, channel: Channel, message: Message) -> None:
        """A message that was leased is in line again: it was deferred, or is to be tried once more."""
        self.arrive(channel, message)
        self.plain = False  # only what is new is taken off its note

    def finish(self, channel: Channel, message: Message) -> None:
        """A lease ends."""
        if not channel.is_limited:
            channel.leased.discard(message)
            if self.max_concurrency is None:
                return
        if channel.max_concurrency is not None or self.max_concurrency is not None:
            if not channel.is_told:
                channel.is_told = True
                self.told.append(channel)
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

    def take(self, cursor: Cursor, now: int) -> Message | None:
        """The message whose turn it is, leased; None if there is none."""
        swept = self.swept
        is_late = self.quiet > 0 or swept is None or not swept <= now < swept + SWEEP_MS
        if self.wakes and not is_late:
            wake_at = self.next_wake()
            is_late = wake_at is not None and wake_at <= now
        if self.told:
            if self.plain and not (is_late or self.ring.numbers or self.max_concurrency):
                taken = self.take_off_note(now)
                if taken is not None:
                    return taken
            self.fold(now)
        elif is_late and self.wakes:
            self.wake(now)
        taken = self.walk(cursor, now)
        if taken is not None and (self.swept is None or now - SWEEP_MS >= self.swept):
            self.swept = now
        return taken

    def take_off_note(self, now: int) -> Message | None:
        """The message of the first note, where nobody sits and each note tells of one message of its own channel."""
        told = self.told
        if len(told) > MOST_OFF_NOTES:
            return None
        for channel in told:
            if channel.first is None or channel.first >> BITS > now:
                return None
        channel, message = told[0], told[0].first
        if channel.is_limited or not channel.is_known or message is None:
            return None
        del told[0]
        channel.is_told, channel.first = False, None
        channel.line.remove(message)
        self.waiting -= 1
        channel.leased.add(message)
        if message > channel.top:
            channel.top = message
        return message

    def fold(self, now: int) -> None:
        """Seats for those whose time has come, then for those of whom something was told, the longest due first."""
        is_full = self.swept is None or now - SWEEP_MS >= self.swept or now < self.swept
        if self.wakes:
            self.wake(now)
        if is_full:
            self.swept = now
        told, self.told = self.told, []
        self.quiet, self.plain = 0, True
        self.in_flight -= self.queue_slots
        self.queue_slots = 0
        seated: list[tuple[int, int, Channel]] = []
        for channel in told:
            first, channel.first = channel.first, None
            channel.is_known, channel.is_told = True, False
            if channel.hold is not None:
                if channel.freed:
                    self.free(channel, first, now, seated)
                continue
            channel.in_flight -= channel.freed
            channel.freed = 0
            if first is None or channel.seat is not None:
                continue
            due_at, wake_at = first >> BITS, channel.wake_at
            if wake_at is not None and due_at >= wake_at:
                continue
            if due_at <= now:
                channel.wake_at = None
                seated.append((due_at, channel.number, channel))
            else:
                self.set_wake(channel, due_at)
        # Only the order of sitting down is anybody's business. Where the engine draws lots it goes by number.
        if len(seated) > 1:
            seated.sort()
        for _, _, channel in seated:
            self.ring.sit(channel)

    def wake(self, now: int) -> None:
        """Seats for channels whose first message is due, or whose rate allows the next."""
        while (wake_at := self.next_wake()) is not None and wake_at <= now:
            channel = heappop(self.wakes)[2]
            channel.wake_at = channel.hold = None
            self.ring.sit(channel)

    def free(
        self,
        channel: Channel,
        first: Message | None,
        now: int,
        seated: list[tuple[int, int, Channel]],
    ) -> None:
        """Where a channel stands that was kept out of the ring, now that slots of its are free."""
        channel.in_flight -= channel.freed
        channel.freed = 0
        if channel.held(now):
            self.hold(channel, now)
            return
        due_at = LATER if first is None else first >> BITS
        if channel.wake_at is not None and channel.wake_at < due_at:
            due_at = channel.wake_at
        channel.wake_at = channel.hold = None
        seated.append((due_at, channel.number, channel))

    def set_wake(self, channel: Channel, at: int | None) -> None:
        """Have a channel given a seat at a time."""
        if at is not None and at != channel.wake_at:
            heappush(self.wakes, (at, channel.number, channel))
        channel.wake_at = at

    def walk(self, cursor: Cursor, now: int) -> Message | None:
        """Visit one channel after the other until one gives a message. Who sits is not at a limit."""
        most = self.max_concurrency
        if most is not None and self.in_flight >= most:
            return None
        ring, visits, by_window = self.ring, 0, most is not None
        due = (now + 1) << BITS  # what is below this is due
        while True:
            channel = ring.next(cursor)
            if channel is None:
                return None
            visits += 1
            line, is_limited = channel.line, channel.is_limited
            by_window = by_window or is_limited or visits > MOST_ONE_BY_ONE
            if line and line[0] < due:
                break
            cursor.used = 0
            ring.leave(channel)
            self.set_wake(channel, line[0] >> BITS if line else None)
        message = line.popleft()
        self.waiting -= 1
        weight, used = channel.weight, cursor.used + 1
        cursor.used = 0 if used >= weight else used
        if most is not None:
            self.in_flight += 1
        is_empty = not line or line[0] >= due
        if is_limited:
            more = weight > used and is_empty and channel.allowed(weight - used + 1, now) > 1
            self.charge(channel, now)
            if more and channel.seat is not None:
                self.look(channel, now)
            return message
        channel.leased.add(message)
        if message > channel.top:
            channel.top = message
        if is_empty and (weight > used if by_window else self.is_last(channel, message)):
            self.look(channel, now)
        return message

    def charge(self, channel: Channel, now: int) -> None:
        """Count a lease in its channel, and take its seat if it may give no more."""
        interval, most = channel.interval, channel.max_concurrency
        if interval is not None:
            channel.tat = (channel.tat if channel.tat > now else now) + interval
        if most is not None:
            channel.in_flight += 1
            if channel.in_flight >= most:
                channel.hold = "saturated"
                self.ring.leave(channel)
                channel.wake_at = None
                return
        if interval is not None and channel.tat - channel.burst_ms + interval > now:
            self.hold(channel, now)

    def hold(self, channel: Channel, now: int) -> None:
        """Take the seat of a channel that is at its limit, or its next one until the rate allows it."""
        channel.hold = channel.held(now)
        self.ring.leave(channel)
        self.set_wake(channel, channel.allowed_at if channel.hold == "throttled" else None)

    def look(self, channel: Channel, now: int) -> None:
        """Take the seat of a channel that has nothing due."""
        line = channel.line
        if not line or line[0] >> BITS > now:
            self.ring.leave(channel)
            self.set_wake(channel, line[0] >> BITS if line else None)

    def is_last(self, channel: Channel, message: Message) -> bool:
        """Whether nothing that is leased comes after this message in its line."""
        return message >= channel.top or not any(each > message for each in channel.leased)
