"""The engine's decisions without a database: the same turns, limits and seats, on a clock that is handed in."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush

from lonnymq.simulate.ring import BITS, Channel, Cursor, Message, Ring

MAX_DIRECT_CHANGES = 8
MOST_ONE_BY_ONE = 16
LATER = 1 << 62


class Scheduler:
    """Takes messages in as producers would, and gives them out as a dequeue of one message does."""

    __slots__ = (
        "changed",
        "channels",
        "has_heard",
        "in_flight",
        "max_concurrency",
        "plain",
        "queue_slots",
        "ring",
        "wakes",
    )  # fmt: skip

    def __init__(self, channels: Iterable[Channel], *, max_concurrency: int | None = None) -> None:
        self.channels = list(channels)
        self.max_concurrency = max_concurrency
        self.in_flight = 0
        self.ring = Ring()
        self.changed: list[Channel] = []  # of whom the engine has not heard everything yet
        self.has_heard = False  # whether leases have ended since the last fold
        self.queue_slots = 0
        self.plain = True  # every change is one message, of a channel without limits
        self.wakes: list[tuple[int, int, Channel]] = []

    # What happens to the queue

    def arrive(self, channel: Channel, message: Message) -> None:
        """A message is created."""
        line = channel.line
        if not line or message > line[-1]:
            line.append(message)
        else:
            channel.add(message)
        if channel.is_changed:
            self.plain = False
            if channel.first is None or message < channel.first:
                channel.first = message
            return
        channel.is_changed, channel.first = True, message
        self.changed.append(channel)
        if self.plain and (
            channel.seat
            or channel.hold is not None
            or (channel.wake_at is not None and channel.wake_at <= message >> BITS)
        ):
            self.plain = False

    def come_back(self, channel: Channel, message: Message) -> None:
        """A message that was leased is in line again: it was deferred, or is to be tried once more."""
        self.arrive(channel, message)
        self.plain = False  # only new messages are leased directly

    def finish(self, channel: Channel, message: Message) -> bool:
        """A lease ends; says whether that is news for the next dequeue."""
        channel.leased.discard(message)
        if channel.max_concurrency is None:
            if self.max_concurrency is None:
                return False
        elif channel.hold is None:
            channel.in_flight -= 1  # all that the next fold would do for it
        else:
            channel.freed += 1
            if not channel.is_changed:
                channel.is_changed = True
                self.changed.append(channel)
        if self.max_concurrency is not None:
            self.queue_slots += 1
        self.has_heard, self.plain = True, False
        return True

    def next_wake(self) -> int | None:
        """When a channel's time comes."""
        wakes = self.wakes
        while wakes and wakes[0][2].wake_at != wakes[0][0]:
            heappop(wakes)
        return wakes[0][0] if wakes else None

    # What a dequeue does

    def take(self, cursor: Cursor, now: int) -> Message | None:
        """The message whose turn it is, leased; None if there is none."""
        numbers = self.ring.numbers
        if self.changed or self.has_heard:
            if (
                self.plain
                and not (numbers or self.changed[0].is_limited or self.max_concurrency)
                and not self.is_late(now)
                and (taken := self.lease_direct(now)) is not None
            ):
                return taken
            self.fold(now)
            return self.walk(cursor, now) if numbers else None
        wakes = self.wakes
        if wakes and wakes[0][0] <= now:
            self.wake(now)
        return self.walk(cursor, now) if numbers else None

    def is_late(self, now: int) -> bool:
        """Whether it is time for a channel to be given a seat."""
        wake_at = self.next_wake()
        return wake_at is not None and wake_at <= now

    def lease_direct(self, now: int) -> Message | None:
        """The message of the first change, where the ring is empty and each change is one message of its own channel.

        The channel of the first change has no limits.
        """
        changed = self.changed
        channel, message = changed[0], changed[0].first
        if len(changed) > MAX_DIRECT_CHANGES:
            return None
        for each in changed:
            if each.first is None or each.first >> BITS > now:
                return None
        if not channel.is_known or message is None:
            return None
        del changed[0]
        channel.is_changed, channel.first = False, None
        channel.line.remove(message)
        channel.leased.add(message)
        if message > channel.top:
            channel.top = message
        return message

    def fold(self, now: int) -> None:
        """Give seats to channels whose time has come, then to changed channels, the longest due first."""
        changed, wakes = self.changed, self.wakes
        if wakes and wakes[0][0] <= now:
            self.wake(now)
        self.plain, self.has_heard = True, False
        if self.queue_slots:
            self.in_flight -= self.queue_slots
            self.queue_slots = 0
        seated: list[tuple[int, int, Channel]] = []
        for channel in changed:
            first, channel.first = channel.first, None
            channel.is_known, channel.is_changed = True, False
            if channel.freed:
                channel.in_flight -= channel.freed
                channel.freed = 0
                if channel.hold is not None:
                    self.free(channel, first, now, seated)
                    continue
            elif channel.hold is not None:
                continue
            if first is None or channel.seat:
                continue
            due_at, wake_at = first >> BITS, channel.wake_at
            if wake_at is not None and due_at >= wake_at:
                continue
            if due_at <= now:
                channel.wake_at = None
                seated.append((due_at, channel.number, channel))
            else:
                self.set_wake(channel, due_at)
        changed.clear()
        # Only the order of sitting down is anybody's business. Where the engine draws lots it goes by number.
        if len(seated) > 1:
            seated.sort()
        for _, _, channel in seated:
            self.ring.sit(channel)

    def wake(self, now: int) -> None:
        """Seats for channels whose first message is due, or whose rate allows the next."""
        wakes = self.wakes
        while wakes and wakes[0][0] <= now:
            wake_at, _, channel = heappop(wakes)
            if channel.wake_at == wake_at:
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
        if channel.interval is not None and channel.allowed_at > now:
            channel.hold = "throttled"
            self.set_wake(channel, channel.allowed_at)
            return
        due_at, wake_at = LATER if first is None else first >> BITS, channel.wake_at
        channel.hold = channel.wake_at = None
        if wake_at is not None and wake_at < due_at:
            due_at = wake_at
        seated.append((due_at, channel.number, channel))

    def set_wake(self, channel: Channel, at: int | None) -> None:
        """Have a channel given a seat at a time."""
        if at is not None and at != channel.wake_at:
            heappush(self.wakes, (at, channel.number, channel))
        channel.wake_at = at

    def walk(self, cursor: Cursor, now: int) -> Message | None:
        """Visit one channel after the other until one gives a message. Who sits is at no limit, and has no wake_at."""
        most, ring = self.max_concurrency, self.ring
        if most is not None and self.in_flight >= most:
            return None
        visits, by_window = 1, False
        due = (now + 1) << BITS  # what is below this is due
        while True:
            channel = ring.next(cursor)
            if channel is None:
                return None
            line = channel.line
            if line and line[0] < due:
                break
            visits += 1
            by_window = by_window or channel.is_limited
            cursor.used = 0
            ring.leave(channel)
            if line:
                self.set_wake(channel, line[0] >> BITS)
        message = line.popleft()
        weight, used = channel.weight, cursor.used + 1
        cursor.used = used if used < weight else 0
        if most is not None:
            self.in_flight += 1
        channel.leased.add(message)
        if message > channel.top:
            channel.top = message
        by_window = by_window or visits > MOST_ONE_BY_ONE
        if channel.is_limited:
            self.charge(channel, now, weight - used if by_window else 0)
        if (
            channel.hold is None
            and (not line or line[0] >= due)
            and (
                weight > used and not channel.is_limited
                if by_window
                else self.is_last(channel, message)
            )
        ):
            self.leave_if_idle(channel, now)
        return message

    def charge(self, channel: Channel, now: int, left: int) -> None:
        """Count a lease in its channel, and take its seat if it may give no more, or not what is left of its turn."""
        interval, most = channel.interval, channel.max_concurrency
        is_asked = left > 0 and channel.allowed(left + 1, now) > 1
        if interval is not None:
            channel.tat = (channel.tat if channel.tat > now else now) + interval
        if most is not None:
            channel.in_flight += 1
            if channel.in_flight >= most:
                channel.hold = "saturated"
                self.ring.leave(channel)
                return
        if interval is not None and (allowed_at := channel.tat - channel.burst_ms + interval) > now:
            channel.hold = "throttled"
            self.ring.leave(channel)
            self.set_wake(channel, allowed_at)
        elif is_asked:
            self.leave_if_idle(channel, now)

    def leave_if_idle(self, channel: Channel, now: int) -> None:
        """Take the seat of a channel that has nothing due."""
        line = channel.line
        if not line or line[0] >> BITS > now:
            self.ring.leave(channel)
            self.set_wake(channel, line[0] >> BITS if line else None)

    def is_last(self, channel: Channel, message: Message) -> bool:
        """Whether nothing that is leased comes after this message in its line."""
        return message >= channel.top or not any(each > message for each in channel.leased)
