"""SIGTERM and SIGINT to a real worker process: what it finishes, what it gives back, and how it ends."""

import signal
from pathlib import Path

import pytest

from acceptance.worker.programs import program
from lonnymq import Queue
from running_worker import outcomes
from support import eventually


@pytest.fixture
def queue(dsn_18: str):
    with Queue(dsn_18) as queue:
        yield queue


@pytest.fixture
def closed(tmp_path: Path) -> Path:
    return tmp_path / "gate"


def waiting(queue: Queue) -> list[tuple[bool, int]]:
    """Of each message, whether it is leased, and how many attempts it has had."""
    return [(each.leased, each.attempt) for each in queue.peek("acme")]


def test_sigterm_lets_handlers_finish_with_their_leases_kept_and_takes_nothing_new(
    dsn_18, queue, closed, tmp_path
) -> None:
    for _ in range(3):
        queue.create("acme", bytes(closed), kind="gate")
    with program(dsn_18, tmp_path, concurrency=2, lease_ms=1500) as worker:
        worker.noted("began", 2)
        worker.tell()
        worker.logged("stopping, 2 running")
        start = max(each.lease_until or 0 for each in queue.peek("acme"))
        eventually(  # two leases' time after it was told to stop, both are still kept
            lambda: all((each.lease_until or 0) > start + 3000 for each in queue.peek("acme")[:2])
        )
        assert waiting(queue) == [(True, 1), (True, 1), (False, 0)]
        assert [each.stopping for each in queue.worker_list()] == [True]
        closed.touch()
        assert worker.ends() == 0
    assert (outcomes(queue), waiting(queue)) == (["completed"] * 2, [(False, 0)])
    assert queue.worker_list() == []


@pytest.mark.parametrize("kind", ["gate", "thread", "stuck", "stubborn"])
def test_what_is_not_finished_within_the_shutdown_timeout_is_given_back_as_it_was(
    dsn_18, queue, closed, tmp_path, connect, kind: str
) -> None:
    queue.create("acme", bytes(closed), kind=kind, dequeue_at=-5)
    connect(dsn_18).execute("update lonnymq.message set state = 'half'")
    with program(dsn_18, tmp_path, shutdown_timeout_ms=200) as worker:
        worker.noted("began")
        worker.tell()
        assert worker.ends() == 0
        assert len(worker.notes("cancelled")) == (kind == "gate")
        assert bool(worker.notes("unmoved")) == (kind == "stubborn")
    [message] = queue.peek("acme")
    assert (message.leased, message.attempt) == (False, 0)
    assert (message.state, message.dequeue_at, message.error) == (b"half", -5, None)
    assert outcomes(queue) == ["deferred"]


@pytest.mark.parametrize("kind", ["gate", "thread"])
@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_gives_back_at_once(
    dsn_18, queue, closed, tmp_path, kind: str, second: int
) -> None:
    for _ in range(3):
        queue.create("acme", bytes(closed), kind=kind)
    with program(dsn_18, tmp_path, shutdown_timeout_ms=3_600_000) as worker:
        worker.noted("began", 3)
        worker.tell()
        worker.logged("stopping, 3 running")
        assert waiting(queue) == [(True, 1)] * 3
        worker.tell(second)
        assert worker.ends() == 0
    assert waiting(queue) == [(False, 0)] * 3


def test_a_worker_that_waits_for_its_database_ends_when_it_is_told(tmp_path) -> None:
    nowhere = "postgresql://127.0.0.1:1/nowhere"
    with program(nowhere, tmp_path) as worker:
        worker.logged("database unreachable")
        worker.tell()
        assert worker.ends() == 0


@pytest.mark.parametrize("processes", [1, 2])
def test_an_ignored_sigint_stays_ignored_and_sigterm_is_obeyed(
    dsn_18, queue, tmp_path, processes: int
) -> None:
    with program(dsn_18, tmp_path, ignored="INT,HUP", processes=processes) as worker:
        eventually(lambda: len(queue.worker_list()) == processes)
        worker.tell(signal.SIGINT)
        worker.tell(signal.SIGHUP)
        queue.create("acme", b"", kind="short")
        eventually(lambda: outcomes(queue) == ["completed"])
        worker.tell()
        assert worker.ends() == 0
    assert queue.worker_list() == []
