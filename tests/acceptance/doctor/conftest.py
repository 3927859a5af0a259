"""A server without problems, and a queue without problems, in which a test causes one."""

from collections.abc import Iterator

import pytest

from acceptance.doctor.findings import find_problems
from lonnymq.embedded_postgres import temporary
from support import Target, prepare_template


@pytest.fixture(scope="package")
def healthy_server() -> Iterator[Target]:
    """A server without problems."""
    with temporary(
        fsync=True, max_connections=20, max_prepared_transactions=5, max_notify_queue_pages=64
    ) as server:
        prepare_template(server.dsn)
        yield Target("healthy", server.dsn, server.dsn)


@pytest.fixture
def queue_dsn(healthy_server: Target) -> Iterator[str]:
    """A queue without problems, in which a test causes one."""
    with healthy_server.database() as (dsn, _):
        assert find_problems(dsn) == []
        yield dsn
