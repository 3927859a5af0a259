"""Stops a shared server when its last user is gone, however that user went. A program, started by server.py.

Every user holds shared locks on `users` and `watched`. The kernel drops them when the process ends, by `kill -9` too,
so there is no list of users that could be wrong. Who gets one of them exclusively knows that nobody is left.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path


def main(
    folder: Path, sockets: Path, remove: bool, user: int, group: int, own_lock: int, stop: list[str]
) -> None:
    """Wait until the server in `folder` has no user, stop it, and remove the folder of a temporary one."""
    while True:
        with open(folder / "watched") as watched:
            fcntl.flock(watched, fcntl.LOCK_EX)  # as long as anybody uses the server
        with open(folder / "gate", "a") as gate, open(folder / "users") as users:
            fcntl.flock(gate, fcntl.LOCK_EX)
            try:
                fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue  # somebody came while we stood at the gate
            who = {"user": user, "group": group, "extra_groups": []} if os.geteuid() == 0 else {}
            if (folder / "data").exists():
                subprocess.run(stop, cwd=folder / "data", check=False, **who)  # type: ignore[call-overload]  # a choice of keywords
            if remove or not (folder / "data" / "postmaster.pid").exists():
                shutil.rmtree(folder if remove else sockets, ignore_errors=True)
            # Before the gate opens, so that whoever starts the server next gives it a watchdog of its own.
            os.close(own_lock)
            return


if __name__ == "__main__":
    if (
        os.fork() == 0
    ):  # the parent ends at once, so that the watchdog is nobody's child to wait for
        place, sockets, remove, user, group, own_lock, *stop = sys.argv[1:]
        numbers = int(user), int(group), int(own_lock)
        main(Path(place), Path(sockets), remove == "remove", *numbers, stop)
