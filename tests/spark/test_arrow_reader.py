import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from lonnymq.spark.read import arrow_reader
from lonnymq.spark.read.arrow_reader import ArrowConnection, Error
from support import eventually

WHO = "select pg_backend_pid()"
THERE = "select from pg_stat_activity where pid = %s"
CONNECTED = "select count(*) from pg_stat_activity where application_name = 'rejected'"


def test_a_connection_whose_transaction_cannot_begin_is_closed(
    dsn_18: str, connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection: psycopg.Connection = connect(dsn_18)
    monkeypatch.setattr(arrow_reader, "REPEATABLE_READ", "set nonsense")
    address = make_conninfo(dsn_18, application_name="rejected")
    with pytest.raises(Error) as caught, arrow_reader.read_transaction(address):
        pass
    assert caught.value is not None  # which keeps everything alive that the caller had
    eventually(lambda: connection.execute(CONNECTED).fetchone() == (0,))


def end(connection: ArrowConnection, watcher: psycopg.Connection) -> int:
    """End a connection from elsewhere; the process of the server's that it had."""
    ended = connection.execute(WHO).read_all().column(0)[0].as_py()
    connection.clear()
    watcher.execute("select pg_terminate_backend(%s)", (ended,))
    eventually(lambda: watcher.execute(THERE, (ended,)).fetchone() is None)
    return ended


def test_a_kept_connection_that_the_server_has_ended_is_replaced(
    dsn_18: str, connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        arrow_reader, "idle_connections", {dsn_18: arrow_reader.open_arrow_connection(dsn_18)}
    )
    ended = end(arrow_reader.idle_connections[dsn_18], connect(dsn_18))
    with arrow_reader.read_transaction(dsn_18) as connection:
        assert connection.execute(WHO).read_all().column(0)[0].as_py() != ended


def test_a_connection_that_ends_after_its_rows_is_told_of_and_ends_no_process(
    dsn_18: str, connect
) -> None:
    with (
        pytest.raises(Error, match="terminating connection"),
        arrow_reader.read_transaction(dsn_18) as one,
    ):
        end(one, connect(dsn_18))
