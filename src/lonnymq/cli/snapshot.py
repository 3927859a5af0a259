"""One look at the queue for a live screen, taken so that looking costs the server little of its time."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lonnymq.client import Queue
    from lonnymq.results import ChannelActivity, QueueStats, WorkerSeen

SHARE = 0.05  # of the time, at most, is spent on counting the whole queue
REST = 10  # times as long as a look took nobody looks again
COUNTED = 1_000  # messages a channel


@dataclass(frozen=True, slots=True)
class Look:
    """The queue as it was seen: its figures, the channels in which something goes on, the workers."""

    stats: QueueStats
    channels: list[ChannelActivity]
    workers: list[WorkerSeen]

    @property
    def now_at(self) -> int:
        """The database's time of the look."""
        return max((each.now_at for each in self.channels), default=self.stats.now_at)

    @property
    def rate(self) -> float | None:
        """Attempts that ended, a second, in the last seconds; None where no history is kept."""
        if self.stats.history == "off":
            return None
        return sum(rate(each) or 0.0 for each in self.channels)


def rate(channel: ChannelActivity) -> float | None:
    """Attempts of a channel that ended, a second; None where no history is kept."""
    if channel.finished is None:
        return None
    return channel.finished * 1_000 / channel.finished_ms


class Looker:
    """Looks again and again; the counts of the whole queue are kept until it is time to pay for new ones."""

    def __init__(self, queue: Queue, channels: list[str] | None, *, limit: int = 100) -> None:
        self.queue, self.channels, self.limit = queue, channels or None, limit
        self.stats: QueueStats | None = None
        self.again_at = 0.0
        self.rest = 0.0

    def look(self) -> Look:
        """Look now; `rest` says for how many seconds not to look again."""
        started = time.monotonic()
        try:
            return self.look_now()
        finally:
            self.rest = REST * (time.monotonic() - started)

    def look_now(self) -> Look:
        """Look, whatever it costs."""
        active = self.queue.channel_active(self.channels, limit=self.limit, count=COUNTED)
        return Look(self.whole(), active, self.queue.worker_list(limit=1_000))

    def whole(self) -> QueueStats:
        """The figures of the whole queue, new or not."""
        started = time.monotonic()
        if self.stats is None or started >= self.again_at:
            self.stats = self.queue.stats()
            ended = time.monotonic()
            self.again_at = ended + (ended - started) / SHARE
        return self.stats
