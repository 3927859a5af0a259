"""The processes of a run: started, signalled, replaced, and ended with it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from itertools import count
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PATH = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))


def with_library(library: Path | None) -> str:
    """The PYTHONPATH with another version of the library in front."""
    return os.pathsep.join([*([str(library)] if library else []), PATH])


class RestartableProcess:
    """A process that can be killed and started again under the next name."""

    def __init__(self, role: str, number: int, folder: Path, given: dict[str, Any]) -> None:
        self.role, self.number, self.folder, self.given = role, number, folder, given
        self.turns = count(1)
        self.library: Path | None = None  # a folder with another version of the library
        self.popen: subprocess.Popen[bytes] | None = None
        self.name = ""

    def start(self) -> None:
        """Start a process with its own call log."""
        self.name = f"{self.role}-{self.number}-{next(self.turns)}"
        given = {
            **self.given,
            "name": self.name,
            "call_log": str(self.folder / "calls" / f"{self.name}.jsonl"),
        }
        command = [sys.executable, "-m", f"faults.programs.{self.role}", json.dumps(given)]
        with (self.folder / "logs" / f"{self.name}.log").open("wb") as log:
            self.popen = subprocess.Popen(
                command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env={**os.environ, "PYTHONPATH": with_library(self.library)},
            )  # fmt: skip

    @property
    def pid(self) -> int:
        """The process id."""
        return self.popen.pid if self.popen else 0

    @property
    def is_running(self) -> bool:
        """Whether the process has not ended."""
        return self.popen is not None and self.popen.poll() is None

    def signal(self, number: int) -> None:
        """Send a signal, if there is a process to send it to."""
        if self.popen is not None and self.is_running:
            self.popen.send_signal(number)

    def suspend(self) -> None:
        """SIGSTOP."""
        self.signal(signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT."""
        self.signal(signal.SIGCONT)

    def kill(self) -> None:
        """SIGKILL, and wait for the end."""
        self.signal(signal.SIGKILL)
        if self.popen is not None:
            self.popen.wait()

    def terminate(self, seconds: float = 30) -> int | None:
        """SIGTERM, and wait for the end; after so long SIGKILL."""
        self.resume()
        self.signal(signal.SIGTERM)
        if self.popen is None:
            return None
        try:
            return self.popen.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            return None


class ProcessGroup:
    """All processes of a run."""

    def __init__(self, folder: Path, variant: str | None = None) -> None:
        self.folder, self.variant = folder, variant
        self.members: list[RestartableProcess] = []
        for name in ("calls", "logs"):
            (folder / name).mkdir(parents=True, exist_ok=True)

    def start(self, role: str, **given: Any) -> RestartableProcess:
        """Start one more."""
        number = sum(each.role == role for each in self.members)
        process = RestartableProcess(role, number, self.folder, {**given, "variant": self.variant})
        process.start()
        self.members.append(process)
        return process

    def with_role(self, role: str) -> list[RestartableProcess]:
        """The processes of a role."""
        return [each for each in self.members if each.role == role]

    def restart_ended(self) -> None:
        """Start again whoever ended though nobody meant it to: a worker that lost its process."""
        for process in self.with_role("worker"):
            if not process.is_running:
                process.start()

    def terminate(self) -> None:
        """End everybody."""
        for process in self.members:
            process.resume()
            process.signal(signal.SIGTERM)
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline and any(each.is_running for each in self.members):
            time.sleep(0.02)
        for process in self.members:
            process.kill()
