"""Several worker processes under one: started by fork, started again when they die, stopped by the same signals."""

from __future__ import annotations

import os
import random
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import NoReturn

from lonnymq.worker.reporter import logger

STEADY_SECONDS = 30.0
LONGEST_PAUSE = 10.0
KILL_SECONDS = 15.0


@dataclass(slots=True)
class Place:
    """One of the processes: who is there now, since when, and how often in a row it died early."""

    pid: int = 0
    since: float = 0.0
    falls: int = 0
    start_at: float = 0.0


class Supervisor:
    """Keeps so many processes at work. `work` is called in each, with a descriptor that ends with the supervisor."""

    def __init__(self, processes: int, work: Callable[[int], None], *, grace_ms: int) -> None:
        self.places = [Place() for _ in range(processes)]
        self.work = work
        self.grace = grace_ms / 1000
        self.signals: list[int] = []
        self.stop_by: float | None = None
        self.bad_ends = 0

    def run(self) -> int:
        """Supervise until told to stop; say how many ended badly while stopping."""
        self.lifeline, self.hold = os.pipe()
        self.wakes, waker = os.pipe()
        os.set_blocking(self.wakes, False)
        os.set_blocking(waker, False)
        before = {each: signal.signal(each, self.heard) for each in HEARD}
        old_waker = signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        try:
            while self.step():
                select.select([self.wakes], [], [], self.pause())
                drain(self.wakes)
        finally:
            signal.set_wakeup_fd(old_waker)
            for each, handler in before.items():
                signal.signal(each, handler)
            for descriptor in (self.lifeline, self.hold, self.wakes, waker):
                os.close(descriptor)
        return self.bad_ends

    def heard(self, number: int, _: FrameType | None) -> None:
        """Remember a signal; it is acted upon in the loop."""
        if number != signal.SIGCHLD:
            self.signals.append(number)

    def step(self) -> bool:
        """Do what is to be done now; False once all have ended."""
        self.reap()
        while self.signals:
            self.pass_on(self.signals.pop(0))
        if self.stop_by is None:
            for place in self.places:
                if not place.pid and time.monotonic() >= place.start_at:
                    self.start(place)
            return True
        if time.monotonic() > self.stop_by:
            self.tell(signal.SIGKILL)
        return any(place.pid for place in self.places)

    def pause(self) -> float:
        """How long nothing needs to be done unless a signal comes."""
        now = time.monotonic()
        if self.stop_by is not None:
            return max(0.05, self.stop_by - now)
        waits = [place.start_at - now for place in self.places if not place.pid]
        return max(0.0, min(waits, default=60.0))

    def pass_on(self, number: int) -> None:
        """Pass a signal on to all; from the first one on nobody is started again."""
        if self.stop_by is None:
            self.stop_by = time.monotonic() + self.grace + KILL_SECONDS
        self.tell(number)

    def tell(self, number: int) -> None:
        """Send a signal to all that are there."""
        for place in self.places:
            if place.pid:
                os.kill(place.pid, number)

    def start(self, place: Place) -> None:
        """Start a process at a place."""
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if not pid:
            self.be_child()
        place.pid, place.since = pid, time.monotonic()

    def be_child(self) -> NoReturn:
        """Work in a process of its own, in a group of its own: a key pressed in the terminal is for the supervisor."""
        code = 1
        try:
            os.setpgid(0, 0)
            signal.set_wakeup_fd(-1)
            for each in HEARD:
                signal.signal(each, signal.SIG_DFL)
            os.close(self.hold)
            self.work(self.lifeline)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def reap(self) -> None:
        """See who has ended."""
        for place in self.places:
            if place.pid and (ended := os.waitpid(place.pid, os.WNOHANG))[0]:
                self.fell(place, os.waitstatus_to_exitcode(ended[1]))

    def fell(self, place: Place, code: int) -> None:
        """Have a process that ended before its time started again: soon, and later each time it falls at once."""
        pid, place.pid = place.pid, 0
        if self.stop_by is not None:
            self.bad_ends += code not in (
                0,
                -signal.SIGTERM,
                -signal.SIGINT,
            )  # before it could hear them
            return
        place.falls = 0 if time.monotonic() - place.since > STEADY_SECONDS else place.falls + 1
        pause = min(LONGEST_PAUSE, 0.1 * 2 ** min(place.falls, 20)) * random.uniform(0.5, 1)  # noqa: S311 - spreads load
        place.start_at = time.monotonic() + pause
        logger.warning(
            "worker process %s ended with %s, the next starts in %.1f s",
            pid,
            code,
            pause,
            extra={"pid": pid, "code": code},
        )


HEARD = (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD)


def drain(descriptor: int) -> None:
    """Read what woke the loop."""
    try:
        while os.read(descriptor, 4096):
            pass
    except BlockingIOError:
        return
