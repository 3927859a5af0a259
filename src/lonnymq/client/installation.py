"""The statements that bring a database to this version of the queue, to be run or to be printed as a script."""

from __future__ import annotations

import json
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
# The oldest version of the library whose calls this version's functions still answer. Raise it with every change of SQL
# that breaks an earlier library, and never else: it decides whether a deploy can be rolled back without a restore.
OLDEST_SERVED = "0.1.0"
NEWER = (  # whether a later version of the library has installed the queue
    "(exists (select from lonnymq.migration m where m.version > :newest) "
    "or exists (select from lonnymq.installed i where i.library_rank > :rank::integer[]))"
)
FUNCTION = re.compile(
    r"^create or replace function lonnymq\.(?P<name>\w+)\((?P<head>.*?)^as \$\$(?P<body>.*?)\$\$\S$",
    re.MULTILINE | re.DOTALL,
)
VOLATILITY = re.compile(r"^(immutable|stable|volatile)$", re.MULTILINE)
SETTING = re.compile(r"^set (\w+) = (\w+)$", re.MULTILINE)
PLACE = re.compile(r"(?<![:\w]):([a-z]+)\b")


class InstallRetries:
    """How long to go on: who waits for a table's lock holds up everybody behind, so it lets go soon and comes again."""

    def __init__(self) -> None:
        self.until = time.monotonic() + RETRY_SECONDS

    def pause(self, error: Exception) -> float:
        """Seconds until the next try, or the error that there is to be none."""
        if time.monotonic() > self.until:
            raise InstallBlocked(f"{error}. {InstallBlocked.__doc__}") from error
        return random.uniform(0.05, 0.3)  # noqa: S311 - spreads load


def install_script(
    schema: str = "lonnymq", *, roles: bool | None = None, transaction: bool = True
) -> str:
    """What install does, as a file for `psql -v ON_ERROR_STOP=1 -f`; running it again changes nothing.

    Without `transaction` the script has no begin and no commit, for tools that run it in a transaction of their own.
    """
    body = statements(schema, roles)
    return f"begin;\n{ISOLATION.decode()};\n{body}commit;\n" if transaction else body


@cache
def statements(schema: str, roles: bool | None = None, lock_timeout: str | None = None) -> str:
    """The statements of an install, for a READ COMMITTED transaction."""
    waiting = quoted(lock_timeout) if lock_timeout else "current_setting('lock_timeout')"
    migrations, functions = sql_files("migrations"), sql_files("functions")
    code = "\n".join(functions.values())
    release = {
        "version": quoted(version("lonnymq")),
        "rank": quoted(rank(version("lonnymq"))),
        "serves": quoted(rank(OLDEST_SERVED)),
        "checksum": quoted(functions_checksum()),
    }
    steps = sql_files("install")
    release["newer"] = filled(NEWER, newest=str(newest_migration()), rank=release["rank"])
    parts = [
        steps["bootstrap"],
        filled(steps["check_newer"], **release),
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
        filled(
            steps["restore_tables"], missing=missing_indexes(schema), waiting=waiting, **release
        ),
        filled(
            steps["replace_functions"],
            text=dollar_quoted(code),
            changed=changed_functions(schema),
            **release,
        ),
        filled(steps["extend_history"], **release),
        filled(
            steps["apply_grants"],
            grants=steps["grants"],
            missing=missing_rights(schema),
            roles=WRITTEN[roles],
            waiting=waiting,
            **release,
        ),
    ]
    return WRITTEN_SCHEMA.sub(schema_name(schema), "\n".join(parts))


@cache
def changed_functions(schema: str) -> str:
    """The query for the names of functions that are not in place as this version has them."""
    query = filled(
        sql_files("install")["changed_functions"],
        functions=quoted(json.dumps(list(expected_functions(schema)))),
    )
    return WRITTEN_SCHEMA.sub(schema_name(schema), query)


@cache
def missing_indexes(schema: str) -> str:
    """The query for indexes and keys that are not in place."""
    steps = sql_files("install")
    query = filled(steps["missing_indexes"], indexes=steps["indexes"])
    return WRITTEN_SCHEMA.sub(schema_name(schema), query)


@cache
def missing_rights(schema: str) -> str:
    """The query for grants that the owner and the roles of the queue should have and do not have."""
    steps = sql_files("install")
    query = filled(steps["missing_rights"], grants=steps["grants"])
    return WRITTEN_SCHEMA.sub(schema_name(schema), query)


def expected_functions(schema: str) -> Iterator[dict[str, object]]:
    """The functions of this version as PostgreSQL stores them: name, sha256 of the body, volatility, settings."""
    for found in FUNCTION.finditer("\n".join(sql_files("functions").values())):
        body = WRITTEN_SCHEMA.sub(schema_name(schema), found["body"])
        volatility = VOLATILITY.search(found["head"])
        yield {
            "name": found["name"],
            "body": sha256(body.encode()).hexdigest(),
            "volatility": volatility[1][0] if volatility else "v",
            "settings": sorted("=".join(each) for each in SETTING.findall(found["head"])),
        }


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


@cache
def functions_checksum() -> str:
    """The sha256 of this version's functions, which tells an upgrade from a change that somebody made."""
    return sha256("\n".join(sql_files("functions").values()).encode()).hexdigest()


@cache
def newest_migration() -> int:
    """The number of this version's last migration."""
    return max(map(number, sql_files("migrations")))


def rank(release: str) -> str:
    """A version as an array that PostgreSQL compares: 1.10.0rc1 is {1,10,0}."""
    return "{" + ",".join(map(str, rank_numbers(release))) + "}"


def rank_numbers(release: str) -> list[int]:
    """The numbers of a version: 1.10.0rc1 is 1, 10, 0."""
    return [int(each) for each in re.findall(r"\d+", re.split(r"[^\d.]", release)[0])]


def filled(template: str, **values: str) -> str:
    """The template with each :name replaced by its value."""
    return PLACE.sub(lambda place: values[place[1]], template)


def quoted(text: str) -> str:
    """A string literal."""
    return "'" + text.replace("'", "''") + "'"


def dollar_quoted(text: str) -> str:
    """A string literal that is readable in a printed script."""
    return f"$sql_text$\n{text}\n$sql_text$"
