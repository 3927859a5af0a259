"""TLS to the server, verified in full, through the library, the worker and the command line."""

from pathlib import Path

import psycopg
import pytest
import trustme

import lonnymq
from acceptance.security.secure_server import PASSWORD, SecureServer
from acceptance.worker.programs import program
from commands import process, run
from support import eventually

SESSIONS = """
select a.application_name, s.ssl from pg_stat_ssl s join pg_stat_activity a using (pid) where a.usename = 'app'
"""


def sessions(fort: SecureServer) -> list[tuple[str, bool]]:
    with psycopg.connect(fort.root) as connection:
        return connection.execute(SESSIONS).fetchall()


def test_a_queue_works_over_tls(fort: SecureServer) -> None:
    with lonnymq.Queue(fort.dsn()) as queue:
        queue.create("by queue", b"x")
        [message] = queue.dequeue()
        assert message.complete() == "completed"
        assert {ssl for _, ssl in sessions(fort)} == {True}


async def test_an_async_queue_works_over_tls(fort: SecureServer) -> None:
    async with lonnymq.AsyncQueue(fort.dsn()) as queue:
        await queue.create("by async queue", b"x")
        [message] = await queue.dequeue()
        assert await message.complete() == "completed"
        assert {ssl for _, ssl in sessions(fort)} == {True}


def test_every_connection_of_a_worker_is_encrypted(fort: SecureServer, tmp_path: Path) -> None:
    with lonnymq.Queue(fort.dsn()) as queue, program(fort.dsn(), tmp_path) as worker:
        queue.create("acme", b"x", kind="short")
        worker.noted("short")
        of_worker = eventually(lambda: [each for each in sessions(fort) if "worker" in each[0]])
        assert {ssl for _, ssl in of_worker} == {True}
        worker.tell()
        assert worker.ends() == 0


def test_the_command_line_works_over_tls(fort: SecureServer) -> None:
    assert process("status", dsn=fort.dsn()).code == 0
    assert run("message", "create", "over tls", "hello", dsn=fort.dsn()).code == 0
    assert run("message", "purge", "over tls", "--yes", dsn=fort.dsn()).code == 0


@pytest.fixture
def rejected(fort: SecureServer, tmp_path: Path) -> dict[str, str]:
    other = tmp_path / "other.pem"
    trustme.CA().cert_pem.write_to_path(other)
    return {
        "another authority": fort.dsn(sslrootcert=str(other)),
        "another name": fort.dsn(host="127.0.0.1"),
        "no TLS": fort.dsn(sslmode="disable"),
    }


@pytest.mark.parametrize("why", ["another authority", "another name", "no TLS"])
def test_who_cannot_be_sure_of_the_server_does_not_go_on(
    rejected: dict[str, str], why: str, tmp_path: Path
) -> None:
    with pytest.raises(psycopg.OperationalError), lonnymq.Queue(rejected[why]) as queue:
        queue.create("acme", b"x")
    text = run("status", dsn=rejected[why])
    assert text.code == 3
    assert text.err.startswith("lonnymq: Cannot connect to the server: ")
    assert "canary" not in text.err
    assert PASSWORD not in text.err


def test_a_worker_that_cannot_be_sure_of_the_server_says_so_and_tries_on(
    rejected: dict[str, str], tmp_path: Path
) -> None:
    with program(rejected["another authority"], tmp_path) as worker:
        worker.logged("certificate verify failed")
        worker.tell()
        assert worker.ends() == 0
        assert "canary" not in worker.errors.read_text()
