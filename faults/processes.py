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


class Hand:
    """One place in the crew: the process that holds it now."""

    def __init__(self, role: str, number: int, folder: Path, given: dict[str, Any]) -> None:
        self.role, self.number, self.folder, self.given = role, number, folder, given
        self.turns = count(1)
        self.process: subprocess.Popen[bytes] | None = None
        self.name = ""
        self.is_stopped = False

    def start(self) -> None:
        """Start a process with a journal of its own."""
        self.name = f"{self.role}-{self.number}-{next(self.turns)}"
        self.is_stopped = False
        given = {
            **self.given,
            "name": self.name,
            "journal": str(self.folder / "journal" / f"{self.name}.jsonl"),
        }
        command = [sys.executable, "-m", f"faults.programs.{self.role}", json.dumps(given)]
        with (self.folder / "logs" / f"{self.name}.log").open("wb") as log:
            self.process = subprocess.Popen(
                command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env={**os.environ, "PYTHONPATH": PATH},
            )  # fmt: skip

    @property
    def pid(self) -> int:
        """The process id."""
        return self.process.pid if self.process else 0

    @property
    def is_running(self) -> bool:
        """Whether the process has not ended."""
        return self.process is not None and self.process.poll() is None

    @property
    def log(self) -> str:
        """What this process has logged."""
        return (self.folder / "logs" / f"{self.name}.log").read_text(errors="replace")

    def signal(self, number: int) -> None:
        """Send a signal, if there is a process to send it to."""
        if self.process is not None and self.is_running:
            self.process.send_signal(number)

    def stop(self) -> None:
        """SIGSTOP."""
        self.is_stopped = True
        self.signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """SIGCONT."""
        self.is_stopped = False
        self.signal(signal.SIGCONT)

    def kill(self) -> None:
        """SIGKILL, and wait for the end."""
        self.signal(signal.SIGKILL)
        if self.process is not None:
            self.process.wait()

    def end(self, seconds: float = 30) -> int | None:
        """SIGTERM, and wait for the end; after so long SIGKILL."""
        self.go_on()
        self.signal(signal.SIGTERM)
        if self.process is None:
            return None
        try:
            return self.process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            return None


class Crew:
    """All hands of a run."""

    def __init__(self, folder: Path, variant: str | None = None) -> None:
        self.folder, self.variant = folder, variant
        self.hands: list[Hand] = []
        for name in ("journal", "logs"):
            (folder / name).mkdir(parents=True, exist_ok=True)

    def add(self, role: str, **given: Any) -> Hand:
        """Start one more."""
        number = sum(each.role == role for each in self.hands)
        hand = Hand(role, number, self.folder, {**given, "variant": self.variant})
        hand.start()
        self.hands.append(hand)
        return hand

    def of(self, role: str) -> list[Hand]:
        """The hands of a role."""
        return [each for each in self.hands if each.role == role]

    def ensure(self) -> None:
        """Start again whoever ended though nobody meant it to: a worker that lost its process."""
        for hand in self.of("worker"):
            if not hand.is_running:
                hand.start()

    def end(self) -> None:
        """End everybody."""
        for hand in self.hands:
            hand.go_on()
            hand.signal(signal.SIGTERM)
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline and any(each.is_running for each in self.hands):
            time.sleep(0.02)
        for hand in self.hands:
            hand.kill()
