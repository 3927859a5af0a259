"""The commands of the runbooks are run as the pages show them, on real servers, and the queue goes on afterwards."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import lonnymq
from documents import ROOT, blocks_of, commands
from lonnymq.doctor import run_checks
from lonnymq.embedded_postgres import TemporaryServer, temporary
from lonnymq.embedded_postgres.cluster import Cluster, embedded_binaries, make_private
from lonnymq.embedded_postgres.server import memory_folder
from server_copies import caught_up, run
from support import eventually, first_quick

OPERATIONS = ROOT / "docs" / "guides" / "run-the-queue.md"
PUBLISHING = ROOT / "docs" / "guides" / "publish-changes.md"
SYNCHRONOUS = "select sync_state from pg_stat_replication"
OF_EVERY_USER = (
    "lonnymq",
    "psql",
    "pg_dump",
    "pg_restore",
    "vacuumdb",
)  # others are the server's user


def commands_of(page: Path, heading: str) -> list[list[str]]:
    """The commands of a section that only this file runs, by block."""
    [section] = [each for each in page.read_text().split("\n## ") if each.startswith(heading)]
    found = [commands(each) for each in blocks_of(section) if each.not_run]
    assert found
    return found


class Operator:
    """Runs commands of a page in a folder, with the variables of the page."""

    def __init__(self, server: TemporaryServer, folder: Path) -> None:
        self.account, self.folder = server.cluster.account, folder
        path = [Path(sys.executable).parent, embedded_binaries(), os.environ["PATH"]]
        self.variables = {
            **os.environ,
            "PATH": ":".join(map(str, path)),
            "BIN": str(embedded_binaries()),
            "OLD_BIN": str(server.cluster.bin_dir),
            "OLD_DATA": str(server.cluster.data),
            "OLD_DSN": server.dsn,
            "PYTHONPATH": str(ROOT / "src"),
        }

    def run(self, block: list[str], **variables: str) -> list[str]:
        """Run the commands of a block, and return what each prints."""
        self.variables |= variables
        return [self.execute(command) for command in block]

    def execute(self, command: str) -> str:
        words = ["/bin/sh", "-ec", command]
        if command.split()[0] in OF_EVERY_USER:
            done = subprocess.run(
                words, check=False, cwd=self.folder, env=self.variables, capture_output=True
            )
        else:
            work = self.folder / "server"
            make_private(work, self.account)
            done = self.account.run(words, cwd=work, env=self.variables, capture_output=True)
        assert done.returncode == 0, f"{command}: {done.stdout.decode()}{done.stderr.decode()}"
        return done.stdout.decode()


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that the user of a server can pass."""
    with tempfile.TemporaryDirectory(prefix="lonnymq-runbook-") as name:
        Path(name).chmod(0o711)
        yield Path(name)


@contextmanager
def new_cluster() -> Iterator[Cluster]:
    """An empty data folder for a server that is not started yet."""
    folder = Path(tempfile.mkdtemp(prefix="lonnymq-new-", dir=memory_folder())).resolve()
    folder.chmod(0o711)
    cluster = Cluster(folder, embedded_binaries(), {"fsync": False})
    make_private(cluster.data, cluster.account)
    try:
        yield cluster
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def working_server(**settings: Any) -> Iterator[TemporaryServer]:
    """A server with a queue that has a backlog, leases, limits and history."""
    with temporary(**settings) as server, lonnymq.Queue(server.dsn) as queue:
        queue.install()
        queue.channel("acme").set(max_concurrency=2)
        queue.create_many([b"done"] * 3, channel="bloom")
        queue.complete_many(list(queue.dequeue(3)))
        queue.create_many([b"x"] * 5, channel="acme")
        assert len(queue.dequeue(1, lease_ms=1)) == 1
        queue.maintain()
        yield server


def delivers(dsn: str, count: int) -> bool:
    """Whether a queue delivers so many messages, counts each once in its charts, and delivers new messages."""
    with lonnymq.Queue(dsn) as queue:
        delivered = 0
        run(dsn, "select lonnymq.sample_take(lonnymq.epoch() + 10000)")
        while delivered < count:
            for message in eventually(lambda: queue.dequeue(10)):
                assert message.complete() == "completed"
                delivered += 1
        for later in (20_000, 30_000):
            run(dsn, f"select lonnymq.sample_take(lonnymq.epoch() + {later})")
        assert run(dsn, "select completed from lonnymq.sample order by at desc limit 2") == [
            (0,),
            (count,),
        ]
        queue.create("new", b"x")
        assert [each.channel for each in queue.dequeue(10)] == ["new"]
        return queue.check() == []


def problems(dsn: str) -> set[str]:
    """The names of the checks that found more than a note; a server of a test does not wait for the disk."""
    found = {each.check for each in run_checks(dsn).problems if each.level != "note"}
    return found - {"durability"}


def run_with_doctor(operator: Operator, block: list[str], **variables: str) -> None:
    """Run a block. The doctor ends with 1, because the servers of tests have fsync off, and nothing else is wrong."""
    operator.run(
        [f"{each} || test $? = 1" if each.startswith("lonnymq doctor") else each for each in block],
        **variables,
    )


def test_dump_and_restore_on_a_server_without_the_roles(folder: Path) -> None:
    with working_server() as old, temporary() as new:
        lonnymq.install(old.dsn, roles=True)
        run(new.dsn, "create role billing login")
        first, second = commands_of(OPERATIONS, "Dump and restore")
        operator = Operator(old, folder)
        operator.run(first[:2], NEW_DSN=new.dsn)
        assert {"function owner"} <= problems(new.dsn)
        run_with_doctor(operator, [*first[2:], *second])
        assert problems(new.dsn) == set()
        theirs = new.dsn.replace("postgres@", "billing@", 1)
        with lonnymq.Queue(theirs) as queue:
            queue.create("acme", b"by a role")
        assert delivers(new.dsn, 6)


@pytest.mark.long
@pytest.mark.parametrize("privileges", first_quick("", "--no-privileges"))
def test_what_the_doctor_advises_after_a_restore_without_owners_works(
    folder: Path, privileges: str
) -> None:
    with working_server() as server:
        lonnymq.install(server.dsn, roles=True)
        run(server.dsn, "create role billing login; grant lonnymq_producer to billing")
        run(server.dsn, "create database restored")
        restored = server.dsn.replace("/postgres?", "/restored?")
        operator = Operator(server, folder)
        dump = 'pg_dump --format custom --file queue.dump "$OLD_DSN"'
        restore = (
            f'pg_restore --no-owner {privileges} --exit-on-error --dbname "$NEW_DSN" queue.dump'
        )
        operator.run([dump, restore], NEW_DSN=restored)
        found = [each for each in run_checks(restored).problems if each.check == "function owner"]
        assert [each.level for each in found] == ["broken"]
        operator.run([f'{found[0].fix} --dsn "$NEW_DSN"'])
        assert problems(restored) == set()
        with lonnymq.Queue(restored.replace("postgres@", "billing@", 1)) as queue:
            queue.create("acme", b"by a role")
        assert delivers(restored, 6)


@pytest.mark.long
def test_point_in_time_recovery_ends_at_the_time(folder: Path) -> None:
    archive = folder / "archive"
    archive.mkdir()
    archive.chmod(0o777)
    with (
        working_server(archive_mode=True, archive_command=f"cp %p {archive}/%f") as old,
        new_cluster() as cluster,
        lonnymq.Queue(old.dsn) as queue,
    ):
        backup, recovery = commands_of(OPERATIONS, "Point-in-time recovery")
        operator = Operator(old, folder)
        operator.run(backup, DATA=str(cluster.data), ARCHIVE=str(archive))
        queue.create("kept", b"x")
        [(moment,)] = run(old.dsn, "select clock_timestamp()::text")
        queue.create("lost", b"x")
        [(last,)] = run(old.dsn, "select pg_walfile_name(pg_current_wal_lsn())")
        run(old.dsn, "select pg_switch_wal()")
        eventually((archive / last).exists)
        operator.run(recovery, TARGET_TIME=moment)
        with TemporaryServer(cluster) as new:
            eventually(lambda: run(new.dsn, "select pg_is_in_recovery()") == [(False,)])
            channels = {row[0] for row in run(new.dsn, "select channel from lonnymq.message")}
            assert channels == {"acme", "kept"}
            assert problems(new.dsn) == set()
            assert delivers(new.dsn, 6)


@pytest.mark.long
@pytest.mark.parametrize("is_synchronous", [False, True])
def test_a_standby_that_is_promoted_goes_on(folder: Path, is_synchronous: bool) -> None:
    with working_server() as old, new_cluster() as cluster:
        copy, wait, promote = commands_of(OPERATIONS, "Promote a standby")
        operator = Operator(old, folder)
        operator.run(copy, DATA=str(cluster.data))
        with TemporaryServer(cluster) as new:
            caught_up(old, new)
            if is_synchronous:
                operator.run(wait)
                eventually(lambda: run(old.dsn, SYNCHRONOUS) == [("sync",)])
                with lonnymq.Queue(old.dsn) as queue:
                    queue.create_many([b"acknowledged"] * 20, channel="late")
            assert "standby" in problems(new.dsn)
            old.stop("immediate")
            run_with_doctor(operator, promote, NEW_DSN=new.dsn)
            assert problems(new.dsn) == set()
            assert delivers(new.dsn, 25 if is_synchronous else 5)


@pytest.mark.long
def test_pg_upgrade_keeps_the_queue(folder: Path) -> None:
    with working_server() as old, new_cluster() as cluster:
        upgrade, after = commands_of(OPERATIONS, "Upgrade PostgreSQL")
        operator = Operator(old, folder)
        old.stop()
        operator.run(
            upgrade,
            DATA=str(cluster.data),
            INITDB_OPTIONS="--encoding UTF8 --no-locale --data-checksums",
        )
        with TemporaryServer(cluster) as new:
            run_with_doctor(operator, after, NEW_DSN=new.dsn)
            assert problems(new.dsn) == set()
            assert delivers(new.dsn, 5)


@pytest.mark.long
def test_a_queue_moves_to_another_server(folder: Path) -> None:
    with working_server() as old, temporary() as new:
        run(old.dsn, "create table public.mine (id integer)")
        [block] = commands_of(OPERATIONS, "Move the queue")
        run_with_doctor(Operator(old, folder), block, NEW_DSN=new.dsn)
        assert run(old.dsn, "select to_regnamespace('lonnymq'), count(*) from public.mine") == [
            (None, 0)
        ]
        assert problems(new.dsn) == set()
        assert delivers(new.dsn, 5)


def test_a_queue_on_a_managed_server_needs_no_superuser(folder: Path) -> None:
    with temporary() as server:
        run(server.dsn, "create role provider_admin login createrole; create role billing login")
        run(server.dsn, "create database app owner provider_admin")
        admin = server.dsn.replace("/postgres?", "/app?").replace("postgres@", "provider_admin@", 1)
        owner = admin.replace("provider_admin@", "queue_owner@", 1)
        [block] = commands_of(OPERATIONS, "Managed PostgreSQL")
        run_with_doctor(Operator(server, folder), block, ADMIN_DSN=admin, QUEUE_DSN=owner)
        assert problems(owner) == set()
        with lonnymq.Queue(admin.replace("provider_admin@", "billing@", 1)) as queue:
            queue.create("acme", b"x")
        assert delivers(owner, 1)


@pytest.mark.long
def test_a_queue_is_copied_by_logical_replication_while_it_works(folder: Path) -> None:
    with working_server(wal_level="logical") as old, temporary() as new:
        operator = Operator(old, folder)
        copy, wait, lag, switch = commands_of(PUBLISHING, "Copy the queue")
        address = f"host={old.cluster.socket_folder} port=5432 user=postgres dbname=postgres"
        operator.run(copy, NEW_DSN=new.dsn, OLD_CONNECTION=address)
        eventually(lambda: operator.run(wait)[0].strip() == "0")
        with lonnymq.Queue(old.dsn) as queue:
            queue.create_many([b"x"] * 20, channel="cedar")
            queue.complete_many(list(queue.dequeue(5)))
            queue.maintain()
            run(old.dsn, "select lonnymq.audit_add('somebody', 'set', 'acme', '{}', '{}')")
            [(left,)] = run(old.dsn, "select count(*) from lonnymq.message")
        eventually(lambda: operator.run(lag)[0].strip() == "0")
        run_with_doctor(operator, switch)
        assert problems(new.dsn) == set()
        run(new.dsn, "select lonnymq.audit_add('somebody', 'set', 'acme', '{}', '{}')")
        assert delivers(new.dsn, left)
