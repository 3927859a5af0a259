"""Loads the worker at an address, `module:object`."""

from __future__ import annotations

import sys
import traceback
from difflib import get_close_matches
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from lonnymq.cli.errors import Code, CommandError

if TYPE_CHECKING:
    from lonnymq.cli.session import Session
    from lonnymq.worker import Worker


def load_worker(address: str, session: Session) -> Worker:
    """The worker at an address; the current folder is searched first."""
    from lonnymq.worker import Worker

    if session.common.schema is not None:
        raise CommandError(
            "Set the schema in your code, not with --schema: Worker(schema=...).", Code.USAGE
        )
    sys.path.insert(0, "")
    name, _, path = address.partition(":")
    if not name or not path:
        raise CommandError(
            f"'{address}' is not an address of a worker: write module:object, like jobs:worker.",
            Code.USAGE,
        )
    found: object = load_module(name)
    for part in path.split("."):
        found = get_part(found, part, address)
    if not isinstance(found, Worker):
        raise CommandError(
            f"{address} is not a lonnymq.Worker, but of type {type(found).__name__}."
        )
    return found


def load_module(name: str) -> ModuleType:
    """Import a module of the user, or raise why and where the import fails."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise CommandError(
                f"There is no module '{error.name}' in this folder or on Python's path. Run the command in "
                "the folder of the module, or set PYTHONPATH."
            ) from None
        raise import_failure(name, error) from None
    except (Exception, SystemExit) as error:
        raise import_failure(name, error) from None


def import_failure(name: str, error: BaseException) -> CommandError:
    """The error of a failed import, with its file and line."""
    lines = str(error).strip().splitlines()
    location = find_location(error)
    suffix = f" ({location})" if location and location not in "".join(lines) else ""
    reason = f"{type(error).__name__}: {lines[0] if lines else ''}"
    return CommandError(f"Module '{name}' cannot be imported: {reason}{suffix}")


def find_location(error: BaseException) -> str | None:
    """The last file and line of the user's code, not of Python or of the library."""
    if isinstance(error, SyntaxError):
        return f"{error.filename}, line {error.lineno}"
    own = [
        each
        for each in traceback.extract_tb(error.__traceback__)
        if "importlib" not in each.filename
        and "site-packages" not in each.filename
        and "/lonnymq/" not in each.filename
    ]
    return f"{own[-1].filename}, line {own[-1].lineno}" if own else None


def get_part(whole: object, name: str, address: str) -> object:
    """An attribute of a module or of an object."""
    try:
        return getattr(whole, name)
    except AttributeError:
        like = get_close_matches(name, [each for each in dir(whole) if not each.startswith("_")])
        guess = f" Did you mean '{like[0]}'?" if like else ""
        raise CommandError(f"There is no '{name}' at {address}.{guess}") from None
