"""A queue with workers on a clock that is set: what the engine does with a workload, without a moment of waiting."""

from heapq import heappop, heappush

import psycopg

from database.model.queue_reset import set_clock, stop_the_clock
from lonnymq import Queue
from lonnymq.client import Message
from lonnymq.simulate import Limits, Workload, WorkloadShape, make_workload
from support import message_id

STEP_MS = 5  # how late a worker looks for what the rate allows
WORKERS = 3


class Service:
    """A queue with workers on a clock of their own, each with one message at a time."""

    def __init__(self, dsn: str, limits: dict[str, Limits], most: int | None = None) -> None:
        self.connection = psycopg.connect(dsn, autocommit=True)
        stop_the_clock(self.connection)
        set_clock(self.connection, 1_700_000_000_000 - 1)
        self.queue = Queue(dsn)
        self.queue.set(max_concurrency=most)
        for name, each in limits.items():
            self.queue.channel_set(
                name,
                max_concurrency=each.max_concurrency,
                min_interval_ms=each.min_interval_ms,
                burst=each.burst,
                weight=each.weight,
            )

    def serve(self, work: Workload) -> None:
        """Let the workload come and be worked off."""
        running: list[tuple[int, int, Message]] = []
        service: dict[int, int] = {}
        created, left, now = 0, len(work), 0
        while left:
            arrival = work.created_at[created] if created < len(work) else None
            ends = running[0][0] if running else None
            waits = created > len(work) - left + len(running) and len(running) < WORKERS
            times = [arrival, ends, now + STEP_MS if waits else None]
            now = min(each for each in times if each is not None)
            set_clock(self.connection, now)
            while created < len(work) and work.created_at[created] <= now:
                name = work.names[work.channel[created]]
                made = self.queue.create(name, b"x")
                service[message_id(made)] = work.service_ms[created]
                created += 1
            while running and running[0][0] <= now:
                left -= 1
                heappop(running)[2].complete()
            while len(running) < WORKERS and (found := self.queue.dequeue(limit=1)):
                heappush(running, (now + service[found[0].id], found[0].id, found[0]))


LIMITS = {
    "tenant-1": Limits(max_concurrency=1),
    "tenant-2": Limits(min_interval_ms=400, burst=2),
}
SHAPE = WorkloadShape(
    messages=250, tenants=4, workers=WORKERS, load=1.1, noisy=0.4, service_ms=100, seed=11
)


def served(dsn: str, most: int | None = None) -> Queue:
    """A queue that has worked off a workload under limits, and under one of the whole queue if that is given."""
    service = Service(dsn, LIMITS, most)
    service.serve(make_workload(SHAPE))
    return service.queue
