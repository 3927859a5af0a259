"""A worker by its address, `module:object`; what is wrong with the address or the module is said in a sentence."""

from __future__ import annotations

import traceback
from difflib import get_close_matches
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from lonnymq.cli.errors import Code, CommandError

if TYPE_CHECKING:
    from lonnymq.worker import Worker


def worker_at(target: str) -> Worker:
    """The worker at an address."""
    from lonnymq.worker import Worker

    name, _, path = target.partition(":")
    if not name or not path:
        raise CommandError(
            f"'{target}' does not say where the worker is: write module:object, like jobs:worker.",
            Code.USAGE,
        )
    found: object = imported(name)
    for part in path.split("."):
        found = part_of(found, part, target)
    if not isinstance(found, Worker):
        raise CommandError(f"{target} is no lonnymq.Worker, but of type {type(found).__name__}.")
    return found


def imported(name: str) -> ModuleType:
    """A module of the user's; why it cannot be imported, and at which of its lines."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise CommandError(
                f"There is no module '{error.name}' here or on Python's path. Run the command in the folder "
                "that holds it, or set PYTHONPATH."
            ) from None
        raise CommandError(broken(name, error)) from None
    except (Exception, SystemExit) as error:
        raise CommandError(broken(name, error)) from None


def broken(name: str, error: BaseException) -> str:
    """What an import failed of, and where."""
    said = str(error).strip().splitlines()
    place = place_of(error)
    where = f" ({place})" if place and place not in "".join(said) else ""
    return f"Module '{name}' cannot be imported: {type(error).__name__}: {said[0] if said else ''}{where}"


def place_of(error: BaseException) -> str | None:
    """The last line of the user's own that was being run; none of Python's or of the library's."""
    if isinstance(error, SyntaxError):
        return f"{error.filename}, line {error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    own = [
        each
        for each in frames
        if "importlib" not in each.filename
        and "site-packages" not in each.filename
        and "/lonnymq/" not in each.filename
    ]
    return f"{own[-1].filename}, line {own[-1].lineno}" if own else None


def part_of(whole: object, name: str, target: str) -> object:
    """A part of a module or of an object, by name."""
    try:
        return getattr(whole, name)
    except AttributeError:
        like = get_close_matches(name, [each for each in dir(whole) if not each.startswith("_")])
        guess = f" Did you mean '{like[0]}'?" if like else ""
        raise CommandError(f"There is no '{name}' at {target}.{guess}") from None
