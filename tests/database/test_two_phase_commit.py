"""PREPARE TRANSACTION: what docs/guides/plain-sql.md says of it is what PostgreSQL does."""

from collections.abc import Iterator

import psycopg
import pytest

import lonnymq
from lonnymq.embedded_postgres import temporary


@pytest.fixture(scope="module")
def preparing_dsn() -> Iterator[str]:
    """A server that allows prepared transactions."""
    with temporary(max_prepared_transactions=5) as server:
        with lonnymq.Queue(server.dsn) as queue:
            queue.install()
        yield server.dsn


def test_a_create_into_an_idle_channel_cannot_be_prepared(preparing_dsn: str) -> None:
    with psycopg.connect(preparing_dsn) as connection:
        connection.execute("select lonnymq.message_create('idle', 'x')")
        with pytest.raises(psycopg.errors.FeatureNotSupported) as rejection:
            connection.execute("prepare transaction 'create'")
    assert rejection.value.sqlstate == "0A000"
    assert rejection.value.diag.message_primary == (
        "cannot PREPARE a transaction that has executed LISTEN, UNLISTEN, or NOTIFY"
    )


def test_a_completion_is_committed_with_a_prepared_transaction(preparing_dsn: str) -> None:
    with lonnymq.Queue(preparing_dsn) as queue:
        queue.channel("acme").create(b"x")
        [message] = queue.dequeue()
        with psycopg.connect(preparing_dsn, autocommit=True) as connection:
            connection.execute("begin")
            call = "select lonnymq.message_complete(%s::bigint, %s::uuid)"
            assert connection.execute(call, (message.id, message.token)).fetchone() == (
                "completed",
            )
            connection.execute("prepare transaction 'complete'")
            assert queue.heartbeat(message) == "settling"
            connection.execute("commit prepared 'complete'")
        assert queue.heartbeat(message) == "not_found"
        assert queue.check() == []
