"""A private PostgreSQL for "no server at hand": `lonnymq.embedded()`, shared and durable, and `temporary()`, neither.

Processes share a server through lock files beside its data; the kernel drops a lock with the process that held it.

- `gate`: held exclusively while the server is being started or stopped.
- `users`: every user holds it shared. Who gets it exclusively, at the gate, knows that nobody is left.
- `watchdog`: held by a small process (watchdog.py) that stops the server when the last user was killed.
- `watched`: every user holds it shared, and the watchdog waits for it; away from the gate, hence not on `users`.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from lonnymq.embedded_postgres.cluster import (
    ROOT_FOLDER,
    Cluster,
    Setting,
    StopMode,
    embedded_binaries,
)

DSN_VARIABLE = "LONNYMQ_DSN"
MEMORY_BYTES = 4 << 30  # of room in memory before a temporary server is put there


class Server:
    """A PostgreSQL to connect to at `dsn`. This one was running before and goes on: there is nothing to stop."""

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn

    def close(self) -> None:
        """Say that this user is done with the server."""

    def stop(self) -> None:
        """The same as `close()`."""
        self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class EmbeddedServer(Server):
    """A server of our own over a durable data folder; it stops when the last of its users, in any process, does."""

    def __init__(self, folder: Path) -> None:
        self.cluster = Cluster(folder, embedded_binaries())
        super().__init__(self.cluster.dsn)
        with _lock_gate(folder):
            self._locks = _lock_shared(folder)
            try:
                _start_watchdog(self.cluster)
                self.cluster.create()
                self.cluster.start()
            except BaseException:
                _release(self._locks)
                raise
        atexit.register(self.close)

    @property
    def log(self) -> Path:
        """The server's log file."""
        return self.cluster.log

    def close(self) -> None:
        """Let go of the server; if nobody else uses it, return when it has stopped."""
        if not self._locks:
            return
        atexit.unregister(self.close)
        if not self.cluster.folder.exists():  # removed under the server, which notices and ends
            _release(self._locks)
            return
        with _lock_gate(self.cluster.folder):
            _release(self._locks)
            if (alone := _try_exclusive(self.cluster.folder / "users")) is not None:
                self.cluster.stop()
                os.close(alone)


class TemporaryServer(Server):
    """A throw-away server in a folder of its own, gone with `close()` or with the process that made it."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster.dsn)
        self.cluster = cluster
        self._maker = os.getpid()
        self._locks = _lock_shared(cluster.folder)
        try:
            _start_watchdog(cluster, remove=True)
            cluster.create(durable=False)
            cluster.start()
        except BaseException:
            self.close()
            raise
        atexit.register(self.close)

    @property
    def log(self) -> Path:
        """The server's log file."""
        return self.cluster.log

    def start(self) -> None:
        """Start it again after `stop()` or a crash, with the same data at the same DSN."""
        self.cluster.start()

    def stop(self, mode: StopMode = "fast") -> None:
        """Stop the server and keep its data; `immediate` leaves it as a crash would."""
        self.cluster.stop(mode)

    def close(self) -> None:
        """Stop the server and remove its data; a forked child leaves that to its parent."""
        if not self._locks or self._maker != os.getpid():
            return
        atexit.unregister(self.close)
        self.cluster.stop("immediate")
        shutil.rmtree(self.cluster.folder, ignore_errors=True)
        _release(self._locks)


def embedded(data_dir: str | os.PathLike[str] | None = None, *, dsn: str | None = None) -> Server:
    """A PostgreSQL 18 that comes along, started if it does not run yet; use as a context manager, or call `stop()`.

    Its data lives in `data_dir`, by default in the user's data directory, and outlasts it. All processes that name
    the same folder share one server. `dsn`, or the environment variable LONNYMQ_DSN, names a server to use instead:
    then nothing is started and nothing is stopped.
    """
    named = dsn or os.environ.get(DSN_VARIABLE)
    if named:
        return Server(named)
    return EmbeddedServer(Path(data_dir).expanduser().resolve() if data_dir else default_folder())


def temporary(
    bin_dir: str | os.PathLike[str] | None = None, *, on_disk: bool = False, **settings: Setting
) -> TemporaryServer:
    """A throw-away server for tests, with PostgreSQL 18 or the programs in `bin_dir`, and settings by name.

    Its folder is in memory where there is room, unless you pass `on_disk=True`: to copy a database took 40 ms there and
    400 ms on a disk. It does not wait for the disk unless you pass `fsync=True`; a crash of the server loses nothing.
    """
    programs = Path(bin_dir) if bin_dir else embedded_binaries()
    place = None if on_disk else memory_folder()
    folder = Path(tempfile.mkdtemp(prefix="lonnymq-", dir=place)).resolve()
    if os.geteuid() == 0:
        folder.chmod(0o711)  # so that the server's user may pass
    return TemporaryServer(Cluster(folder, programs, {"fsync": False, **settings}))


def memory_folder() -> Path | None:
    """A folder in memory with room for a temporary server, or None."""
    shared = Path("/dev/shm")  # noqa: S108  only ever used through mkdtemp
    roomy = shared.is_dir() and shutil.disk_usage(shared).free >= MEMORY_BYTES
    return shared if roomy and os.access(shared, os.W_OK) else None


def default_folder() -> Path:
    """Where this user's embedded data lives."""
    if "XDG_DATA_HOME" in os.environ:
        base = Path(os.environ["XDG_DATA_HOME"]) / "lonnymq"
    elif os.geteuid() == 0:
        base = ROOT_FOLDER
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support" / "lonnymq"
    else:
        base = Path.home() / ".local" / "share" / "lonnymq"
    return base / "postgresql-18"


def _lock_file(path: Path, how: int) -> int:
    """Open a lock file and lock it; the lock lasts until the descriptor is closed, here and in forked children."""
    lock = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if os.geteuid() == 0:
            os.fchown(lock, path.parent.stat().st_uid, -1)
        fcntl.flock(lock, how)
    except BaseException:
        os.close(lock)
        raise
    return lock


def _lock_shared(folder: Path) -> list[int]:
    return [_lock_file(folder / name, fcntl.LOCK_SH) for name in ("users", "watched")]


def _release(locks: list[int]) -> None:
    while locks:
        os.close(locks.pop())


def _try_exclusive(path: Path) -> int | None:
    try:
        return _lock_file(path, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return None


@contextlib.contextmanager
def _lock_gate(folder: Path) -> Iterator[None]:
    gate = _lock_file(folder / "gate", fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(gate)


def _start_watchdog(cluster: Cluster, *, remove: bool = False) -> None:
    """Give the server a watchdog if it has none; the watchdog inherits the lock that says so.

    Without one (a process that gave up its rights may be unable to start Python) the next to leave stops the server.
    """
    if (lock := _try_exclusive(cluster.folder / "watchdog")) is None:
        return
    stop = cluster.command(cluster.data, "pg_ctl", "stop", "-w", "-t", "60", "-m", "fast")
    places = [cluster.folder, cluster.socket_folder, "remove" if remove else "keep"]
    what = [*places, cluster.account.user, cluster.account.group, lock]
    program = [sys.executable, "-I", "-S", str(Path(__file__).with_name("watchdog.py"))]
    quiet = subprocess.DEVNULL
    with contextlib.suppress(OSError):
        subprocess.run(
            [*program, *map(str, what), *stop], pass_fds=[lock], cwd="/", start_new_session=True,
            stdin=quiet, stdout=quiet, stderr=quiet, check=False,
        )  # fmt: skip
    os.close(lock)
