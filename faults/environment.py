"""The environment of a run: a server that can be crashed, a proxy in front of the server, and the clock."""

from __future__ import annotations

import importlib.util
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import psycopg

from faults.call_log import CallLog
from faults.proxy import Proxy, proxy
from lonnymq import Queue
from lonnymq.embedded_postgres import TemporaryServer, temporary


class Environment:
    """A server, its queue, and a proxy in front of it."""

    def __init__(self, server: TemporaryServer, through: Proxy, call_log: CallLog) -> None:
        self.server, self.proxy, self.call_log = server, through, call_log
        self.dsn = server.dsn
        self.queue = Queue(server.dsn)

    def connect(self, **options: Any) -> psycopg.Connection[Any]:
        """A connection past the proxy."""
        return psycopg.connect(self.dsn, **{"autocommit": True, **options})

    def stop(self, mode: Any) -> None:
        """Stop the server; an immediate stop is a crash, and is written down before and after it happens."""
        is_crash = mode == "immediate"
        self.call_log.write(fault=f"server_{mode}", crash=is_crash and "begin")
        self.server.stop(mode)
        self.call_log.write(fault="stopped", crash=is_crash and "end")

    def start(self) -> float:
        """Start it again, and say when it accepted connections."""
        self.server.start()
        self.call_log.write(fault="started")
        return time.time() * 1000

    def is_drained(self) -> bool:
        """Whether no message is left to run."""
        return bool(self.values("select not exists (select from lonnymq.message)")[0])

    def values(self, statement: str, *parameters: Any) -> list[Any]:
        """The first column of what a statement gives."""
        with self.connect() as connection:
            return [row[0] for row in connection.execute(statement.encode(), parameters or None)]


@contextmanager
def open_environment(
    call_log: CallLog, *, clock: Clock | None = None, bin_dir: Path | None = None, **settings: Any
) -> Iterator[Environment]:
    """An environment with the queue installed."""
    with ExitStack() as stack:
        defaults = {"max_connections": 200, "log_lock_waits": True}
        with clock.in_force() if clock is not None else nullcontext():
            server = stack.enter_context(temporary(bin_dir, **{**defaults, **settings}))
        if clock is not None:
            stack.callback(shutil.rmtree, clock.folder, ignore_errors=True)
        through = stack.enter_context(proxy(server.cluster.socket_folder))
        made = Environment(server, through, call_log)
        made.queue.install()
        with made.connect() as connection:
            connection.execute("create table bill (message bigint not null)")
        yield made
        made.queue.close()


class Clock:
    """The clock of a server, stepped by libfaketime while it runs."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="lonnymq-clock-"))
        self.folder.chmod(0o755)
        self.file = self.folder / "offset"
        self.step(0)

    @staticmethod
    def library() -> Path | None:
        """The library, if its wheel is there."""
        found = importlib.util.find_spec("libfaketime")
        if found is None or found.origin is None:
            return None
        path = Path(found.origin).parent / "vendor/libfaketime/src/libfaketime.so.1"
        return path if path.exists() else None

    def step(self, seconds: float) -> None:
        """Let the server's clock be so far from ours, from now on."""
        fresh = self.file.with_name("fresh")
        fresh.write_text(f"{seconds:+.3f}")
        fresh.chmod(0o644)
        fresh.replace(self.file)

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """Servers started meanwhile have this clock."""
        variables = {
            "LD_PRELOAD": str(self.library()),
            "FAKETIME_TIMESTAMP_FILE": str(self.file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "FAKETIME_DISABLE_SHM": "1",
        }
        # Our own processes run on the true clock: the loader reads LD_PRELOAD when a program starts.
        before = {name: os.environ.get(name) for name in variables}
        os.environ.update(variables)
        try:
            yield
        finally:
            for name, value in before.items():
                os.environ.pop(name, None)
                if value is not None:
                    os.environ[name] = value
