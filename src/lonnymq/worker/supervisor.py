"""Runs several worker processes: forks them, restarts them when they die, and passes signals on."""

from __future__ import annotations

import logging
import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import NoReturn

from lonnymq.backoff import Backoff

logger = logging.getLogger("lonnymq.worker")

HEALTHY_SECONDS = 30.0
KILL_SECONDS = 15.0


@dataclass(slots=True)
class Process:
    """One of the processes, or the next start of it. Times are of the monotonic clock."""

    pid: int = 0
    started_at: float = 0.0
    start_at: float = 0.0
    backoff: Backoff = field(default_factory=lambda: Backoff(first=0.1, longest=10.0))


class Supervisor:
    """Keeps a number of processes running. Each calls `work` with a pipe that closes when the supervisor ends."""

    def __init__(
        self, processes: int, work: Callable[[int], None], *, shutdown_timeout_ms: int
    ) -> None:
        self.processes = [Process() for _ in range(processes)]
        self.work = work
        self.shutdown_timeout = shutdown_timeout_ms / 1000
        self.signals: list[int] = []
        self.stop_by: float | None = None
        self.failed = 0

    def run(self) -> int:
        """Supervise until stopped, and return how many processes failed while stopping."""
        self.lifeline, self.hold = os.pipe()
        self.wakes, waker = os.pipe()
        os.set_blocking(self.wakes, False)
        os.set_blocking(waker, False)
        self.handlers = {
            each: signal.signal(each, self.queue_signal)
            for each in (*stop_signals(), signal.SIGCHLD)
        }
        old_waker = signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        try:
            while self.step():
                select.select([self.wakes], [], [], self.wait_seconds())
                drain(self.wakes)
        finally:
            signal.set_wakeup_fd(old_waker)
            for each, handler in self.handlers.items():
                signal.signal(each, handler)
            for descriptor in (self.lifeline, self.hold, self.wakes, waker):
                os.close(descriptor)
        return self.failed

    def queue_signal(self, number: int, _: FrameType | None) -> None:
        """Note a signal for the loop."""
        if number != signal.SIGCHLD:
            self.signals.append(number)

    def step(self) -> bool:
        """Reap, pass signals on and start processes. Return False when all have ended."""
        self.reap()
        while self.signals:
            self.pass_on(self.signals.pop(0))
        if self.stop_by is None:
            for process in self.processes:
                if not process.pid and time.monotonic() >= process.start_at:
                    self.start(process)
            return True
        if time.monotonic() > self.stop_by:
            self.send(signal.SIGKILL)
        return any(process.pid for process in self.processes)

    def wait_seconds(self) -> float:
        """Return the seconds until the next thing to do, unless a signal comes."""
        now = time.monotonic()
        if self.stop_by is not None:
            return max(0.05, self.stop_by - now)
        waits = [each.start_at - now for each in self.processes if not each.pid]
        return max(0.0, min(waits, default=60.0))

    def pass_on(self, number: int) -> None:
        """Pass a signal on to all processes. After the first signal nothing is restarted."""
        if self.stop_by is None:
            self.stop_by = time.monotonic() + self.shutdown_timeout + KILL_SECONDS
        self.send(number)

    def send(self, number: int) -> None:
        """Send a signal to all processes."""
        for process in self.processes:
            if process.pid:
                os.kill(process.pid, number)

    def start(self, process: Process) -> None:
        """Start a process."""
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if not pid:
            self.run_child()
        process.pid, process.started_at = pid, time.monotonic()

    def run_child(self) -> NoReturn:
        """Work in a new process and a new process group: a Ctrl-C in the terminal is for the supervisor."""
        code = 1
        try:
            os.setpgid(0, 0)
            signal.set_wakeup_fd(-1)
            for each in self.handlers:
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
        """Note the processes that have ended."""
        for process in self.processes:
            if process.pid and (ended := os.waitpid(process.pid, os.WNOHANG))[0]:
                self.plan_restart(process, os.waitstatus_to_exitcode(ended[1]))

    def plan_restart(self, process: Process, code: int) -> None:
        """Plan the restart of a process: soon, and later each time the process dies early."""
        pid, process.pid = process.pid, 0
        if self.stop_by is not None:
            # a process may die of a signal before its handler is set
            self.failed += code not in (0, -signal.SIGTERM, -signal.SIGINT)
            return
        if time.monotonic() - process.started_at > HEALTHY_SECONDS:
            process.backoff.reset()
        delay = process.backoff.next_delay()
        process.start_at = time.monotonic() + delay
        logger.warning(
            "worker process %s exited with code %s, restarting in %.1f s",
            pid,
            code,
            delay,
            extra={"pid": pid, "code": code},
        )


def stop_signals() -> tuple[signal.Signals, ...]:
    """Return the signals that stop a worker. SIGINT is not one of them if the shell that started it ignores SIGINT."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        return (signal.SIGTERM,)
    return (signal.SIGTERM, signal.SIGINT)


def drain(descriptor: int) -> None:
    """Empty the pipe that woke the loop."""
    try:
        while os.read(descriptor, 4096):
            pass
    except BlockingIOError:
        return
