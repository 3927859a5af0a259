"""The demo kills a worker that holds jobs at that moment, and says so if none does."""

import subprocess
import sys
from collections.abc import Iterator

import pytest
from examples.demo import processes as demo_processes
from examples.demo.processes import WorkerProcesses

from lonnymq import Queue

WAITING = [sys.executable, "-c", "import time; time.sleep(600)"]


@pytest.fixture
def workers(dsn_18: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[WorkerProcesses]:
    """Two processes that the queue believes to be workers."""
    monkeypatch.setattr(demo_processes, "BUSY_WITHIN", 1.0)
    with WorkerProcesses(dsn_18) as made, Queue(dsn_18) as queue:
        made.processes += [subprocess.Popen(WAITING) for _ in range(2)]
        for process in made.processes:
            made.names[process.pid] = f"worker {process.pid}"
            about = {"pid": process.pid}
            queue.worker_seen(f"worker {process.pid}", concurrency=8, about=about)
        yield made


def test_the_one_that_holds_the_most_is_killed_and_what_it_held_is_told(
    workers: WorkerProcesses, dsn_18: str
) -> None:
    few, many = workers.processes
    with Queue(dsn_18) as queue:
        queue.create_many([b"x"] * 10, channel="acme")
        queue.dequeue(2, worker=f"worker {few.pid}")
        held = queue.dequeue(3, worker=f"worker {many.pid}")
        done = queue.dequeue(4, worker=f"worker {many.pid}")
        queue.complete_many(done)
        killed = workers.kill_one()
    assert (killed.pid, killed.worker) == (many.pid, f"worker {many.pid}")
    assert killed.jobs == {each.id for each in held}
    assert many.poll() is not None
    assert few.poll() is None
    assert workers.processes == [few]


def test_if_none_holds_any_one_is_killed_all_the_same_and_nothing_is_claimed(
    workers: WorkerProcesses,
) -> None:
    first, second = workers.processes
    killed = workers.kill_one()
    assert (killed.pid, killed.worker, killed.jobs) == (first.pid, None, frozenset())
    assert first.poll() is not None
    assert second.poll() is None
