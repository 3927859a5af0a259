"""Real processes that make the load, a group for each system, kept from sample to sample."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from benchmarks.load_control import LoadControl, SharedCounters

SPAWN = multiprocessing.get_context("spawn")
Task = tuple[Callable[..., Any], tuple[Any, ...]]


class SystemFailed(Exception):
    """A system could not do what it was asked; the text is the reason that the table gives."""


class ProcessGroup:
    """Processes that wait for tasks. A task is a function of (control, *arguments) and calls `control.ready()` once."""

    def __init__(self) -> None:
        self.counters = SharedCounters()
        self.pipes: list[Connection] = []
        self.processes: list[BaseProcess] = []

    def call(self, function: Callable[..., Any], *arguments: Any, timeout: float = 120.0) -> Any:
        """Run a function on one member, without ceremony, and return what it returns."""
        self._start_missing(1)
        self.counters.clear()
        self.pipes[0].send((function, arguments))
        return self._receive(0, "done", time.monotonic() + timeout)

    def start(self, tasks: Sequence[Task], *, timeout: float = 60.0) -> None:
        """Hand out the tasks, wait until every member is ready, and let all go."""
        self._start_missing(len(tasks))
        self.counters.clear()
        for pipe, task in zip(self.pipes, tasks, strict=False):
            pipe.send(task)
        deadline = time.monotonic() + timeout
        for slot in range(len(tasks)):
            self._receive(slot, "ready", deadline)
        for pipe in self.pipes[: len(tasks)]:
            pipe.send("go")

    def check(self, members: int) -> None:
        """Raise if a member has failed meanwhile."""
        answered = wait(self.pipes[:members], timeout=0)
        for slot in (slot for slot, pipe in enumerate(self.pipes) if pipe in answered):
            self._receive(slot, "nothing yet", time.monotonic() + 1)

    def finish(self, members: int, *, timeout: float = 60.0) -> list[Any]:
        """Say stop and collect what the members return."""
        self.counters.stop[0] = 1
        deadline = time.monotonic() + timeout
        return [self._receive(slot, "done", deadline) for slot in range(members)]

    def close(self) -> None:
        """End the processes, those that hang too."""
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.join()
        self.pipes.clear()
        self.processes.clear()

    def _start_missing(self, members: int) -> None:
        for slot in range(len(self.pipes), members):
            ours, theirs = SPAWN.Pipe()
            process = SPAWN.Process(
                target=run_tasks, args=(theirs, self.counters, slot), daemon=True
            )
            process.start()
            theirs.close()
            self.pipes.append(ours)
            self.processes.append(process)

    def _receive(self, slot: int, wanted: str, deadline: float) -> Any:
        pipe = self.pipes[slot]
        try:
            if not pipe.poll(max(0.0, deadline - time.monotonic())):
                raise SystemFailed(f"no answer in time (waited for: {wanted})")
            kind, value = pipe.recv()
        except (EOFError, OSError) as error:
            self.close()
            raise SystemFailed(f"its process ended: {error!r}") from error
        except SystemFailed:
            self.close()
            raise
        if kind != wanted:
            self.close()
            raise SystemFailed(value if kind == "failed" else f"ended before it was told: {kind}")
        return value


def run_tasks(pipe: Connection, counters: SharedCounters, slot: int) -> None:
    """A member's life: take a task, do it, tell what came of it; and end with whoever started it."""
    threading.Thread(target=exit_with_parent, daemon=True).start()
    while True:
        try:
            function, arguments = pipe.recv()
        except EOFError:
            return
        try:
            answer = ("done", function(LoadControl(pipe, counters, slot), *arguments))
        except BaseException as error:
            traceback.print_exc()
            answer = ("failed", f"{type(error).__name__}: {error}".splitlines()[0][:300])
        pipe.send(answer)


def exit_with_parent() -> None:
    """End this process when the one that started it is gone, killed perhaps."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)
