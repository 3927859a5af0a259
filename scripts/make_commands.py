"""Writes docs/commands.md from the commands themselves: `make reference`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from lonnymq.cli.app import app
from lonnymq.cli.options import CONNECTION_PANEL

PAGE = Path(__file__).parents[1] / "docs" / "commands.md"
OPENING = Path(__file__).with_name("commands_opening.md")
LEFT_OUT = {"install_completion", "show_completion"}


def page() -> str:
    """The whole page."""
    root = get_command(app)
    shared = [each for each in root.params if each.rich_help_panel == CONNECTION_PANEL]
    parts = [
        OPENING.read_text(),
        "\n## The commands\n\n",
        "| command | what it does |\n| --- | --- |\n",
    ]
    found = list(walk(root, ()))
    parts += [
        f"| [`{' '.join(path)}`](#{'-'.join(path)}) | {first(command)} |\n"
        for path, command in found
    ]
    parts += ["\nEvery command takes these, before its name or after it:\n\n", table(shared)]
    parts += [entry(path, command) for path, command in found]
    return "".join(parts)


def walk(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The commands that do something, in the order in which they are listed."""
    if not hasattr(command, "list_commands"):
        yield path, command
        return
    for name in command.list_commands(None):
        yield from walk(command.get_command(None, name), (*path, name))


def first(command: Any) -> str:
    """The first sentence of a command's help."""
    return paragraphs(command)[0]


def paragraphs(command: Any) -> list[str]:
    """The help of a command, a paragraph a line."""
    return [" ".join(each.split()) for each in re.split(r"\n\s*\n", command.help or "")]


def entry(path: tuple[str, ...], command: Any) -> str:
    """One command: how it is called, what it does, what it takes."""
    own = [each for each in command.params if each.rich_help_panel != CONNECTION_PANEL and each.name != "help"]
    arguments = [each for each in own if each.param_type_name == "argument"]
    usage = " ".join(
        [
            "lonnymq",
            *path,
            *(["[OPTIONS]"] if len(own) > len(arguments) else []),
            *map(shown, arguments),
        ]
    )
    said = "\n".join(sentences(each) for each in paragraphs(command))
    return f"\n### {' '.join(path)}\n\n```text\n{usage}\n```\n\n{said}\n" + (
        f"\n{table(own)}" if own else ""
    )


def sentences(paragraph: str) -> str:
    """One sentence a line."""
    return re.sub(r"(?<=[.:]) (?=[A-Z][a-z])", "\n", paragraph)


def table(params: list[Any]) -> str:
    """Arguments and options with what they mean."""
    lines = [
        f"| {names(each)} | {meaning(each)} |\n" for each in params if each.name not in LEFT_OUT
    ]
    return "| | |\n| --- | --- |\n" + "".join(lines)


def names(param: Any) -> str:
    """An argument or an option as it is written, with its value."""
    if param.param_type_name == "argument":
        return f"`{shown(param)}`"
    value = "" if param.is_flag else f" {shown(param)}"
    return ", ".join(f"`{each}{value}`" for each in param.opts).replace("|", "\\|")


def shown(param: Any) -> str:
    """What stands for a value."""
    return str(param.metavar or param.name.upper())


def meaning(param: Any) -> str:
    """What it means, whether it must be given, and what is taken if it is not."""
    given = (
        param.default
        if param.default not in (None, False, "") and not callable(param.default)
        else None
    )
    default = f" Default: {given}." if given is not None else ""
    must = " Must be given." if param.required and param.param_type_name == "option" else ""
    return f"{param.help}{must}{default}".replace("|", "\\|")


def main() -> None:
    """Write the page."""
    PAGE.write_text(page())


if __name__ == "__main__":
    main()
