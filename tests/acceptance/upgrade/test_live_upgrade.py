"""The queue is upgraded while libraries of several versions produce and work: nothing fails and nothing is lost."""

import json
import os
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest
from faults.later_library import later_library

from lonnymq import Queue
from support import eventually

LOAD = Path(__file__).with_name("load.py")
INSTALL = "import sys, lonnymq; lonnymq.install(sys.argv[1])"
UPGRADES = 3


class Load:
    """A process that produces or works with one version of the library."""

    def __init__(self, what: str, dsn: str, folder: Path, library: Path | None) -> None:
        self.errors = folder / f"{what} {library.name if library else 'present'}"
        with self.errors.open("wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, LOAD, what, dsn],
                env=with_library(library),
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )

    def ends(self) -> dict[str, Any]:
        """Tell it to stop; what it says of itself."""
        self.process.send_signal(signal.SIGTERM)
        output, _ = self.process.communicate(timeout=120)
        assert self.process.returncode == 0, self.errors.read_text()
        return json.loads(output.splitlines()[-1])

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


def with_library(library: Path | None) -> dict[str, str]:
    return {**os.environ, **({"PYTHONPATH": str(library)} if library else {})}


def install_with(library: Path, dsn: str) -> None:
    command = [sys.executable, "-c", INSTALL, dsn]
    subprocess.run(command, env=with_library(library), check=True, timeout=120)


def finished(connection: psycopg.Connection) -> dict[str, int]:
    rows = connection.execute("select outcome, count(*) from lonnymq.history group by 1")
    return dict(rows.fetchall())


def has_moved_on(connection: psycopg.Connection) -> bool:
    """Wait for more messages to be finished than there are now."""
    before = finished(connection).get("completed", 0)
    return eventually(lambda: finished(connection).get("completed", 0) >= before + 50, within=60)


def test_old_and_new_libraries_go_on_while_the_queue_is_upgraded(
    dsn_18: str, connect, tmp_path: Path
) -> None:
    libraries = [later_library(tmp_path, number) for number in range(1, UPGRADES + 1)]
    watcher = connect(dsn_18)
    with ExitStack() as stack:
        started = {
            (what, library): Load(what, dsn_18, tmp_path, library)
            for what in ("worker", "producer")
            for library in (None, libraries[-1])
        }
        for each in started.values():
            stack.callback(each.close)
        has_moved_on(watcher)
        for library in libraries:
            install_with(library, dsn_18)
            has_moved_on(watcher)
        producers = [each.ends() for (what, _), each in started.items() if what == "producer"]
        created = sum(each["created"] for each in producers)
        eventually(lambda: sum(finished(watcher).values()) >= created, within=120)
        workers = [each.ends() for (what, _), each in started.items() if what == "worker"]
        logs = {each.errors.name: each.errors.read_text() for each in started.values()}

    print(f"longest stall of a producer: {max(each['longest'] for each in producers):.3f} s")
    assert [each["errors"] for each in producers] == [[], []]
    assert {each["version"] for each in workers} == {"0.1.0", f"99.{UPGRADES}.0"}
    assert finished(watcher) == {"completed": created}
    assert [
        name for name, text in logs.items() if re.search("cannot be settled|deadlock", text)
    ] == []
    with Queue(dsn_18) as queue:
        assert queue.check() == []
        assert queue.installed().migration == 9000 + UPGRADES
        queue.install()  # by the oldest library, which the newest schema serves
        assert queue.installed().migration == 9000 + UPGRADES


@pytest.mark.long
def test_an_upgrade_that_meets_an_open_transaction_lets_the_others_go_on(
    dsn_18: str, connect, tmp_path: Path
) -> None:
    library = later_library(tmp_path, 1)
    holder, watcher = connect(dsn_18), connect(dsn_18)
    waits = (
        "select count(*) from pg_locks where relation = 'lonnymq.message'::regclass and not granted"
    )
    with ThreadPoolExecutor(1) as pool, Queue(dsn_18) as queue:
        with holder.transaction():
            holder.execute("lock table lonnymq.message in row exclusive mode")
            going = pool.submit(install_with, library, dsn_18)
            for _ in range(3):
                eventually(lambda: watcher.execute(waits).fetchone() == (1,))
                queue.create("acme", b"x")
            assert not going.done()
        going.result(timeout=120)
        assert queue.installed().migration == 9001
