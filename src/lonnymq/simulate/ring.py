"""The ring of channels that have something due, and the consumers that walk it: who is where, and who is next."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from dataclasses import dataclass

# A message is one number, its moment above and its own number below: the order of a line is the order of numbers,
# which are compared quicker than pairs.
Message = int
BITS = 32


@dataclass(frozen=True, slots=True)
class Limits:
    """What a channel is allowed."""

    max_concurrency: int | None = None
    min_interval_ms: int | None = None
    burst: int = 1
    weight: int = 1


class Channel:
    """One tenant: the line of what waits, what is leased, and where the channel stands."""

    __slots__ = (
        "burst_ms",
        "first",
        "freed",
        "hold",
        "in_flight",
        "interval",
        "is_changed",
        "is_known",
        "is_limited",
        "leased",
        "line",
        "max_concurrency",
        "name",
        "number",
        "seat",
        "tat",
        "top",
        "wake_at",
        "weight",
    )  # fmt: skip

    def __init__(self, name: str, limits: Limits, number: int = 0) -> None:
        self.name, self.number = name, number
        self.max_concurrency, self.weight = limits.max_concurrency, limits.weight
        self.interval = limits.min_interval_ms
        self.burst_ms = limits.burst * (limits.min_interval_ms or 0)
        self.is_limited = self.max_concurrency is not None or self.interval is not None
        self.is_known = self.is_changed = False
        self.first: Message | None = None  # of what the engine has not heard of yet
        self.line: deque[Message] = deque()
        self.leased: set[Message] = set()
        self.top: Message = 0  # the highest that was ever taken
        self.seat = 0  # 0: none
        self.hold: str | None = None
        self.wake_at: int | None = None
        self.in_flight = self.tat = 0
        self.freed = 0  # slots of which the engine has not heard yet

    def add(self, message: Message) -> None:
        """Put a message in line, which is nearly always its end."""
        line = self.line
        if not line or message > line[-1]:
            line.append(message)
        else:
            line.insert(bisect_left(line, message), message)

    def allowed(self, most: int, now: int) -> int:
        """How many may be leased now, so many at most."""
        if self.max_concurrency is not None:
            free = self.max_concurrency - self.in_flight
            most = free if free < most else most
        if self.interval is not None:
            start = self.tat if self.tat > now else now
            by_rate = (now + self.burst_ms - start) // self.interval
            most = by_rate if by_rate < most else most
        return most

    @property
    def allowed_at(self) -> int:
        """When the rate allows the next."""
        return self.tat - self.burst_ms + (self.interval or 0)


class Cursor:
    """A consumer's place in the ring: the last visit, where its lap ends, and how much of a turn it has had."""

    __slots__ = ("is_tail", "lap", "seat", "used")

    def __init__(self, seat: int = -1) -> None:
        self.seat = seat  # -1: it has not been anywhere yet
        self.lap = self.used = 0
        self.is_tail = False


class Ring:
    """Who sits, in the order of sitting down; `numbers` are the seats that are taken."""

    __slots__ = ("last", "numbers", "seated")

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.seated: dict[int, Channel] = {}
        self.last = 0

    def sit(self, channel: Channel) -> None:
        """Give a channel the next seat."""
        self.last = channel.seat = seat = self.last + 1
        self.numbers.append(seat)
        self.seated[seat] = channel

    def leave(self, channel: Channel) -> None:
        """Take a channel's seat."""
        numbers, seat = self.numbers, channel.seat
        del self.seated[seat]
        if numbers[-1] == seat:  # who sat down last is often the first to leave
            numbers.pop()
        else:
            del numbers[bisect_left(numbers, seat)]
        channel.seat = 0

    def next(self, cursor: Cursor) -> Channel | None:
        """Whose visit it is, and the cursor moved there: to the end of the lap, its tail, then from the start."""
        numbers = self.numbers
        if not numbers:
            return None
        if cursor.seat < 0:
            cursor.seat, cursor.lap = 0, self.last
        used = cursor.used
        start = cursor.seat - 1 if used else cursor.seat
        at = bisect_right(numbers, start)
        if at == len(numbers):
            seat = numbers[0]
            if cursor.is_tail:
                cursor.is_tail = False
            else:
                cursor.lap = self.last
        elif (seat := numbers[at]) > cursor.lap:
            if not cursor.is_tail:
                cursor.is_tail, cursor.lap = True, self.last
            elif numbers[0] <= start:
                cursor.is_tail, seat = False, numbers[0]
            else:  # only channels are there that sat down after this lap had come to its end
                cursor.lap = self.last
        channel = self.seated[seat]
        if used and (seat != start + 1 or used >= channel.weight):
            cursor.used = 0
        cursor.seat = seat
        return channel
