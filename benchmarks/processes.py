"""Real processes that make the load, a crew for each contestant, kept from sample to sample."""

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

from benchmarks.flow import Board, Flow

SPAWN = multiprocessing.get_context("spawn")
Task = tuple[Callable[..., Any], tuple[Any, ...]]


class Failed(Exception):
    """A contestant could not do what it was asked; the text is the reason that the table gives."""


class Crew:
    """Processes that wait for tasks. A task is a function of (flow, *arguments) that calls `flow.ready()` once."""

    def __init__(self) -> None:
        self.board = Board()
        self.pipes: list[Connection] = []
        self.processes: list[BaseProcess] = []

    def call(self, function: Callable[..., Any], *arguments: Any, patience: float = 120.0) -> Any:
        """Run a function on one member, without ceremony, and return what it returns."""
        self._enlist(1)
        self.board.clear()
        self.pipes[0].send((function, arguments))
        return self._answer(0, "done", time.monotonic() + patience)

    def start(self, tasks: Sequence[Task], *, patience: float = 60.0) -> None:
        """Hand out the tasks, wait until every member is ready, and let all go."""
        self._enlist(len(tasks))
        self.board.clear()
        for pipe, task in zip(self.pipes, tasks, strict=False):
            pipe.send(task)
        deadline = time.monotonic() + patience
        for slot in range(len(tasks)):
            self._answer(slot, "ready", deadline)
        for pipe in self.pipes[: len(tasks)]:
            pipe.send("go")

    def check(self, members: int) -> None:
        """Raise if a member has failed meanwhile."""
        for pipe in wait(self.pipes[:members], timeout=0):
            self._answer(self.pipes.index(pipe), "nothing yet", time.monotonic() + 1)  # type: ignore[arg-type]

    def finish(self, members: int, *, patience: float = 60.0) -> list[Any]:
        """Say stop and collect what the members return."""
        self.board.stop[0] = 1
        deadline = time.monotonic() + patience
        return [self._answer(slot, "done", deadline) for slot in range(members)]

    def close(self) -> None:
        """End the processes, those that hang too."""
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.join()
        self.pipes.clear()
        self.processes.clear()

    def _enlist(self, members: int) -> None:
        for slot in range(len(self.pipes), members):
            ours, theirs = SPAWN.Pipe()
            process = SPAWN.Process(target=serve, args=(theirs, self.board, slot), daemon=True)
            process.start()
            theirs.close()
            self.pipes.append(ours)
            self.processes.append(process)

    def _answer(self, slot: int, wanted: str, deadline: float) -> Any:
        pipe = self.pipes[slot]
        try:
            if not pipe.poll(max(0.0, deadline - time.monotonic())):
                raise Failed(f"no answer in time (waited for: {wanted})")
            kind, value = pipe.recv()
        except (EOFError, OSError) as error:
            self.close()
            raise Failed(f"its process ended: {error!r}") from error
        except Failed:
            self.close()
            raise
        if kind != wanted:
            self.close()
            raise Failed(value if kind == "failed" else f"ended before it was told: {kind}")
        return value


def serve(pipe: Connection, board: Board, slot: int) -> None:
    """A member's life: take a task, do it, tell what came of it; and end with whoever started it."""
    threading.Thread(target=leave_with_parent, daemon=True).start()
    while True:
        try:
            function, arguments = pipe.recv()
        except EOFError:
            return
        try:
            answer = ("done", function(Flow(pipe, board, slot), *arguments))
        except BaseException as error:
            traceback.print_exc()
            answer = ("failed", f"{type(error).__name__}: {error}".splitlines()[0][:300])
        pipe.send(answer)


def leave_with_parent() -> None:
    """End this process when the one that started it is gone, killed perhaps."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)
