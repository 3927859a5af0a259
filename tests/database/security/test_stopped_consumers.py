"""Where a queue has roles, a consumer that stops to read in mid-dequeue is ended if the owner was given the right."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from database.security.logins import Login
from lonnymq import NewMessage, Queue
from lonnymq.doctor import Problem, run_checks
from support import eventually

MEBIBYTE = 1 << 20
WAITS = "select count(*) from pg_stat_activity where pid = %s and wait_event = 'ClientWrite'"
# As the sweep does, which runs with the owner's rights, but without its patience of 15 seconds.
END = "select lonnymq.consumer_terminate_stuck('0 seconds')"


@pytest.fixture
def owner(root: psycopg.Connection, guarded: str) -> Iterator[psycopg.Connection]:
    """Somebody with the owner's rights, and what is given to the owner in a test is taken back."""
    with psycopg.connect(guarded, autocommit=True) as connection:
        connection.execute("set role lonnymq_owner")
        yield connection
    root.execute("revoke pg_signal_backend, pg_read_all_stats, a_consumer from lonnymq_owner")


@contextmanager
def stopping(root: psycopg.Connection, dsn: str) -> Iterator[None]:
    """A consumer that has asked for four mebibytes and reads none of them."""
    with Queue(root) as queue:
        queue.create_many([NewMessage(os.urandom(MEBIBYTE), f"big-{each}") for each in range(4)])
    connection = psycopg.connect(dsn, autocommit=True)
    try:
        connection.pgconn.send_query(b"select * from lonnymq.message_dequeue(10)")
        pid = connection.info.backend_pid
        eventually(lambda: root.execute(WAITS, (pid,)).fetchone() == (1,))
        yield
    finally:
        connection.close()


@pytest.fixture
def stopped(root: psycopg.Connection, login: Login) -> Iterator[None]:
    with stopping(root, login("a_consumer")):
        yield


def found(dsn: str) -> list[Problem]:
    problems = run_checks(dsn, quick=True).problems
    return [each for each in problems if each.check == "stopped consumers"]


@pytest.mark.usefixtures("stopped")
def test_without_the_right_nobody_is_ended_and_the_doctor_says_what_to_grant(
    owner: psycopg.Connection,
    root: psycopg.Connection,
    guarded: str,
    login: Login,
) -> None:
    assert owner.execute(END).fetchone() == (0,)
    for half in ("pg_signal_backend", "pg_read_all_stats"):
        root.execute(f"grant {half} to lonnymq_owner".encode())
        assert owner.execute(END).fetchone() == (0,)
        (problem,) = found(guarded)
        root.execute(f"revoke {half} from lonnymq_owner".encode())
    assert problem.level == "note"
    assert "a_consumer" in problem.message
    assert problem.fix is not None
    assert [each.fix for each in found(login("a_viewer"))] == [problem.fix]
    root.execute(problem.fix.encode())
    assert owner.execute(END).fetchone() == (1,)
    assert found(guarded) == []
    with Queue(root) as queue:
        assert len(eventually(lambda: queue.dequeue(limit=10))) == 4
        assert queue.check() == []


@pytest.mark.usefixtures("stopped")
def test_the_logins_own_roles_are_right_enough(
    owner: psycopg.Connection,
    root: psycopg.Connection,
    guarded: str,
) -> None:
    root.execute("grant a_consumer to lonnymq_owner")
    assert owner.execute(END).fetchone() == (1,)
    assert all("a_consumer" not in each.message for each in found(guarded))


def test_a_superuser_s_session_is_let_be(
    owner: psycopg.Connection, root: psycopg.Connection, guarded: str
) -> None:
    root.execute("grant pg_signal_backend, pg_read_all_stats to lonnymq_owner")
    with stopping(root, guarded):
        assert owner.execute(END).fetchone() == (0,)
