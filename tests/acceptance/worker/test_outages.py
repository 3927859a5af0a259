"""A database that goes away and comes back: the worker does too, nothing is lost and nothing is stuck."""

import socket
import threading
import time
from pathlib import Path

import psutil
import psycopg
import pytest

from acceptance.worker.programs import program
from lonnymq import Queue
from lonnymq.embedded_postgres import TemporaryServer, temporary
from running_worker import outcomes
from support import eventually, fetch_row

CUT = """
select count(pg_terminate_backend(pid)) from pg_stat_activity
where application_name = 'lonnymq worker' and datname = current_database()
"""


@pytest.fixture
def server():
    with temporary() as server:
        with Queue(server.dsn) as queue:
            queue.install()
        yield server


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    return tmp_path / "gate"


def ended(dsn: str) -> list[str]:
    """How attempts have ended, over a fresh connection."""
    with Queue(dsn) as queue:
        return outcomes(queue)


def lateness(dsn: str) -> list[int]:
    """How many milliseconds after the server's start each attempt has ended, by its own clock."""
    with psycopg.connect(dsn) as connection, Queue(dsn) as queue:
        [start] = fetch_row(connection, "select lonnymq.epoch(pg_postmaster_start_time())")
        return [each.finished_at - start for each in queue.history_read()]


@pytest.mark.long
def test_a_worker_whose_connections_are_cut_again_and_again_handles_everything_once(
    dsn_18, tmp_path
) -> None:
    with (
        Queue(dsn_18) as queue,
        psycopg.connect(dsn_18, autocommit=True) as other,
        program(dsn_18, tmp_path, lease_ms=2000, concurrency=10) as worker,
    ):
        for round_ in range(1, 6):
            for _ in range(100):
                queue.create(f"channel {round_}", b"x", kind="short")
            worker.noted("short", 100 * round_ - 50)
            assert other.execute(CUT).fetchone() != (0,)
        eventually(lambda: outcomes(queue).count("completed") == 500)
        assert queue.check() == []
        worker.tell()
        assert worker.ends() == 0
    completed = [
        row.message_id for row in Queue(dsn_18).history_read() if row.outcome == "completed"
    ]
    assert len(completed) == len(set(completed)) == 500


@pytest.mark.long
@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_what_handlers_end_while_the_server_is_down_is_settled_when_it_is_back(
    server: TemporaryServer, gate, tmp_path, mode
) -> None:
    with Queue(server.dsn) as queue:
        for kind in ("gate", "thread", "gate"):
            queue.create("acme", bytes(gate), kind=kind)
    with program(server.dsn, tmp_path) as worker:
        worker.noted("began", 3)
        server.stop(mode)
        gate.touch()
        worker.noted("ended", 3)
        worker.logged("database unreachable")
        server.start()
        eventually(lambda: ended(server.dsn) == ["completed"] * 3)
        assert all(0 <= late < 5000 for late in lateness(server.dsn))
        with Queue(server.dsn) as queue:
            queue.create("acme", b"x", kind="short")
        worker.noted("short")
        worker.tell()
        assert worker.ends() == 0
    assert ended(server.dsn) == ["completed"] * 4


def test_a_server_that_stands_still_is_waited_for(server: TemporaryServer, tmp_path) -> None:
    with Queue(server.dsn) as queue, program(server.dsn, tmp_path, lease_ms=1500) as worker:
        queue.create("acme", b"x", kind="short")
        worker.noted("short")
        pid = int((server.cluster.data / "postmaster.pid").read_text().split()[0])
        processes = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
        for each in processes:
            each.suspend()
        try:
            worker.logged("database unreachable")
        finally:
            for each in reversed(processes):
                each.resume()
        worker.logged("database reachable again")
        queue.create("acme", b"x", kind="short")
        worker.noted("short", 2)
        worker.tell()
        assert worker.ends() == 0


@pytest.mark.long
def test_a_server_that_is_away_longer_than_a_lease_leaves_nothing_stuck(
    server: TemporaryServer, gate, tmp_path
) -> None:
    with Queue(server.dsn) as queue:
        for _ in range(5):
            queue.create("acme", bytes(gate), kind="gate")
    with program(server.dsn, tmp_path, lease_ms=300) as worker:
        worker.noted("began", 5)
        server.stop("immediate")
        worker.logged("database unreachable")
        until = time.monotonic() + 1  # the leases run out meanwhile
        eventually(lambda: time.monotonic() > until)
        server.start()
        gate.touch()
        eventually(lambda: ended(server.dsn).count("completed") == 5)


@pytest.mark.long
def test_a_worker_that_starts_before_its_server_waits_for_it(
    server: TemporaryServer, tmp_path
) -> None:
    with Queue(server.dsn) as queue:
        queue.create("acme", b"x", kind="short")
    server.stop()
    with program(server.dsn, tmp_path) as worker:
        worker.logged("database unreachable")
        server.start()
        worker.noted("short")


def test_a_server_that_refuses_everybody_is_not_stormed(tmp_path) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    visits: list[float] = []

    def reject() -> None:
        while True:
            try:
                visitor, _ = listener.accept()
            except OSError:
                return
            visits.append(time.monotonic())
            visitor.close()

    threading.Thread(target=reject, daemon=True).start()
    port = listener.getsockname()[1]
    with program(f"postgresql://127.0.0.1:{port}/x", tmp_path):
        eventually(lambda: visits and visits[-1] - visits[0] > 4)
    listener.close()
    within = [each for each in visits if each - visits[0] <= 4]
    assert len(within) <= 20  # psycopg asks twice a try
