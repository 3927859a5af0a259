"""Runs `lonnymq` commands: in this process, as a process of its own, or in a terminal that is looked at."""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support import eventually

PROGRAM = [sys.executable, "-W", "error", "-m", "lonnymq.cli"]
CONTROL = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[()=>][A-Z0-9]?")


@dataclass(frozen=True)
class Ran:
    """What a command ended with."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def environment(dsn: str | None, **more: str) -> dict[str, str]:
    known = {key: value for key, value in os.environ.items() if key != "LONNYMQ_DSN"}
    return {**known, **({"LONNYMQ_DSN": dsn} if dsn else {}), **more}


def run(*arguments: object, dsn: str | None = None, stdin: str | bytes | None = None) -> Ran:
    """Run a command in this process, without a terminal."""
    from typer.testing import CliRunner

    from lonnymq.cli.app import app

    ran = CliRunner().invoke(
        app, [str(each) for each in arguments], input=stdin, env={"LONNYMQ_DSN": dsn or ""}
    )
    if ran.exception is not None and not isinstance(ran.exception, SystemExit):
        raise ran.exception
    return Ran(ran.exit_code, ran.stdout, ran.stderr)


def process(
    *arguments: object,
    dsn: str | None = None,
    cwd: Path | None = None,
    stdin: str | None = None,
    variables: Mapping[str, str] | None = None,
) -> Ran:
    """Run a command as its user does."""
    ran = subprocess.run(
        [*PROGRAM, *map(str, arguments)],
        env=environment(dsn, **(variables or {})),
        cwd=cwd,
        input=stdin,
        stdin=None if stdin is not None else subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return Ran(ran.returncode, ran.stdout, ran.stderr)


def lint(program: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a linter of the dependency group deploy."""
    found = Path(sys.executable).parent / program
    if not found.exists():
        pytest.skip(f"needs {program}: make setup")
    return subprocess.run([found, *arguments], capture_output=True, text=True, check=False)


class Terminal:
    """A command in a terminal of its own: what it shows is kept, keys are sent to it."""

    def __init__(
        self, *arguments: object, program: list[str], dsn: str, columns: int, lines: int
    ) -> None:
        self.file, inside = pty.openpty()
        self.resize(columns, lines)
        self.before = termios.tcgetattr(inside)
        self.inside = inside
        self.process = subprocess.Popen(
            [*program, *map(str, arguments)],
            env=environment(dsn, TERM="xterm-256color", COLUMNS="", LINES=""),
            stdin=inside,
            stdout=inside,
            stderr=inside,
            start_new_session=True,
        )
        self.raw = b""
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self) -> None:
        while True:
            try:
                self.raw += os.read(self.file, 65536)
            except OSError:
                return

    def resize(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self.file, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    @property
    def text(self) -> str:
        """All that was shown, without the codes that move and colour it."""
        return CONTROL.sub("", self.raw.decode(errors="replace")).replace("\r", "")

    def sees(self, words: str) -> str:
        """Wait until the words are shown."""
        eventually(lambda: words in self.text or self.process.poll() is not None)
        assert words in self.text, self.text
        return self.text

    def send(self, keys: str) -> None:
        os.write(self.file, keys.encode())

    def ends(self) -> int:
        """Wait for the end of the command, and say its exit code."""
        return self.process.wait(timeout=90)

    def is_as_before(self) -> bool:
        """Whether the terminal is in the mode in which it was found."""
        return termios.tcgetattr(self.inside)[:4] == self.before[:4]


@contextmanager
def terminal(
    *arguments: object,
    dsn: str,
    program: list[str] = PROGRAM,
    columns: int = 100,
    lines: int = 30,
) -> Iterator[Terminal]:
    """A command in a terminal; killed if it is still there at the end."""
    shown = Terminal(*arguments, program=program, dsn=dsn, columns=columns, lines=lines)
    try:
        yield shown
    finally:
        if shown.process.poll() is None:
            shown.process.kill()
            shown.process.wait()
        os.close(shown.inside)
        os.close(shown.file)
