"""How long a snapshot is held for the tasks of a read."""

import os
import subprocess
import sys
import threading

import psycopg
import pytest

from lonnymq.errors import Unreachable
from lonnymq.spark.read.snapshot_holder import (
    is_alive,
    start_snapshot_holder,
    wait_for_readers,
)
from support import eventually


def ended_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_it_is_held_as_long_as_a_task_reads(connect, dsn_18: str) -> None:
    holder, watcher = connect(dsn_18), connect(dsn_18)
    reader = psycopg.connect(dsn_18, application_name="a task")
    given = {"watched": os.getpid(), "timeout_ms": 100, "name": "a task"}
    holding = threading.Thread(target=wait_for_readers, args=(holder, given))
    holding.start()
    asked = "select query like '%%count(*)%%' from pg_stat_activity where pid = %s"
    eventually(lambda: watcher.execute(asked, (holder.info.backend_pid,)).fetchone() == (True,))
    assert holding.is_alive()
    reader.close()
    holding.join(60)
    assert not holding.is_alive()


def test_it_is_not_held_for_a_spark_that_has_ended(connect, dsn_18: str) -> None:
    watched = ended_process()
    assert (is_alive(os.getpid()), is_alive(1), is_alive(watched)) == (True, True, False)
    wait_for_readers(connect(dsn_18), {"watched": watched, "timeout_ms": 600_000, "name": "none"})


def test_a_database_that_gives_none_is_an_error() -> None:
    with pytest.raises(Unreachable, match="gave no snapshot"):
        start_snapshot_holder("postgresql://127.0.0.1:1/x", name="n", timeout_ms=1)
