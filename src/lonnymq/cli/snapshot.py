"""The state of the queue for `status` and `watch`, read with little load on the server."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lonnymq.client import Queue
    from lonnymq.results import ChannelActivity, QueueStats, WorkerSeen

MAX_LOAD = 0.05  # share of the time spent on counting the whole queue
PAUSE_FACTOR = 10  # the pause after a snapshot, in multiples of its duration
MAX_COUNT = 1_000  # messages counted per channel


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The queue at one time: its totals, the active channels and the workers."""

    stats: QueueStats
    channels: list[ChannelActivity]
    workers: list[WorkerSeen]

    @property
    def now_at(self) -> int:
        """The database's time of the snapshot."""
        return max((each.now_at for each in self.channels), default=self.stats.now_at)

    @property
    def rate(self) -> float | None:
        """Finished attempts per second in the last seconds, or None without history."""
        if self.stats.history == "off":
            return None
        return sum(channel_rate(each) or 0.0 for each in self.channels)


def channel_rate(channel: ChannelActivity) -> float | None:
    """Finished attempts of a channel per second; None without history."""
    if channel.finished is None:
        return None
    return channel.finished * 1_000 / channel.finished_ms


class SnapshotReader:
    """Reads snapshots. The totals are cached so that counting stays cheap; `pause` is the advised wait in seconds."""

    def __init__(self, queue: Queue, channels: list[str] | None, *, limit: int = 100) -> None:
        self.queue, self.channels, self.limit = queue, channels or None, limit
        self.stats: QueueStats | None = None
        self.stats_due = 0.0
        self.pause = 0.0

    def read(self) -> Snapshot:
        """Read a snapshot now."""
        started = time.monotonic()
        try:
            active = self.queue.channel_active(self.channels, limit=self.limit, count=MAX_COUNT)
            return Snapshot(self.read_stats(), active, self.queue.worker_list(limit=1_000))
        finally:
            self.pause = PAUSE_FACTOR * (time.monotonic() - started)

    def read_stats(self) -> QueueStats:
        """The totals of the whole queue, counted now or cached."""
        started = time.monotonic()
        if self.stats is None or started >= self.stats_due:
            self.stats = self.queue.stats()
            ended = time.monotonic()
            self.stats_due = ended + (ended - started) / MAX_LOAD
        return self.stats
