"""Single keys from a terminal while a live screen is shown, and the terminal as it was afterwards."""

from __future__ import annotations

import os
import select
import sys
from types import TracebackType
from typing import Any, Self

ARROWS = {b"\x1b[A": "up", b"\x1b[B": "down", b"\x1b[5~": "up", b"\x1b[6~": "down", b"\x1b": "q"}


class Keys:
    """Reads keys without waiting for Enter; where there is no terminal it only waits."""

    def __init__(self) -> None:
        self.file = sys.stdin.fileno() if sys.stdin.isatty() else None
        self.before: list[Any] | None = None

    def __enter__(self) -> Self:
        if self.file is not None:
            import termios
            import tty

            self.before = termios.tcgetattr(self.file)
            tty.setcbreak(self.file)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.file is not None and self.before is not None:
            import termios

            termios.tcsetattr(self.file, termios.TCSADRAIN, self.before)

    def wait(self, seconds: float) -> str | None:
        """The key that was pressed within so many seconds, or None."""
        watched = [] if self.file is None else [self.file]
        ready, _, _ = select.select(watched, [], [], max(0.0, seconds))
        if not ready or self.file is None:
            return None
        pressed = os.read(self.file, 16)
        return ARROWS.get(pressed) or pressed[:1].decode(errors="ignore") or "q"
