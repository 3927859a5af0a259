"""The demo kills a worker that holds jobs at that moment, and says so if none does."""

import subprocess
import sys
from collections.abc import Iterator

import pytest
from examples.demo import processes as demo_crew
from examples.demo.processes import Crew

from lonnymq import Queue

WAITING = [sys.executable, "-c", "import time; time.sleep(600)"]


@pytest.fixture
def crew(dsn_18: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Crew]:
    """Two processes that the queue believes to be workers."""
    monkeypatch.setattr(demo_crew, "AT_WORK_WITHIN", 1.0)
    with Crew(dsn_18) as made, Queue(dsn_18) as queue:
        made.processes += [subprocess.Popen(WAITING) for _ in range(2)]
        for process in made.processes:
            made.names[process.pid] = f"worker {process.pid}"
            about = {"pid": process.pid}
            queue.worker_seen(f"worker {process.pid}", concurrency=8, about=about)
        yield made


def test_the_one_that_holds_the_most_is_killed_and_what_it_held_is_told(
    crew: Crew, dsn_18: str
) -> None:
    few, many = crew.processes
    with Queue(dsn_18) as queue:
        queue.create_many([b"x"] * 10, channel="acme")
        queue.dequeue(2, worker=f"worker {few.pid}")
        held = queue.dequeue(3, worker=f"worker {many.pid}")
        done = queue.dequeue(4, worker=f"worker {many.pid}")
        queue.complete_many(done)
        killed = crew.kill_one()
    assert (killed.pid, killed.worker) == (many.pid, f"worker {many.pid}")
    assert killed.jobs == {each.id for each in held}
    assert many.poll() is not None
    assert few.poll() is None
    assert crew.processes == [few]


def test_if_none_holds_any_one_is_killed_all_the_same_and_nothing_is_claimed(crew: Crew) -> None:
    first, second = crew.processes
    killed = crew.kill_one()
    assert (killed.pid, killed.worker, killed.jobs) == (first.pid, None, frozenset())
    assert first.poll() is not None
    assert second.poll() is None
