"""The root command: the names of all commands, and the module that each command is loaded from."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from lonnymq.cli.errors import CommandError, print_error
from lonnymq.cli.options import Common, Dsn, Embedded, Json, Schema, option


@dataclass(frozen=True, slots=True)
class CommandSource:
    """The module of a command, the package that the command needs, and the name of its Typer app."""

    module: str
    needs: str | None = None
    app: str = "app"

    @property
    def exists(self) -> bool:
        """Whether this version of the library has the command."""
        return all(find_spec(each) for each in (self.module, self.needs) if each)


def source(name: str, needs: str | None = None, *, app: str = "app") -> CommandSource:
    """The source of a command in our own package."""
    return CommandSource(f"lonnymq.cli.commands.{name}", needs, app)


COMMANDS = {
    "install": source("install"),
    "sql": source("install", app="sql_app"),
    "status": source("status"),
    "attention": source("status", app="attention_app"),
    "watch": source("status", app="watch_app"),
    "queue": source("queue"),
    "channel": source("channel"),
    "message": source("message"),
    "group": source("group"),
    "dead": source("dead"),
    "worker": source("worker", "lonnymq.worker"),
    "spark-worker": source("worker", "lonnymq.spark", app="spark_app"),
    "schedule": source("schedule", "lonnymq.worker"),
    "role": source("install", app="role_app"),
    "doctor": source("doctor"),
    "dashboard": source("dashboard", "lonnymq.dashboard"),
    "lake": source("lake", "lonnymq.lake"),
    "report": source("report", "lonnymq.spark"),
    "simulate": source("simulate", "lonnymq.simulate"),
    "tune": source("tune", "lonnymq.simulate"),
}


class LazyCommands(TyperGroup):
    """Imports a command only when it is called, so that the other commands start fast."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of the commands."""
        return [name for name, each in COMMANDS.items() if each.exists]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import the command."""
        found = COMMANDS.get(cmd_name)
        if found is None or not found.exists:
            return None
        command = get_command(getattr(import_module(found.module), found.app))
        command.name = cmd_name
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Reject an unknown name, and suggest similar names."""
        known = self.list_commands(ctx)
        if args[0] not in known and not args[0].startswith("-"):
            like = [f"'{each}'" for each in get_close_matches(args[0], known)]
            guess = f" Did you mean {' or '.join(like)}?" if like else ""
            ctx.fail(f"No such command '{args[0]}'.{guess}")
        return super().resolve_command(ctx, args)


app = typer.Typer(
    name="lonnymq",
    cls=LazyCommands,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def print_version(given: bool) -> None:
    """Print the version of the library and exit."""
    if given:
        typer.echo(f"lonnymq {version('lonnymq')}")
        raise typer.Exit


@app.callback()
def root(
    context: typer.Context,
    dsn: Dsn = None,
    embedded: Embedded = False,
    schema: Schema = None,
    as_json: Json = False,
    show: Annotated[
        bool, option("Print the version.", "--version", callback=print_version, is_eager=True)
    ] = False,
) -> None:
    """Use, inspect and repair a multi-tenant message queue inside PostgreSQL."""
    context.obj = Common(dsn=dsn, schema=schema, as_json=as_json, embedded=embedded)


def exit_on_signal(number: int, _: object) -> None:
    """Exit with 128 and the number of the signal, as shells do."""
    raise SystemExit(128 + number)


def run() -> None:
    """Run the command line. A signal ends the process after the terminal and the servers are restored."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # nohup ignores SIGHUP
            signal.signal(number, exit_on_signal)
    try:
        app(prog_name="lonnymq")
    except CommandError as error:  # raised while a command is imported
        raise SystemExit(print_error(error)) from None
