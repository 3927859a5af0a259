"""A disk that is full: the caller is told, nothing is half done, and once there is room all goes on unrepaired.

Needs root, for a file system of its own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from faults.environment import Environment
from faults.load import create_messages
from faults.proxy import proxy
from faults.run import Run, running_processes
from lonnymq.embedded_postgres import TemporaryServer
from lonnymq.embedded_postgres.cluster import Cluster, embedded_binaries

SIZES = {
    "test": {"small": 110, "large": 300, "padding": 20_000},
    "ci": {"small": 150, "large": 600, "padding": 20_000},
    "soak": {"small": 600, "large": 2_000, "padding": 20_000},
}
SMALL_SETTINGS: dict[str, str | int | bool] = {
    "max_connections": 60, "wal_level": "minimal", "max_wal_senders": 0, "min_wal_size": "32MB", "max_wal_size": "48MB",
    "shared_buffers": "16MB", "fsync": False, "autovacuum_naptime": "5s",
}  # fmt: skip


def run_scenario(run: Run) -> None:
    """The data's disk full while workers run; then, the log's disk full, which stops the server."""
    if os.geteuid() != 0:
        run.result.figures["left out"] = "only root may make a file system"
        return
    for what, has_log in (("data", False), ("data and log", True)):
        with (
            small_disk(run, has_log=has_log) as (server, place),
            running_processes(run) as processes,
        ):
            processes.start("worker", dsn=server.dsn, lease_ms=2000, concurrency=10)
            run.call_log.write(fault="disk filling", crash="begin")
            text = fill(run, server, what)
            run.count_fault(f"disk full: {what}")
            run.result.figures[f"told when the disk of {what} was full"] = text
            remount(place, run.large)
            eventually_up(run, server)
            for number in range(20):
                create_messages(
                    server.queue,
                    run.call_log,
                    ["after"] * 10,
                    kind="quick",
                    prefix=f"after-{has_log}-{number}",
                )
            processes.restart_ended()
            run.wait_until(
                server.is_drained,
                seconds=120, what="everything drains",
            )  # fmt: skip
            processes.terminate()
            run.check_result(server)
            for old in (run.folder / "calls").glob("*.jsonl"):
                if old.name != "harness.jsonl":
                    old.rename(old.with_suffix(f".{has_log}"))
            (run.folder / "calls" / "harness.jsonl").write_text("")
        run.processes.members.clear()


def fill(run: Run, server: Environment, what: str) -> str:
    """Create until the caller is told that there is no room; what he was told."""
    for number in range(100_000):
        # Scheduled for later, so that they stay; the worker has others to do meanwhile.
        try:
            create_messages(
                server.queue, run.call_log, ["full"] * 20, kind="quick", prefix=f"full-{len(what)}-{number}",
                padding=run.padding, delay_ms=1 if number % 4 == 0 else 8_000,
            )  # fmt: skip
        except psycopg.Error as error:
            return f"{type(error).__name__} {error.sqlstate or ''}".strip()
    run.add_violation("disk", "nobody was told that the disk is full")
    return "nothing"


def eventually_up(run: Run, server: Environment) -> None:
    """A server whose log found no room has stopped: it is started again, as its supervisor would."""

    def look() -> bool:
        try:
            return bool(server.values("select true"))
        except psycopg.Error:
            server.call_log.write(fault="started", crash="end")
            server.server.stop("immediate")
            server.server.start()
            return False

    began = time.monotonic()
    run.wait_until(look, seconds=60, what="the server is back")
    run.record_recovery(time.monotonic() - began)


def remount(place: Path, mebibytes: int) -> None:
    """Give a file system more room."""
    subprocess.run(["mount", "-o", f"remount,size={mebibytes}m", str(place)], check=True)


@contextmanager
def small_disk(run: Run, *, has_log: bool) -> Iterator[tuple[Environment, Path]]:
    """A server on a file system with little room, its log there or elsewhere."""
    place = Path(tempfile.mkdtemp(prefix="lonnymq-disk-"))
    place.chmod(0o711)
    log = Path(tempfile.mkdtemp(prefix="lonnymq-log-"))
    size = f"size={run.large}m"
    subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(place)], check=True)
    try:
        folder = place / "server"
        cluster = Cluster(folder, embedded_binaries(), SMALL_SETTINGS)
        cluster.create(durable=False)
        if not has_log:
            shutil.move(cluster.data / "pg_wal", log / "pg_wal")
            for path in (log, *log.rglob("*")):
                os.chown(path, cluster.account.user, cluster.account.group)
            (cluster.data / "pg_wal").symlink_to(log / "pg_wal")
        with TemporaryServer(cluster) as server, proxy(cluster.socket_folder) as through:
            made = Environment(server, through, run.call_log)
            made.queue.install()
            with made.connect() as connection:
                connection.execute("create table bill (message bigint not null)")
            remount(place, run.small)
            yield made, place
            made.queue.close()
    finally:
        subprocess.run(["umount", "-l", str(place)], check=False)
        place.rmdir()
        shutil.rmtree(log, ignore_errors=True)
