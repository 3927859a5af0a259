"""Starts the worker program, and reads what it noted."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support import eventually

PROGRAM = Path(__file__).with_name("program.py")


class Program:
    """A running worker program."""

    def __init__(self, dsn: str, folder: Path, *, ignored: str = "", **settings: Any) -> None:
        self.notes_file = folder / "notes"
        self.errors = folder / f"errors {len(list(folder.iterdir()))}"
        environment = {
            **os.environ,
            "DSN": dsn,
            "NOTES": str(self.notes_file),
            "SETTINGS": json.dumps(settings),
        }
        with self.errors.open("wb") as errors:
            self.process = subprocess.Popen(
                ["env", f"--ignore-signal={ignored}", sys.executable, PROGRAM],
                env=environment,
                stderr=errors,
                start_new_session=True,
            )

    def notes(self, what: str) -> list[tuple[int, int]]:
        """The messages and the processes that noted this."""
        if not self.notes_file.exists():
            return []
        lines = [line.split() for line in self.notes_file.read_text().splitlines()]
        return [(int(line[1]), int(line[2])) for line in lines if line[0] == what]

    def noted(self, what: str, count: int = 1) -> list[tuple[int, int]]:
        """Wait until this was noted so often."""
        eventually(lambda: len(self.notes(what)) >= count or self.process.poll() is not None)
        found = self.notes(what)
        assert len(found) >= count, self.errors.read_text()
        return found

    def logged(self, words: str, count: int = 1) -> None:
        """Wait until the log has these words so often."""
        eventually(lambda: self.errors.read_text().count(words) >= count)

    def tell(self, number: int = signal.SIGTERM) -> None:
        """Send a signal."""
        self.process.send_signal(number)

    def ends(self) -> int:
        """Wait for the end, and say the exit code."""
        return self.process.wait(timeout=60)


@contextmanager
def program(dsn: str, folder: Path, **settings: Any) -> Iterator[Program]:
    """A worker program that is killed in the end if it still runs."""
    running = Program(dsn, folder, **settings)
    try:
        yield running
    finally:
        running.process.kill()
        running.process.wait()
