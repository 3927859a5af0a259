"""What an idle worker costs: less than a hundredth of a core, its backends included."""

import time

import psutil
import pytest

from acceptance.worker.programs import program
from lonnymq import Queue
from support import eventually

CHANNELS, WINDOW = 5_000, 5.0  # scripts/measure_idle_worker.py measures it with 100,000
FILL = """
select count(lonnymq.channel_set('channel ' || i, '{"weight": 2}')) from generate_series(1, %s) as i
"""
BACKENDS = "select pid from pg_stat_activity where application_name = 'lonnymq worker'"


def share_of_a_core(processes: list[psutil.Process]) -> float:
    """How much of a core these processes use, watched for a while."""

    def spent() -> float:
        return sum(each.cpu_times().user + each.cpu_times().system for each in processes)

    before, began = spent(), time.monotonic()
    eventually(lambda: time.monotonic() - began > WINDOW)
    return (spent() - before) / (time.monotonic() - began)


@pytest.mark.long
def test_an_idle_worker_comes_to_rest(dsn_18, connect, tmp_path) -> None:
    connection = connect(dsn_18)
    connection.execute(FILL, (CHANNELS,))
    with Queue(dsn_18) as queue, program(dsn_18, tmp_path) as worker:
        eventually(lambda: queue.worker_list() and queue.stats().notes == 0, within=60)
        assert queue.stats().channels == CHANNELS
        pids = [worker.process.pid, *(row[0] for row in connection.execute(BACKENDS))]
        processes = [psutil.Process(pid) for pid in pids]
        eventually(lambda: share_of_a_core(processes) < 0.01)
