"""Worker processes of the show: started, one of them killed, the others stopped as an operator would."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import Self

from lonnymq.demo.jobs import PARENT
from lonnymq.queue import Queue

STARTS_WITHIN = 60.0
COMMAND = ["-m", "lonnymq.cli", "worker", "lonnymq.demo.jobs:worker", "--log-level", "error"]


@dataclass
class Crew:
    """Some workers on a server."""

    dsn: str
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes:
            process.kill()
            process.wait()

    def hire(self, many: int) -> None:
        """Start so many workers."""
        environment = {**os.environ, "LONNYMQ_DSN": self.dsn, PARENT: str(os.getpid())}
        quiet = subprocess.DEVNULL
        self.processes += [
            subprocess.Popen(
                [sys.executable, *COMMAND], env=environment, stdin=quiet, stdout=quiet, stderr=quiet,
                start_new_session=True,
            )
            for _ in range(many)
        ]  # fmt: skip

    def at_work(self, queue: Queue, many: int) -> None:
        """Return when so many have said that they are there."""
        deadline = time.monotonic() + STARTS_WITHIN
        while sum(each.alive for each in queue.worker_list()) < many:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{many} workers did not start within {STARTS_WITHIN:.0f} s")
            time.sleep(0.05)

    def kill_one(self) -> int:
        """Kill the first one, which is given no chance to say anything; its process id."""
        victim = self.processes.pop(0)
        victim.kill()
        victim.wait()
        return victim.pid

    def dismiss(self) -> list[int]:
        """Tell all to stop, and wait until they have; their exit codes."""
        for process in self.processes:
            process.terminate()
        codes = [process.wait(60) for process in self.processes]
        self.processes.clear()
        return codes
