"""The ring of channels that have something due, and the consumers that walk it: who is where, and who is next."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from dataclasses import dataclass

# A message is one number, its moment above and its own number below: the order of a line is the order of numbers,
# and a number is compared three times as fast as a pair.
Message = int
BITS = 32
MOST_MESSAGES = 1 << BITS
LARGE = 4096  # seats: up to here it is quicker to close a gap at once than to step over it


def message_of(due_at: int, number: int) -> Message:
    """A message by its moment and its number."""
    return (due_at << BITS) + number


def due_of(message: Message) -> int:
    """When a message is due."""
    return message >> BITS


@dataclass(frozen=True, slots=True)
class Limits:
    """What a channel is allowed."""

    max_concurrency: int | None = None
    release_interval_ms: int | None = None
    burst: int = 1
    weight: int = 1


class Channel:
    """One tenant: the line of what waits, what is leased, and where the channel stands."""

    __slots__ = (
        "burst_ms",
        "freed",
        "hold",
        "in_flight",
        "interval",
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
    )

    def __init__(self, name: str, limits: Limits, number: int = 0) -> None:
        self.name, self.number = name, number
        self.max_concurrency, self.weight = limits.max_concurrency, limits.weight
        self.interval = limits.release_interval_ms
        self.burst_ms = limits.burst * (limits.release_interval_ms or 0)
        self.is_limited = self.max_concurrency is not None or self.interval is not None
        self.is_known = False
        self.line: deque[Message] = deque()
        self.leased: set[Message] = set()  # kept where there is no limit: nobody else asks
        self.top: Message = 0  # the highest that was ever taken
        self.seat: int | None = None
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

    def held(self, now: int) -> str | None:
        """Why it may give nothing now."""
        if self.max_concurrency is not None and self.in_flight >= self.max_concurrency:
            return "saturated"
        if self.interval is not None and self.tat - self.burst_ms + self.interval > now:
            return "throttled"
        return None


class Cursor:
    """A consumer's place in the ring: the last visit, where its lap ends, and how much of a turn it has had."""

    __slots__ = ("is_tail", "lap", "seat", "used")

    def __init__(self, seat: int = -1) -> None:
        self.seat = seat  # -1: it has not been anywhere yet
        self.lap = self.used = 0
        self.is_tail = False


class Ring:
    """Seats in the order of sitting down; a very large ring has gaps, which are closed now and then."""

    __slots__ = ("count", "head", "last", "numbers", "seated")

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.seated: list[Channel | None] = []
        self.count = self.last = 0
        self.head = 0  # nobody sits before this index

    def sit(self, channel: Channel) -> None:
        """Give a channel the next seat."""
        self.last += 1
        self.count += 1
        channel.seat = self.last
        self.numbers.append(self.last)
        self.seated.append(channel)

    def leave(self, channel: Channel) -> None:
        """Take a channel's seat."""
        if channel.seat is None:
            return
        numbers, seated = self.numbers, self.seated
        at = bisect_left(numbers, channel.seat)
        channel.seat = None
        self.count -= 1
        if len(seated) < LARGE:
            del numbers[at], seated[at]
            self.head = 0
            return
        seated[at] = None
        if len(seated) > 2 * self.count + LARGE // 2:
            kept = [(n, c) for n, c in zip(numbers, seated, strict=True) if c is not None]
            self.numbers, self.seated = [n for n, _ in kept], [c for _, c in kept]
            self.head = 0

    def next(self, cursor: Cursor) -> Channel | None:
        """Whose visit it is, and the cursor moved there: to the end of the lap, its tail, then from the start."""
        if not self.count:
            cursor.is_tail, cursor.used = False, 0 if cursor.is_tail else cursor.used
            return None
        numbers, seated = self.numbers, self.seated
        if cursor.seat < 0:
            cursor.seat, cursor.lap = 0, self.last
        while True:
            used = cursor.used
            start = cursor.seat - 1 if used else cursor.seat
            at, end = bisect_right(numbers, start), len(seated)
            while at < end and seated[at] is None:
                at += 1
            if at == end or (cursor.is_tail and numbers[at] > cursor.lap):
                at = self.head
                while seated[at] is None:
                    at += 1
                self.head = at
            seat = numbers[at]
            if seat <= start:
                if cursor.is_tail:
                    cursor.is_tail = False
                else:
                    cursor.lap = self.last
            elif seat > cursor.lap:
                if cursor.is_tail:  # only channels that sat down after this lap had come to its end
                    cursor.is_tail, cursor.used = False, 0
                    continue
                cursor.is_tail, cursor.lap = True, self.last
            break
        channel = seated[at]
        if used and (seat != start + 1 or used >= (channel.weight if channel else 0)):
            cursor.used = 0
        cursor.seat = seat
        return channel
