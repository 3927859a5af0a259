"""Measures what an idle worker costs, its backends included: `python scripts/measure_idle_worker.py 100000`."""

from __future__ import annotations

import subprocess
import sys
import time

import psutil
from psycopg import connect

from lonnymq import Queue
from lonnymq.embedded_postgres import temporary

FILL = """
select count(lonnymq.channel_set('channel ' || i, '{"weight": 2}')) from generate_series(1, %s) as i
"""
BACKENDS = "select pid from pg_stat_activity where application_name = 'lonnymq worker'"
PROGRAM = """
import sys
from lonnymq import Worker
worker = Worker(sys.argv[1])
worker.handler()(lambda content: None)
worker.run()
"""
WINDOWS, SECONDS = 4, 10


def spent(processes: list[psutil.Process]) -> float:
    """How many seconds of CPU these processes have used."""
    times = [each.cpu_times() for each in processes]
    return float(sum(each.user + each.system for each in times))


def main(channels: int) -> None:
    """Print the share of a core that a worker takes which has nothing to do, some seconds at a time."""
    with (
        temporary() as server,
        Queue(server.dsn) as queue,
        connect(server.dsn, autocommit=True) as connection,
    ):
        queue.install()
        connection.execute(FILL, (channels,))
        worker = subprocess.Popen([sys.executable, "-c", PROGRAM, server.dsn])
        try:
            while queue.stats().notes or not queue.worker_list():
                time.sleep(0.1)
            pids = [worker.pid, *(row[0] for row in connection.execute(BACKENDS))]
            processes = [psutil.Process(pid) for pid in pids]
            for _ in range(WINDOWS):
                before = spent(processes)
                time.sleep(SECONDS)
                share = (spent(processes) - before) / SECONDS
                print(f"{queue.stats().channels:,} idle channels: {share:.2%} of a core")
        finally:
            worker.terminate()
            worker.wait()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
