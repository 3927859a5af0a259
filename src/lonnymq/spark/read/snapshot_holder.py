"""Keeps a snapshot for the tasks of a read: a process of its own, which ends when nobody needs it.

    python -m lonnymq.spark.read.snapshot_holder < address, name, milliseconds, process id, as JSON

It prints the snapshot's name, and then holds the transaction open. The process that plans a read is one of Spark's,
which may end at any time; a snapshot ends with the transaction that exported it. So this one is started, and ends when
no task has been seen reading for so long, or when Spark has ended. Tasks are seen by their application_name.
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

LOOK = 0.5  # seconds between two looks for readers
READERS = """
    select count(*) from (select pg_stat_clear_snapshot()) c, pg_stat_activity a
    where a.application_name = %s and a.pid <> pg_backend_pid()
"""


def keep_snapshot(address: str, *, name: str, timeout_ms: int) -> str:
    """Start a keeper on the driver, and answer its snapshot's name. Readers connect as `name`."""
    told = {"address": address, "name": name, "timeout_ms": timeout_ms, "watched": os.getppid()}
    process = subprocess.Popen(
        [sys.executable, "-m", "lonnymq.spark.read.snapshot_holder"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Spark ends its Python workers as a group
        text=True,
    )
    # What is started here ends at once, and leaves behind a process of nobody's, which prints and stays.
    snapshot = process.communicate(json.dumps(told))[0].strip()
    if not snapshot:
        raise Unreachable("the snapshot for the read could not be taken: see the server's log")
    return snapshot


def keep(told: dict[str, Any]) -> None:
    """Export a snapshot, say its name, and hold it as long as it is needed."""
    address = make_conninfo(told["address"], application_name=f"{told['name']} keeper")
    with connect(address, prepare_threshold=None) as connection:
        connection.execute("set transaction isolation level repeatable read, read only")
        row = connection.execute("select pg_export_snapshot()").fetchone()
        os.write(1, f"{row[0] if row else ''}\n".encode())
        os.close(1)  # who started this reads to the end
        hold(connection, told)


def hold(connection: Connection[Any], told: dict[str, Any]) -> None:
    """Wait until no task has read for a while, or Spark has ended."""
    last = time.monotonic()
    while lives(told["watched"]) and time.monotonic() - last < told["timeout_ms"] / 1000:
        time.sleep(LOOK)
        row = connection.execute(READERS, (told["name"],)).fetchone()
        if row and row[0]:
            last = time.monotonic()


def lives(process: int) -> bool:
    """Whether a process is there."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


if __name__ == "__main__":
    given = json.load(sys.stdin)
    if os.fork():
        os._exit(0)
    try:
        keep(given)
    except Error as error:
        sys.exit(str(error))
