"""The one PostgreSQL 18 that all systems share: durable, on a real disk, each in a database of its own."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import psycopg

from lonnymq.embedded_postgres import TemporaryServer, temporary

# As PostgreSQL comes, fsync and synchronous_commit on, but for these: room for everybody's connections, and checkpoints
# where the benchmark asks for them, between two samples.
SETTINGS: dict[str, Any] = {
    "max_connections": 200,
    "max_wal_size": "16GB",
    "checkpoint_timeout": "60min",
    "fsync": True,
    "synchronous_commit": "on",
}


@contextmanager
def running_server() -> Iterator[TemporaryServer]:
    """Start the server on a disk and throw it away afterwards."""
    if on_memory(Path(tempfile.gettempdir())):
        tempfile.tempdir = str(Path.cwd())
    with temporary(on_disk=True, **SETTINGS) as server:
        yield server


def on_memory(folder: Path) -> bool:
    """Whether a folder lies in memory, where fsync costs nothing."""
    inside = [
        part for part in psutil.disk_partitions(all=True) if folder.is_relative_to(part.mountpoint)
    ]
    nearest = max(inside, key=lambda part: len(part.mountpoint), default=None)
    return nearest is not None and nearest.fstype in ("tmpfs", "ramfs")


def execute(dsn: str, *statements: str) -> None:
    """Run statements that must not be inside a transaction."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def create_database(server_dsn: str, name: str, *, template: str = "template0") -> str:
    """A new database and its DSN."""
    execute(server_dsn, f"create database {name} template {template} strategy file_copy")
    return urlsplit(server_dsn)._replace(path=f"/{name}").geturl()


def drop_database(server_dsn: str, name: str) -> None:
    execute(server_dsn, f"drop database if exists {name} with (force)")


def vacuum_database(dsn: str) -> None:
    """Between two samples: nobody pays for another's garbage or for another's unwritten pages."""
    execute(dsn, "vacuum (analyze)", "checkpoint")
