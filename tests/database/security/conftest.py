"""A queue with roles, and a login for each of them."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from database.security.logins import ROLES, Login
from lonnymq import install
from lonnymq.embedded_postgres import temporary
from lonnymq.embedded_postgres.cluster import embedded_binaries
from lonnymq.testing import run, with_database
from support import DEBIAN_15, missing

TEMPLATE = "with_roles"


def programs(version: str) -> Path:
    if version == "pg18":
        return embedded_binaries()
    if not (DEBIAN_15 / "postgres").exists():
        missing("postgresql-15")
    return DEBIAN_15


@pytest.fixture(scope="session")
def fortress(request: pytest.FixtureRequest) -> Iterator[str]:
    """The DSN of a server of its own, for roles are a server's and not a database's; 18 unless told otherwise."""
    with temporary(programs(getattr(request, "param", "pg18"))) as server:
        run(server.dsn, f"create database {TEMPLATE}")
        install(with_database(server.dsn, TEMPLATE), roles=True)
        for role in ROLES:
            run(server.dsn, f"create role a_{role} login; grant lonnymq_{role} to a_{role}")
        run(server.dsn, "create role stranger login")
        yield server.dsn


@pytest.fixture
def guarded(fortress: str) -> Iterator[str]:
    """The superuser's DSN of a fresh database whose queue has roles."""
    run(fortress, f"create database guarded template {TEMPLATE} strategy file_copy")
    yield with_database(fortress, "guarded")
    run(fortress, "drop database guarded with (force)")


@pytest.fixture
def login(guarded: str) -> Login:
    """`login(name)`: the DSN of that database for a login of this name."""
    return lambda name: guarded.replace("postgres@", f"{name}@", 1)


@pytest.fixture
def root(guarded: str) -> Iterator[psycopg.Connection]:
    """A superuser's connection."""
    with psycopg.connect(guarded, autocommit=True) as connection:
        yield connection
