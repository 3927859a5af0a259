"""Worker processes of the show: started, one of them killed, the others stopped as an operator would."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import psycopg
from psycopg.conninfo import make_conninfo

from examples.demo.jobs import PARENT
from examples.demo.scenario import Killed
from lonnymq import Queue

STARTS_WITHIN = 60.0
BUSY_WITHIN = 5.0  # until one of them has something to be killed over
HELD = """
    select w.name, (w.about ->> 'pid')::integer, array_agg(m.id)
    from lonnymq.worker w join lonnymq.message m on m.worker = w.name and m.token is not null
    where (w.about ->> 'pid')::integer = any (%s)
    group by 1, 2
    order by cardinality(array_agg(m.id)) desc
    limit 1
"""
IS_ASKING = """
    select exists (
      select from pg_stat_activity a where a.application_name = %s and a.state = 'active'
    )
"""
ROOT = Path(__file__).parents[2]
COMMAND = ["-m", "lonnymq.cli", "worker", "examples.demo.jobs:worker", "--log-level", "error"]


@dataclass
class WorkerProcesses:
    """Some workers on a server."""

    dsn: str
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)  # what their connections are called

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes:
            process.kill()
            process.wait()

    def start(self, many: int) -> None:
        """Start so many workers."""
        quiet = subprocess.DEVNULL
        for number in range(many):
            named = make_conninfo(self.dsn, application_name=f"{os.getpid()} worker {number}")
            process = subprocess.Popen(
                [sys.executable, *COMMAND], stdin=quiet, stdout=quiet, stderr=quiet,
                env={**os.environ, "LONNYMQ_DSN": named, PARENT: str(os.getpid())},
                start_new_session=True, cwd=ROOT,
            )  # fmt: skip
            self.processes.append(process)
            self.names[process.pid] = f"{os.getpid()} worker {number}"

    def wait_until_started(self, queue: Queue, many: int) -> None:
        """Return when so many have said that they are there."""
        deadline = time.monotonic() + STARTS_WITHIN
        while sum(each.alive for each in queue.worker_list()) < many:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{many} workers did not start within {STARTS_WITHIN:.0f} s")
            time.sleep(0.05)

    def kill_one(self) -> Killed:
        """Kill the one that holds the most jobs, which is given no chance to say anything; if none holds any, any.

        It is frozen before it is killed: what it had asked of the server is waited for, and then it holds what the
        server says that it holds.
        """
        deadline = time.monotonic() + BUSY_WITHIN
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            while time.monotonic() < deadline:
                found = self.find_busiest(connection, [each.pid for each in self.processes])
                if found is None:
                    time.sleep(0.01)
                    continue
                pid = found.pid
                os.kill(pid, signal.SIGSTOP)
                while time.monotonic() < deadline and self.is_asking(connection, pid):
                    time.sleep(0.001)
                held = self.find_busiest(connection, [pid])
                if held is not None:
                    self.kill(pid)
                    return held
                os.kill(pid, signal.SIGCONT)  # it had just finished
        return Killed(self.kill(self.processes[0].pid))

    def is_asking(self, connection: psycopg.Connection[Any], pid: int) -> bool:
        """Whether the server is at work for a process."""
        return connection.execute(IS_ASKING, (self.names[pid],)).fetchone() == (True,)

    def find_busiest(self, connection: psycopg.Connection[Any], pids: list[int]) -> Killed | None:
        """Which of these processes holds the most jobs, and which; None if none holds any."""
        row = connection.execute(HELD, (pids,)).fetchone()
        return Killed(row[1], row[0], frozenset(row[2])) if row else None

    def kill(self, pid: int) -> int:
        """Kill one."""
        [victim] = [each for each in self.processes if each.pid == pid]
        self.processes.remove(victim)
        victim.kill()
        victim.wait()
        return pid

    def stop(self) -> list[int]:
        """Tell all to stop, and wait until they have; their exit codes."""
        for process in self.processes:
            process.terminate()
        codes = [process.wait(60) for process in self.processes]
        self.processes.clear()
        return codes
