"""Holds a snapshot open for the tasks of a read, in a process of its own that ends when no task needs it.

    python -m lonnymq.spark.read.snapshot_holder < address, name, milliseconds, process id, as JSON

The process prints the name of the snapshot and then holds the transaction open. Spark may end the process that plans a
read at any time, and a snapshot ends with the transaction that exported it: hence a separate process. It ends when no
task has read for a while, or when Spark has ended. Tasks are recognised by their application_name.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

from psycopg import Connection, Error, connect
from psycopg.conninfo import make_conninfo

from lonnymq.errors import Unreachable

POLL_SECONDS = 0.5
COUNT_READERS = """
    select count(*) from (select pg_stat_clear_snapshot()) c, pg_stat_activity a
    where a.application_name = %s and a.pid <> pg_backend_pid()
"""


def start_snapshot_holder(address: str, *, name: str, timeout_ms: int) -> str:
    """Start a holder on the driver, and return the name of its snapshot. Tasks connect with this application name."""
    given = {"address": address, "name": name, "timeout_ms": timeout_ms, "watched": os.getppid()}
    process = subprocess.Popen(
        [sys.executable, "-m", "lonnymq.spark.read.snapshot_holder"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Spark ends its Python workers as a group
        text=True,
    )
    # The process started here forks and ends at once; its child prints the name and stays.
    snapshot = process.communicate(json.dumps(given))[0].strip()
    if not snapshot:
        raise Unreachable(
            "the database gave no snapshot for the read: look for the reason in the log of PostgreSQL"
        )
    return snapshot


def hold_snapshot(given: dict[str, Any]) -> None:
    """Export a snapshot, print its name, and hold the snapshot while tasks need it."""
    address = make_conninfo(given["address"], application_name=f"{given['name']} snapshot")
    with connect(address, prepare_threshold=None) as connection:
        connection.execute("set transaction isolation level repeatable read, read only")
        row = connection.execute("select pg_export_snapshot()").fetchone()
        os.write(1, f"{row[0] if row else ''}\n".encode())
        os.close(1)  # the starter reads to the end
        wait_for_readers(connection, given)


def wait_for_readers(connection: Connection[Any], given: dict[str, Any]) -> None:
    """Wait until no task has read for the timeout, or Spark has ended."""
    last = time.monotonic()
    while is_alive(given["watched"]) and time.monotonic() - last < given["timeout_ms"] / 1000:
        time.sleep(POLL_SECONDS)
        row = connection.execute(COUNT_READERS, (given["name"],)).fetchone()
        if row and row[0]:
            last = time.monotonic()


def is_alive(process: int) -> bool:
    """Whether a process exists."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


if __name__ == "__main__":
    received = json.load(sys.stdin)
    if os.fork():
        os._exit(0)
    try:
        hold_snapshot(received)
    except Error as error:
        sys.exit(str(error))
