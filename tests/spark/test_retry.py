"""What is waited for while a database is away, and what is not."""

from __future__ import annotations

import pytest
from psycopg import OperationalError
from psycopg.errors import AdminShutdown, DiskFull, QueryCanceled

from lonnymq.embedded_postgres import temporary
from lonnymq.errors import Unreachable
from lonnymq.spark import retry
from lonnymq.spark.connection import open_connection
from lonnymq.spark.options import Options, read_options
from lonnymq.spark.retry import open_connection_with_retries, run_with_retries, wait_until_reachable


def asleep(*_: object) -> None:
    raise AssertionError("nobody should have waited")


@pytest.mark.parametrize("trouble", [AdminShutdown, Unreachable, OperationalError])
def test_work_that_an_outage_broke_off_is_done_again(trouble: type[Exception]) -> None:
    troubles = [trouble("away"), trouble("away")]

    def work() -> str:
        if troubles:
            raise troubles.pop()
        return "done"

    assert run_with_retries(work) == "done"


@pytest.mark.parametrize("verdict", [DiskFull, QueryCanceled, ValueError])
def test_what_the_server_says_of_the_work_is_not_waited_for(
    verdict: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry, "sleep", asleep)

    def work() -> None:
        raise verdict("no")

    with pytest.raises(verdict):
        run_with_retries(work)


def test_an_outage_that_does_not_end_is_told_of() -> None:
    def work() -> None:
        raise Unreachable("away")

    with pytest.raises(Unreachable, match="away"):
        run_with_retries(work, seconds=0)


def options(dsn: str) -> Options:
    return read_options({"url": dsn}, "stream write")


def test_a_server_that_refuses_somebody_is_not_waited_for(
    dsn_18: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry, "sleep", asleep)
    wait_until_reachable(options(dsn_18.replace("test_", "no_such_")))


def test_a_server_that_is_not_there_is_waited_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "FIRST_RETRY_SECONDS", 0.2)
    with temporary() as server:
        server.stop("fast")
        wait_until_reachable(options(server.dsn))
        with pytest.raises(Unreachable):
            open_connection(options(server.dsn))
        naps: list[float] = []

        def nap(seconds: float) -> None:
            naps.append(seconds)
            if len(naps) == 2:
                server.start()

        monkeypatch.setattr(retry, "sleep", nap)
        with open_connection_with_retries(options(server.dsn)) as connection:
            assert connection.execute("select 1").fetchone() == (1,)
        assert len(naps) >= 2
