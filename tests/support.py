"""What many tests need: conditions waited for instead of slept for, databases from a template, and PgBouncer."""

import fcntl
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from typing import IO, Any, NoReturn, TypeVar
from urllib.parse import quote

import psycopg
import pytest

from lonnymq.embedded_postgres.cluster import account_for
from lonnymq.results import CreateManyResult, Dropped, Rejected
from lonnymq.testing import run, with_database

DEBIAN_15 = Path("/usr/lib/postgresql/15/bin")
TEMPLATE = "lonnymq_template"
STRICT = os.environ.get("LONNYMQ_TEST_STRICT", "") not in ("", "0")
numbers = count(1)
T = TypeVar("T")


def eventually(look: Callable[[], T | None], *, within: float = 90.0) -> T:
    """Look until what is seen is true, and return it; fail after so many seconds."""
    deadline = time.monotonic() + within
    while not (seen := look()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not so within {within} s: {look}")
        time.sleep(0.01)
    return seen


def message_id(answer: CreateManyResult) -> int:
    """The id of a message that was created, or was there."""
    assert not isinstance(answer, Dropped | Rejected), answer
    return answer.id


def fetch_row(
    connection: psycopg.Connection, query: str, values: Sequence[object] = ()
) -> tuple[Any, ...]:
    """The first row of a query that has one."""
    row = connection.execute(query.encode(), values).fetchone()
    assert row is not None, query
    return row


def waits_for_a_lock(watcher: psycopg.Connection, pid: int) -> bool:
    """Whether the backend `pid` stands at a lock; for use with `eventually`."""
    row = watcher.execute("select cardinality(pg_blocking_pids(%s)) > 0", (pid,)).fetchone()
    return bool(row and row[0])


def missing(package: str) -> NoReturn:
    """Skip the test for want of a Debian package; where nothing may be skipped, fail it (conftest.py sees to that)."""
    pytest.skip(f"needs the Debian package {package}: scripts/system-packages installs it")


def first_quick(*values: object, quick: int = 1) -> list[object]:
    """Values for `parametrize`: the first are in `make test`, the others in `make test-all`."""
    return [
        *values[:quick],
        *(pytest.param(each, marks=pytest.mark.long) for each in values[quick:]),
    ]


@cache
def only_here(folder: Path, what: str) -> IO[str]:
    """Keep what there may be but one of in a folder's run for this process, until it ends; fail if another has it."""
    held = (folder / f"{what}.held").open("a")
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        held.close()
        pytest.fail(
            f"another worker of this run has started {what}: the groups of pytest-xdist have no effect. "
            "Run with --dist loadgroup, and with the versions that pyproject.toml asks for."
        )
    return held


def accepts(dsn: str) -> bool:
    """Whether a server answers at a DSN."""
    try:
        psycopg.connect(dsn, connect_timeout=5).close()
    except psycopg.OperationalError:
        return False
    return True


@dataclass(frozen=True)
class Target:
    """A server to test against: how to reach it, and how to reach it past a connection pooler."""

    name: str
    dsn: str
    direct_dsn: str

    @contextmanager
    def database(self) -> Iterator[tuple[str, str]]:
        """A fresh database with the queue installed: its DSN and its direct DSN."""
        name = f"test_{os.getpid()}_{next(numbers)}"
        run(self.direct_dsn, f"create database {name} template {TEMPLATE} strategy file_copy")
        yield with_database(self.dsn, name), with_database(self.direct_dsn, name)
        run(self.direct_dsn, f"drop database {name} with (force)")


def prepare_template(dsn: str) -> None:
    """Make the database that every test's database is a copy of: 40 ms a copy, where an install takes longer."""
    from lonnymq import install

    run(dsn, f"create database {TEMPLATE}")
    install(with_database(dsn, TEMPLATE), schema="lonnymq")


@contextmanager
def pgbouncer(direct_dsn: str, socket_folder: Path) -> Iterator[str]:
    """PgBouncer in transaction mode in front of a server; yields the DSN through it."""
    program = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if program is None:
        missing("pgbouncer")
    folder = Path(tempfile.mkdtemp(prefix="lonnymq-pgbouncer-"))
    (folder / "users.txt").write_text('"postgres" ""\n')
    (folder / "pgbouncer.ini").write_text(PGBOUNCER_INI.format(folder=folder, server=socket_folder))
    account = account_for(folder / "none")  # like PostgreSQL, it rejects to run as root
    for path in (folder, *folder.iterdir()):
        os.chown(path, account.user, account.group)
    is_root = os.geteuid() == 0
    process = subprocess.Popen(
        [program, "-q", folder / "pgbouncer.ini"],
        stdin=subprocess.DEVNULL,
        user=account.user if is_root else None,
        group=account.group if is_root else None,
        extra_groups=[] if is_root else None,
    )
    dsn = f"postgresql://postgres@/postgres?host={quote(str(folder))}&port=6432"
    try:
        eventually(lambda: accepts(dsn))
        yield dsn
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(folder)


PGBOUNCER_INI = """\
[databases]
* = host={server} port=5432

[pgbouncer]
listen_addr =
listen_port = 6432
unix_socket_dir = {folder}
logfile = {folder}/log
auth_type = trust
auth_file = {folder}/users.txt
pool_mode = transaction
default_pool_size = 40
max_client_conn = 1000
ignore_startup_parameters = extra_float_digits
"""
