"""Workers that are killed: their messages come back, to another worker or to the next process."""

import os
import signal
from pathlib import Path

import psutil
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
def gate(tmp_path: Path) -> Path:
    return tmp_path / "gate"


def test_the_messages_of_a_killed_worker_are_taken_over_when_their_leases_end(
    dsn_18, queue, gate, tmp_path
) -> None:
    for _ in range(3):
        queue.create("acme", bytes(gate), kind="gate")
    with program(dsn_18, tmp_path, lease_ms=1000) as killed:
        killed.noted("began", 3)
        killed.tell(signal.SIGKILL)
        assert killed.ends() == -signal.SIGKILL
    gate.touch()
    with program(dsn_18, tmp_path) as other:
        other.noted("ended", 3)
        eventually(lambda: outcomes(queue) == ["expired", "completed"] * 3)
        other.tell()
        assert other.ends() == 0
    assert [each.alive for each in queue.worker_list()] in ([True], [])


@pytest.mark.long
def test_a_message_that_kills_its_workers_is_dead_after_its_attempts(
    dsn_18, queue, tmp_path
) -> None:
    queue.channel_set("acme", max_attempts=2, retry_delays_ms=[0])
    queue.create("acme", b"x", kind="crash")
    with program(dsn_18, tmp_path, lease_ms=300, processes=2):
        [dead] = eventually(queue.dead_list)
    assert dead.attempt == 2


def test_a_process_that_dies_is_started_again(dsn_18, queue, gate, tmp_path) -> None:
    with program(dsn_18, tmp_path, processes=3, concurrency=1) as worker:
        for _ in range(3):
            queue.create("acme", bytes(gate), kind="gate")
        pids = {pid for _, pid in worker.noted("began", 3)}
        assert len(pids) == 3
        eventually(lambda: {each.about["pid"] for each in queue.worker_list()} == pids)
        os.kill(min(pids), signal.SIGKILL)
        worker.logged(f"worker process {min(pids)} exited with code -9, restarting in")
        children = psutil.Process(worker.process.pid).children
        fresh = eventually(lambda: {each.pid for each in children()} - pids)
        assert len(fresh) == 1
        eventually(lambda: fresh <= {each.about["pid"] for each in queue.worker_list()})
        gate.touch()
        worker.tell()
        assert worker.ends() == 0
        assert not any(map(psutil.pid_exists, pids | fresh))


def test_a_key_in_the_terminal_is_one_signal_to_all_processes(
    dsn_18, queue, gate, tmp_path
) -> None:
    queue.create("acme", bytes(gate), kind="gate")
    with program(dsn_18, tmp_path, processes=2) as worker:
        worker.noted("began")
        os.killpg(worker.process.pid, signal.SIGINT)
        worker.logged("stopping, 1 running")
        gate.touch()
        assert worker.ends() == 0
    assert outcomes(queue) == ["completed"]


@pytest.mark.long
def test_processes_whose_supervisor_is_killed_finish_and_end(dsn_18, queue, gate, tmp_path) -> None:
    queue.create("acme", bytes(gate), kind="gate")
    with program(dsn_18, tmp_path, processes=2) as worker:
        worker.noted("began")
        orphans = psutil.Process(worker.process.pid).children()
        assert len(orphans) == 2
        worker.tell(signal.SIGKILL)
        worker.logged("stopping, 1 running")
        gate.touch()
        psutil.wait_procs(orphans, timeout=30)
        assert not any(each.is_running() and each.status() != "zombie" for each in orphans)
    assert outcomes(queue) == ["completed"]


def test_two_signals_reach_all_processes_and_everything_is_given_back(
    dsn_18, queue, gate, tmp_path
) -> None:
    for _ in range(4):
        queue.create("acme", bytes(gate), kind="gate")
    with program(
        dsn_18, tmp_path, processes=2, concurrency=2, shutdown_timeout_ms=3_600_000
    ) as worker:
        worker.noted("began", 4)
        worker.tell()
        worker.logged("stopping, 2 running", 2)
        worker.tell()
        assert worker.ends() == 0
    assert [(each.leased, each.attempt) for each in queue.peek("acme")] == [(False, 0)] * 4
