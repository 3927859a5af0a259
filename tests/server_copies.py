"""Copies of a server's data as operators make them: dumps, standbys that are promoted, backups, upgrades."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from lonnymq.embedded_postgres import TemporaryServer, temporary
from lonnymq.embedded_postgres.cluster import Cluster, embedded_binaries, make_private
from support import eventually

SPEND = """
do $$ begin
  for i in 1 .. {count} loop
    perform pg_current_xact_id();
    commit;
  end loop;
end $$
"""


def spend_ids(dsn: str, count: int) -> None:
    """Use up transaction ids, so that one cluster's are higher than another's."""
    run(dsn, SPEND.format(count=count))


def run(dsn: str, statement: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


def dump(dsn: str, *options: str) -> bytes:
    """The database as pg_dump writes it."""
    command = [str(embedded_binaries() / "pg_dump"), "--no-owner", *options, dsn]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout


def restore(dumped: bytes, dsn: str) -> None:
    """Bring a dump into an empty database."""
    command = [
        str(embedded_binaries() / "psql"),
        "-q",
        "-X",
        "-v",
        "ON_ERROR_STOP=1",
        "-o",
        os.devnull,
        dsn,
    ]
    subprocess.run(command, check=True, input=dumped)


@contextmanager
def base_backup(source: TemporaryServer, *options: str) -> Iterator[Cluster]:
    """A copy of a running server's files, not started yet."""
    home = source.cluster
    folder = Path(tempfile.mkdtemp(prefix="lonnymq-copy-", dir=home.folder.parent)).resolve()
    if os.geteuid() == 0:
        folder.chmod(0o711)
    cluster = Cluster(folder, home.bin_dir, {"fsync": False})
    make_private(cluster.data, cluster.account)
    command = [
        str(home.bin_dir / "pg_basebackup"), "-D", str(cluster.data), "-c", "fast", *options,
        "-d", f"host={home.socket_folder} port=5432 user=postgres",
    ]  # fmt: skip
    done = cluster.account.run(command, cwd=cluster.data, stdout=subprocess.DEVNULL)
    assert done.returncode == 0
    yield cluster


@contextmanager
def standby(primary: TemporaryServer) -> Iterator[TemporaryServer]:
    """A streaming standby."""
    with base_backup(primary, "-R", "-X", "stream") as cluster, TemporaryServer(cluster) as server:
        caught_up(primary, server)
        yield server


def caught_up(primary: TemporaryServer, server: TemporaryServer) -> None:
    """Wait until a standby has all that its primary has."""
    [(until,)] = run(primary.dsn, "select pg_current_wal_insert_lsn()")
    look = f"select pg_last_wal_replay_lsn() >= '{until}'::pg_lsn"
    eventually(lambda: run(server.dsn, look) == [(True,)])


def cut_off(server: TemporaryServer) -> None:
    """Let a standby hear nothing more of its primary."""
    run(server.dsn, "alter system set primary_conninfo = ''")
    run(server.dsn, "select pg_reload_conf()")
    eventually(lambda: run(server.dsn, "select count(*) from pg_stat_wal_receiver") == [(0,)])


def promote(server: TemporaryServer) -> None:
    """Make a standby the primary."""
    run(server.dsn, "select pg_promote()")
    eventually(lambda: run(server.dsn, "select pg_is_in_recovery()") == [(False,)])


@contextmanager
def archiving() -> Iterator[tuple[TemporaryServer, Path]]:
    """A server that archives its WAL, and where to."""
    with tempfile.TemporaryDirectory(prefix="lonnymq-archive-") as name:
        folder = Path(name)
        folder.chmod(0o777)
        with temporary(archive_mode=True, archive_command=f"cp %p {folder}/%f") as server:
            yield server, folder


@contextmanager
def restored_to(
    source: TemporaryServer, cluster: Cluster, archive: Path, point: str
) -> Iterator[TemporaryServer]:
    """A backup, recovered from the archive up to a restore point of that name."""
    [(last,)] = run(source.dsn, "select pg_walfile_name(pg_current_wal_lsn())")
    run(source.dsn, "select pg_switch_wal()")
    eventually((archive / last).exists)
    (cluster.data / "recovery.signal").touch()
    cluster.settings = {
        "fsync": False, "restore_command": f"cp {archive}/%f %p", "recovery_target_name": point,
        "recovery_target_action": "promote",
    }  # fmt: skip
    with TemporaryServer(cluster) as server:
        eventually(lambda: run(server.dsn, "select pg_is_in_recovery()") == [(False,)])
        yield server


@contextmanager
def upgraded(old: TemporaryServer) -> Iterator[TemporaryServer]:
    """The data of a stopped server of an earlier version, after pg_upgrade to PostgreSQL 18."""
    programs = embedded_binaries()
    folder = Path(
        tempfile.mkdtemp(prefix="lonnymq-upgraded-", dir=old.cluster.folder.parent)
    ).resolve()
    if os.geteuid() == 0:
        folder.chmod(0o711)
    cluster = Cluster(folder, programs, {"fsync": False})
    make_private(cluster.data, cluster.account)
    initdb = ["-U", "postgres", "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync"]
    command = cluster.command(cluster.data, "initdb", *initdb, "--no-data-checksums")
    assert cluster.account.run(command, cwd=cluster.data, stdout=subprocess.DEVNULL).returncode == 0
    work = folder / "upgrade"
    make_private(work, cluster.account)
    command = [
        str(programs / "pg_upgrade"), "-b", str(old.cluster.bin_dir), "-B", str(programs),
        "-d", str(old.cluster.data), "-D", str(cluster.data), "-U", "postgres", "-s", str(work), "--no-sync",
    ]  # fmt: skip
    done = cluster.account.run(command, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, (done.stdout or b"").decode()[-2000:]
    with TemporaryServer(cluster) as server:
        yield server
