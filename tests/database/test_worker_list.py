"""Workers as SQL knows them: who said to be there, and who has been silent."""

import pytest

from lonnymq import Queue
from lonnymq.errors import InvalidArgument
from lonnymq.testing import Clock


@pytest.fixture
def queue(dsn: str):
    with Queue(dsn) as queue:
        yield queue


@pytest.fixture
def clock(direct_dsn: str):
    clock = Clock(direct_dsn)
    yield clock
    clock.close()


def test_a_worker_is_there_from_its_first_word_to_its_last(queue) -> None:
    assert queue.worker_seen("w", concurrency=8, about={"host": "here"}) == "started"
    assert queue.worker_seen("w", concurrency=8, running=3, stopping=True) == "seen"
    [worker] = queue.worker_list()
    assert (worker.name, worker.alive, worker.running, worker.stopping) == ("w", True, 3, True)
    assert queue.worker_gone("w") == "gone"
    assert queue.worker_gone("w") == "not_found"
    assert queue.worker_list() == []


def test_a_worker_that_is_silent_for_three_times_as_long_as_it_meant_is_not_alive(
    queue, clock
) -> None:
    queue.worker_seen("w", concurrency=1, interval_ms=1000)
    clock.advance(3000)
    assert queue.worker_list()[0].alive
    clock.advance(1)
    assert not queue.worker_list()[0].alive
    queue.worker_seen("w", concurrency=1, interval_ms=1000)
    assert queue.worker_list()[0].alive


def test_who_has_been_silent_for_a_day_is_forgotten_when_another_starts(queue, clock) -> None:
    queue.worker_seen("old", concurrency=1)
    clock.advance(86_400_001)
    queue.worker_seen("new", concurrency=1)
    assert [each.name for each in queue.worker_list()] == ["new"]


def test_workers_are_listed_in_pages(queue) -> None:
    for name in "cab":
        queue.worker_seen(name, concurrency=1)
    assert [each.name for each in queue.worker_list(limit=2)] == ["a", "b"]
    assert [each.name for each in queue.worker_list(after="b")] == ["c"]


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"concurrency": 0}, "concurrency must be from 1"),
        ({"running": -1}, "running must be from 0"),
        ({"interval_ms": 0}, "interval_ms must be from 1"),
        ({"about": {"a": "x" * 20_000}}, "bytes of about"),
        ({"name": ""}, "name must be 1 to 255"),
    ],
)
def test_what_no_worker_can_say_is_refused(queue, wrong, text: str) -> None:
    with pytest.raises(InvalidArgument, match=text):
        queue.worker_seen(**{"name": "w", "concurrency": 1, **wrong})
