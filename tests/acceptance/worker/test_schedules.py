"""Two hundred schedules on four worker processes, one of them killed: every tick is created, and none twice."""

import os
import signal
from collections import Counter

from acceptance.worker.programs import program
from lonnymq import Queue
from support import eventually

SCHEDULES, TICKS = 200, 4


def ticks(queue: Queue) -> Counter[tuple[str, int]]:
    """How often each tick of each schedule was handled."""
    rows = [row for row in queue.history_read() if row.outcome == "completed"]
    headers = [row.headers or {} for row in rows]
    return Counter((each["schedule"], each["run_at"]) for each in headers)


def by_schedule(queue: Queue) -> dict[str, list[int]]:
    """The ticks of each schedule that were handled, in their order."""
    found: dict[str, list[int]] = {}
    for name, tick in sorted(ticks(queue)):
        found.setdefault(name, []).append(tick)
    return found


def test_each_tick_is_created_exactly_once_however_many_workers_run(dsn_18, tmp_path) -> None:
    with (
        Queue(dsn_18) as queue,
        program(dsn_18, tmp_path, processes=4, schedules=SCHEDULES, lease_ms=2000) as worker,
    ):
        eventually(lambda: len(by_schedule(queue)) == SCHEDULES, within=60)
        os.kill(max(each.about["pid"] for each in queue.worker_list()), signal.SIGKILL)
        eventually(lambda: min(map(len, by_schedule(queue).values())) >= TICKS, within=60)
        worker.tell()
        assert worker.ends() == 0
        with program(dsn_18, tmp_path, lease_ms=2000):  # handles what the killed one held
            eventually(lambda: not queue.stats().waiting and not queue.stats().leased)
        handled, found = ticks(queue), by_schedule(queue)
        keys = {row.key for row in queue.history_read()}
    assert set(handled.values()) == {1}
    assert len(keys) == len(handled)
    for each in found.values():
        assert each == list(range(each[0], each[-1] + 1, 1000)), "a tick is missing"
