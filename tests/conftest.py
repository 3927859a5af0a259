"""Servers and databases for the tests.

`dsn` is a fresh database with the queue installed; a test that asks for it runs on PostgreSQL 18, on 15 and through
PgBouncer. `dsn_18` and `dsn_15` are on that version only. `direct_dsn` is the database of `dsn` past PgBouncer.
`make test` runs what needs PostgreSQL 18 only. The markers `pg15` and `pgbouncer`, set here, leave out the rest.
With LONNYMQ_TEST_POSTGRESQL=16 `dsn` is on /usr/lib/postgresql/16 alone, for the matrix of versions.
With LONNYMQ_TEST_STRICT=1 nothing may be skipped.
"""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from lonnymq.embedded_postgres import TemporaryServer, temporary
from support import DEBIAN_15, STRICT, Target, missing, pgbouncer, prepare_template

os.environ.pop("LONNYMQ_DSN", None)  # the tests bring their servers along

for each in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(each) == signal.SIG_IGN:  # `nohup make test &`
        # A program inherits an ignored signal. It does not inherit a handler, not even one that does nothing.
        signal.signal(each, lambda *_: None)

if "COVERAGE_PROCESS_CONFIG" in os.environ:  # `make coverage`
    known = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    saving = str(Path(__file__).parent / "coverage_hook")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, dict.fromkeys([saving, *known])))

CHOSEN = os.environ.get("LONNYMQ_TEST_POSTGRESQL")
Connect = Callable[..., psycopg.Connection]
# By a fixture that a test uses, or by the value of a parameter.
MARKS = {
    "debian_15": pytest.mark.pg15,
    "server_15": pytest.mark.pg15,
    "pg15": pytest.mark.pg15,
    "server_behind_pgbouncer": pytest.mark.pgbouncer,
}


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(items: list[pytest.Function]) -> None:
    for item in items:
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        used = {
            *item.fixturenames,
            *(each for each in parameters.values() if isinstance(each, str)),
        }
        for mark in (mark for fixture, mark in MARKS.items() if fixture in used):
            item.add_marker(mark)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if STRICT and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped where nothing may be: {report.longrepr}"
    return report


@pytest.fixture(scope="session")
def postgresql_18() -> Iterator[TemporaryServer]:
    with temporary(max_connections=300) as server:
        prepare_template(server.dsn)
        yield server


@pytest.fixture(scope="session")
def debian_15() -> Path:
    """The programs of Debian's PostgreSQL 15."""
    if not (DEBIAN_15 / "postgres").exists():
        missing("postgresql-15")
    return DEBIAN_15


@pytest.fixture(scope="session")
def postgresql_15(debian_15: Path) -> Iterator[TemporaryServer]:
    with temporary(debian_15, max_connections=300) as server:
        prepare_template(server.dsn)
        yield server


@pytest.fixture(scope="session")
def server_18(postgresql_18: TemporaryServer) -> Target:
    return Target("pg18", postgresql_18.dsn, postgresql_18.dsn)


@pytest.fixture(scope="session")
def server_15(postgresql_15: TemporaryServer) -> Target:
    return Target("pg15", postgresql_15.dsn, postgresql_15.dsn)


@pytest.fixture(scope="session")
def server_behind_pgbouncer(postgresql_18: TemporaryServer) -> Iterator[Target]:
    with pgbouncer(postgresql_18.dsn, postgresql_18.cluster.socket_folder) as dsn:
        yield Target("pgbouncer", dsn, postgresql_18.dsn)


@pytest.fixture(scope="session")
def server_of_chosen_version() -> Iterator[Target]:
    programs = Path("/usr/lib/postgresql") / str(CHOSEN) / "bin"
    if not (programs / "postgres").exists():
        missing(f"postgresql-{CHOSEN}")
    with temporary(programs, max_connections=300) as server:
        prepare_template(server.dsn)
        yield Target(f"pg{CHOSEN}", server.dsn, server.dsn)


SERVERS = {"pg18": "server_18", "pg15": "server_15", "pgbouncer": "server_behind_pgbouncer"}
if CHOSEN:
    SERVERS = {f"only-{CHOSEN}": "server_of_chosen_version"}


@pytest.fixture(scope="session", params=list(SERVERS.values()), ids=list(SERVERS))
def server(request: pytest.FixtureRequest) -> Target:
    target: Target = request.getfixturevalue(request.param)
    return target


@pytest.fixture
def database(server: Target) -> Iterator[tuple[str, str]]:
    with server.database() as both:
        yield both


@pytest.fixture
def dsn(database: tuple[str, str]) -> str:
    return database[0]


@pytest.fixture
def direct_dsn(database: tuple[str, str]) -> str:
    return database[1]


@pytest.fixture
def dsn_18(server_18: Target) -> Iterator[str]:
    with server_18.database() as (dsn, _):
        yield dsn


@pytest.fixture
def dsn_15(server_15: Target) -> Iterator[str]:
    with server_15.database() as (dsn, _):
        yield dsn


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Opens connections, `connect(dsn)`, autocommit unless told otherwise, that are closed after the test."""
    opened: list[psycopg.Connection] = []

    def open_one(dsn: str, *, autocommit: bool = True) -> psycopg.Connection:
        # Behind PgBouncer in transaction mode a prepared statement may be another session's.
        opened.append(psycopg.connect(dsn, autocommit=autocommit, prepare_threshold=None))
        return opened[-1]

    yield open_one
    for connection in opened:
        connection.close()


@pytest.fixture
def connection(connect: Connect, dsn: str) -> psycopg.Connection:
    return connect(dsn)
