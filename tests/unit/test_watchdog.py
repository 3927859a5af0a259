"""The watchdog of an embedded server, in this process: server.py starts it where coverage is not installed."""

import fcntl
import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lonnymq.embedded_postgres import watchdog
from support import eventually

STOPPED = "import pathlib; pathlib.Path('stopped').touch()"
Watch = Callable[..., threading.Thread]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for each in ("queue", "queue/data", "queue/sockets"):
        (tmp_path / each).mkdir()
    for each in ("gate", "users", "watched"):
        (tmp_path / "queue" / each).touch()
    return tmp_path / "queue"


@pytest.fixture
def watch(folder: Path) -> Iterator[Watch]:
    """Starts a watchdog of the folder in a thread, which must end."""
    started: list[threading.Thread] = []

    def start(*, remove: bool = False) -> threading.Thread:
        own_lock = os.open(folder.parent / "own", os.O_CREAT)
        stop = [sys.executable, "-c", STOPPED]
        given = (folder, folder / "sockets", remove, os.getuid(), os.getgid(), own_lock, stop)
        started.append(threading.Thread(target=watchdog.main, args=given, daemon=True))
        started[-1].start()
        return started[-1]

    yield start
    for each in started:
        each.join(60)
        assert not each.is_alive()


def test_a_server_without_users_is_stopped_and_its_sockets_go(folder: Path, watch: Watch) -> None:
    watch().join(60)
    assert (folder / "data" / "stopped").exists()
    assert not (folder / "sockets").exists()


def test_a_server_that_did_not_stop_keeps_its_sockets(folder: Path, watch: Watch) -> None:
    (folder / "data" / "postmaster.pid").touch()
    watch().join(60)
    assert (folder / "sockets").exists()


def test_the_folder_of_a_temporary_server_goes_with_the_server(folder: Path, watch: Watch) -> None:
    watch(remove=True).join(60)
    assert not folder.exists()


def test_a_folder_whose_data_is_gone_needs_no_stop(folder: Path, watch: Watch) -> None:
    (folder / "data").rmdir()
    watch().join(60)
    assert not (folder / "sockets").exists()


def test_a_user_who_comes_while_the_watchdog_is_at_the_gate_keeps_the_server(
    folder: Path, watch: Watch
) -> None:
    with (folder / "users").open() as users:
        fcntl.flock(users, fcntl.LOCK_SH)
        watch()
        eventually(lambda: is_locked(folder / "gate"))
        eventually(lambda: not is_locked(folder / "gate"))
        assert not (folder / "data" / "stopped").exists()
    eventually((folder / "data" / "stopped").exists)


def is_locked(path: Path) -> bool:
    with path.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
