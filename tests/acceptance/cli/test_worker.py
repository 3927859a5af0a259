"""`lonnymq worker module:object` and `lonnymq schedule`: real workers in real processes."""

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import lonnymq
from commands import PROGRAM, environment, process, run
from support import eventually

JOBS = """
import lonnymq

worker = lonnymq.Worker(name="the worker")
elsewhere = lonnymq.Worker(schema="empty")
idle = lonnymq.Worker()


class Factory:
    worker = worker


@worker.handler("greet")
async def greet(name: str) -> None:
    print("hello", name, flush=True)


@elsewhere.handler("greet")
async def greet_elsewhere(name: str) -> None: ...


worker.schedule("hourly", channel="acme", cron="0 * * * *", kind="greet")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "jobs.py").write_text(JOBS)
    return tmp_path


@pytest.fixture
def queue(dsn_18: str) -> Iterator[lonnymq.Queue]:
    with lonnymq.Queue(dsn_18) as queue:
        yield queue


@contextmanager
def run_worker(folder: Path, dsn: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A worker in a process of its own, killed if it is still there at the end."""
    worker = subprocess.Popen(
        [*PROGRAM, "worker", *arguments],
        cwd=folder,
        env=environment(dsn),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield worker
    finally:
        if worker.poll() is None:
            worker.kill()
        worker.communicate()


@pytest.mark.parametrize("target", ["jobs:worker", "jobs:Factory.worker"])
def test_a_worker_handles_messages_until_it_is_told_to_stop(
    folder: Path, queue: lonnymq.Queue, dsn_18: str, target: str
) -> None:
    with run_worker(folder, dsn_18, target, "--concurrency", "3") as worker:
        queue.channel("acme").create(b"Ada", kind="greet")
        assert worker.stdout
        assert worker.stdout.readline() == "hello Ada\n"
        [seen] = run("status", "--json", dsn=dsn_18).json["workers"]
        assert (seen["alive"], seen["concurrency"]) == (True, 3)
        worker.send_signal(signal.SIGTERM)
        _, output = worker.communicate(timeout=90)
    assert (worker.returncode, queue.peek("acme")) == (0, [])
    assert "INFO" in output
    assert "started" in output


def test_a_worker_uses_a_private_server_only_if_asked_to(folder: Path) -> None:
    home = folder / "home"
    home.mkdir()
    env = environment(None, XDG_DATA_HOME=str(home))
    given: dict[str, Any] = {"env": env, "cwd": folder, "text": True}
    rejected = subprocess.run(
        [*PROGRAM, "worker", "jobs:worker"], capture_output=True, timeout=60, check=False, **given
    )
    assert (rejected.returncode, list(home.iterdir())) == (2, [])
    assert "You named no database" in rejected.stderr
    asked = [*PROGRAM, "worker", "jobs:worker", "--embedded"]
    with subprocess.Popen(asked, stderr=subprocess.PIPE, **given) as worker:
        assert worker.stderr
        started = next(line for line in worker.stderr if "started" in line)
        worker.send_signal(signal.SIGTERM)
        worker.communicate(timeout=60)
    assert worker.returncode == 0
    assert "database postgres at /" in started
    assert started.endswith("schema lonnymq\n")


@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_worker_whose_terminal_is_closed_stops_in_order(
    folder: Path, queue: lonnymq.Queue, dsn_18: str, processes: str
) -> None:
    with run_worker(folder, dsn_18, "jobs:worker", "--processes", processes) as worker:
        eventually(lambda: len(queue.worker_list()) == int(processes))
        worker.send_signal(signal.SIGHUP)
        assert worker.wait(30) == 0
    assert queue.worker_list() == []


def test_a_worker_that_is_to_outlive_its_terminal_does(folder: Path, dsn_18: str) -> None:
    with lonnymq.Queue(dsn_18) as queue:
        command = ["nohup", *PROGRAM, "worker", "jobs:worker"]
        quiet = subprocess.DEVNULL
        worker = subprocess.Popen(
            command, cwd=folder, env=environment(dsn_18), stdin=quiet, stdout=quiet, stderr=quiet
        )
        try:
            eventually(queue.worker_list)
            worker.send_signal(signal.SIGHUP)
            queue.channel("acme").create(b"Ada", kind="greet")
            eventually(lambda: not queue.peek("acme"))
            assert worker.poll() is None
        finally:
            worker.terminate()
            assert worker.wait(30) == 0


def test_what_it_says_can_be_read_by_programs(folder: Path, dsn_18: str) -> None:
    with run_worker(folder, dsn_18, "jobs:worker", "--json") as worker:
        assert worker.stderr
        first = json.loads(worker.stderr.readline())
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(30) == 0
    assert {"at", "level", "logger", "message"} <= set(first)
    assert first["logger"] == "lonnymq.worker"


def test_a_worker_without_handlers_is_refused(folder: Path, dsn_18: str) -> None:
    ran = process("worker", "jobs:idle", dsn=dsn_18, cwd=folder)
    assert (ran.code, "The worker has no handlers" in ran.err) == (2, True)


def test_a_worker_of_a_schema_without_a_queue_says_how_to_install_it(
    folder: Path, dsn_18: str
) -> None:
    ran = process("worker", "jobs:elsewhere", dsn=dsn_18, cwd=folder)
    assert (ran.code, ran.err.endswith("Run: lonnymq install --schema empty\n")) == (4, True)


def test_a_dsn_that_cannot_be_read_does_not_show_its_password(folder: Path) -> None:
    ran = process("worker", "jobs:worker", dsn="postgresql//me:hush@host/db", cwd=folder)
    assert ran.code in (2, 3)
    assert "hush" not in ran.out + ran.err
    assert "Traceback" not in ran.err


def test_schedules_are_listed_and_run(folder: Path, queue: lonnymq.Queue, dsn_18: str) -> None:
    with run_worker(folder, dsn_18, "jobs:worker"):
        eventually(lambda: [each for each in queue.schedule_list() if each.next_at is not None])
        people = run("schedule", "list", dsn=dsn_18).out
        assert "0 * * * * (UTC)" in people
        assert " in " in people
    [schedule] = run("schedule", "list", "--json", dsn=dsn_18).json["schedules"]
    assert (schedule["name"], schedule["cron"], schedule["timezone"]) == (
        "hourly",
        "0 * * * *",
        "UTC",
    )
    ran = run("schedule", "run", "hourly", "--json", dsn=dsn_18).json
    assert (ran["answer"], queue.peek("acme")[0].id) == ("created", ran["id"])


def test_a_schedule_is_made_paused_resumed_and_deleted(queue: lonnymq.Queue, dsn_18: str) -> None:
    options = ["--channel", "acme", "--every", "30s", "--content", "tick", "--kind", "greet"]
    assert run("schedule", "set", "often", *options, dsn=dsn_18).out == "created: often\n"
    assert run("schedule", "set", "often", *options, dsn=dsn_18).out == "unchanged: often\n"
    assert "every 30 s" in run("schedule", "list", dsn=dsn_18).out
    assert "when a worker starts" in run("schedule", "list", dsn=dsn_18).out
    assert run("schedule", "pause", "often", dsn=dsn_18).out == "paused: often\n"
    assert "paused" in run("schedule", "list", dsn=dsn_18).out
    assert run("schedule", "resume", "often", dsn=dsn_18).out == "resumed: often\n"
    assert run("schedule", "delete", "often", dsn=dsn_18).code == 1
    assert run("schedule", "delete", "often", "--yes", dsn=dsn_18).out == "deleted: often\n"
    assert queue.schedule_list() == []
