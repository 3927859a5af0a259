"""The statements that bring a database to this version of the queue, to be run or to be printed as a script."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from importlib.resources.abc import Traversable

from psycopg.errors import DeadlockDetected, LockNotAvailable

from lonnymq.client.call import schema_name
from lonnymq.client.connection_state import ISOLATION
from lonnymq.errors import InstallBlocked

WRITTEN_SCHEMA = re.compile(r"\blonnymq\b")
LOCK_TIMEOUT = (
    "200ms"  # shorter than deadlock_timeout is by default: nobody else is ever the one to give way
)
RETRY_SECONDS = 60.0
LOCKED = (LockNotAvailable, DeadlockDetected)
WRITTEN = {True: "true", False: "false", None: "null"}
PLACE = re.compile(r"(?<![:\w]):([a-z]+)\b")


class InstallRetries:
    """How long to go on: who waits for a table's lock holds up everybody behind, so it lets go soon and comes again."""

    def __init__(self) -> None:
        self.until = time.monotonic() + RETRY_SECONDS

    def pause(self, error: Exception) -> float:
        """Seconds until the next try, or the error that there is to be none."""
        if time.monotonic() > self.until:
            raise InstallBlocked(f"{error}; {InstallBlocked.__doc__}") from error
        return random.uniform(0.05, 0.3)  # noqa: S311 - spreads load


def install_script(schema: str = "lonnymq", *, roles: bool | None = None) -> str:
    """What install does, as a file for `psql -v ON_ERROR_STOP=1 -f`; running it again changes nothing."""
    return f"begin;\n{ISOLATION.decode()};\n{statements(schema, roles)}commit;\n"


@cache
def statements(schema: str, roles: bool | None = None, lock_timeout: str | None = None) -> str:
    """The statements of an install, for a READ COMMITTED transaction."""
    waiting = quoted(lock_timeout) if lock_timeout else "current_setting('lock_timeout')"
    migrations, functions = sql_files("migrations"), sql_files("functions")
    code = "\n".join(functions.values())
    release = {"version": quoted(version("lonnymq")), "rank": quoted(rank(version("lonnymq")))}
    checksum = quoted(sha256(code.encode()).hexdigest())
    steps = sql_files("install")
    parts = [
        steps["bootstrap"],
        filled(steps["refuse_newer"], newest=str(max(map(number, migrations))), **release),
        *(
            filled(
                steps["apply_migration"],
                number=str(number(name)),
                name=quoted(name),
                text=dollar_quoted(text),
                waiting=waiting,
            )
            for name, text in migrations.items()
        ),
        filled(steps["replace_functions"], text=dollar_quoted(code), checksum=checksum, **release),
        steps["extend_history"],
        filled(
            steps["apply_grants"], grants=steps["grants"], roles=WRITTEN[roles], waiting=waiting
        ),
    ]
    return WRITTEN_SCHEMA.sub(schema_name(schema), "\n".join(parts))


def sql_files(folder: str) -> dict[str, str]:
    """The SQL files below a folder by name, in the order to apply them: the clock, then by name."""
    found = {
        each.name.removesuffix(".sql"): each.read_text(encoding="utf-8")
        for each in files_below(files("lonnymq").joinpath("sql", folder))
        if each.name.endswith(".sql")
    }
    return {name: found[name] for name in sorted(found, key=lambda name: (name != "epoch", name))}


def files_below(folder: Traversable) -> Iterator[Traversable]:
    """The files of a folder and of the folders in it."""
    for each in folder.iterdir():
        yield from files_below(each) if each.is_dir() else [each]


def number(migration: str) -> int:
    """A migration's number, which its name begins with."""
    return int(migration.split("_")[0])


def rank(release: str) -> str:
    """A version as an array that PostgreSQL compares: 1.10.0rc1 is {1,10,0}."""
    return "{" + ",".join(re.findall(r"\d+", re.split(r"[^\d.]", release)[0])) + "}"


def filled(template: str, **values: str) -> str:
    """The template with each :name replaced by its value."""
    return PLACE.sub(lambda place: values[place[1]], template)


def quoted(text: str) -> str:
    """A string literal."""
    return "'" + text.replace("'", "''") + "'"


def dollar_quoted(text: str) -> str:
    """A string literal that is readable in a printed script."""
    return f"$sql_text$\n{text}\n$sql_text$"
