"""Writes docs/commands.md from the help of the commands: `make reference`."""

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
HIDDEN = {"install_completion", "show_completion"}


DEFAULT = re.compile(r" ?Default: (.*?)\.(?= |$)")
NO_DEFAULT = "-"


def is_shared(parameter: Any) -> bool:
    """Whether this is an option of every command, which names a database."""
    return bool(parameter.rich_help_panel == CONNECTION_PANEL)


def render_page() -> str:
    """The whole page."""
    root = get_command(app)
    shared = [each for each in root.params if is_shared(each)]
    commands = list(walk_commands(root, ()))
    rows = [
        f"| [`{' '.join(path)}`](#{'-'.join(path)}) | {read_paragraphs(command)[0]} |\n"
        for path, command in commands
    ]
    return "".join(
        [
            OPENING.read_text(),
            "\n## The commands\n\n| command | effect |\n| --- | --- |\n",
            *rows,
            "\nYou can give these options to every command, before or after its name:\n\n",
            render_options(shared),
            *(render_command(path, command) for path, command in commands),
        ]
    )


def walk_commands(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The commands that are not groups, in the order of --help."""
    if not hasattr(command, "list_commands"):
        yield path, command
        return
    for name in command.list_commands(None):
        yield from walk_commands(command.get_command(None, name), (*path, name))


def read_paragraphs(command: Any) -> list[str]:
    """The help of a command, each paragraph on a line."""
    return [" ".join(each.split()) for each in re.split(r"\n\s*\n", command.help or "")]


def render_command(path: tuple[str, ...], command: Any) -> str:
    """The usage, the help and the options of a command."""
    own = [each for each in command.params if not is_shared(each) and each.name != "help"]
    arguments = [each for each in own if each.param_type_name == "argument"]
    options = ["[OPTIONS]"] if len(own) > len(arguments) else []
    usage = " ".join(["lonnymq", *path, *options, *map(name_value, arguments)])
    text = "\n".join(split_sentences(each) for each in read_paragraphs(command))
    table = f"\n{render_options(own)}" if own else ""
    return f"\n### {' '.join(path)}\n\n```text\n{usage}\n```\n\n{text}\n{table}"


def split_sentences(paragraph: str) -> str:
    """Each sentence on a line."""
    return re.sub(r"(?<=[.:]) (?=[A-Z][a-z])", "\n", paragraph)


def render_options(params: list[Any]) -> str:
    """A table of arguments and options."""
    rows = [
        f"| {name_option(each)} | {read_default(each)} | {DEFAULT.sub('', each.help or '')} |\n"
        for each in params
        if each.name not in HIDDEN
    ]
    return "| option | default | effect |\n| --- | --- | --- |\n" + "".join(rows)


def name_option(param: Any) -> str:
    """An argument or an option with its value."""
    if param.param_type_name == "argument":
        return f"`{name_value(param)}`"
    value = "" if param.is_flag else f" {name_value(param)}"
    names = [*param.opts, *param.secondary_opts]
    return ", ".join(f"`{each}{value}`" for each in names).replace("|", "\\|")


def name_value(param: Any) -> str:
    """The placeholder of a value."""
    return str(param.metavar or param.name.upper())


def read_default(param: Any) -> str:
    """The default of an option: its value, the words of its help, or whether it is required."""
    if found := DEFAULT.search(param.help or ""):
        return found[1].replace("|", "\\|")
    if param.required:
        return "required"
    if isinstance(param.default, bool):
        return "on" if param.default else "off"
    if param.default in (None, "") or callable(param.default):
        return NO_DEFAULT
    return f"`{param.default}`"


def main() -> None:
    """Write the page."""
    PAGE.write_text(render_page())


if __name__ == "__main__":
    main()
