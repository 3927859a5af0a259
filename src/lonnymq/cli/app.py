"""The root of all commands: their names, and where each is found when it is first asked for."""

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

from lonnymq.cli.errors import CommandError, complain
from lonnymq.cli.options import Common, Dsn, Json, Schema


@dataclass(frozen=True, slots=True)
class Place:
    """Where a command is defined; it exists if the module does that it is about."""

    module: str
    about: str | None = None

    @property
    def exists(self) -> bool:
        """Whether this version of the library has it."""
        return all(find_spec(each) for each in (self.module, self.about) if each)


COMMANDS = {
    "install": Place("lonnymq.cli.commands.install"),
    "sql": Place("lonnymq.cli.commands.sql"),
    "status": Place("lonnymq.cli.commands.status"),
    "watch": Place("lonnymq.cli.commands.watch"),
    "channel": Place("lonnymq.cli.commands.channel"),
    "message": Place("lonnymq.cli.commands.message"),
    "dead": Place("lonnymq.cli.commands.dead"),
    "worker": Place("lonnymq.cli.commands.worker", about="lonnymq.worker"),
    "spark-worker": Place("lonnymq.cli.commands.spark_worker", about="lonnymq.spark"),
    "schedule": Place("lonnymq.cli.commands.schedule", about="lonnymq.worker"),
    "role": Place("lonnymq.cli.commands.role"),
    "doctor": Place("lonnymq.cli.commands.doctor"),
    "dashboard": Place("lonnymq.cli.commands.dashboard", about="lonnymq.dashboard"),
    "lake": Place("lonnymq.cli.commands.lake", about="lonnymq.lake"),
    "report": Place("lonnymq.cli.commands.report", about="lonnymq.spark"),
    "simulate": Place("lonnymq.cli.commands.simulate", about="lonnymq.simulate"),
}


class Commands(TyperGroup):
    """Loads a command when it is named, so that one command's imports are not paid for by the others."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of those that exist."""
        return [name for name, place in COMMANDS.items() if place.exists]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of that name, imported now."""
        place = COMMANDS.get(cmd_name)
        if place is None or not place.exists:
            return None
        command = get_command(import_module(place.module).app)
        command.name = cmd_name
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Reject an unknown name with those that are like it."""
        known = self.list_commands(ctx)
        if args[0] not in known and not args[0].startswith("-"):
            like = [f"'{each}'" for each in get_close_matches(args[0], known)]
            guess = f" Did you mean {' or '.join(like)}?" if like else ""
            ctx.fail(f"No such command '{args[0]}'.{guess}")
        return super().resolve_command(ctx, args)


app = typer.Typer(
    name="lonnymq",
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def show_version(wanted: bool) -> None:
    """Print the version of the library and end."""
    if wanted:
        typer.echo(f"lonnymq {version('lonnymq')}")
        raise typer.Exit


@app.callback()
def root(
    context: typer.Context,
    dsn: Dsn = None,
    schema: Schema = None,
    as_json: Json = False,
    show: Annotated[
        bool,
        typer.Option("--version", callback=show_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """A multi-tenant message queue inside PostgreSQL: look at it, set it, feed it, mend it."""
    context.obj = Common(dsn=dsn, schema=schema, as_json=as_json)


def leave(number: int, _: object) -> None:
    """End as a shell reports a signal: 128 and its number."""
    raise SystemExit(128 + number)


def run() -> None:
    """Run the command line of this process; ended by a signal, it leaves terminal and servers in order."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:  # nohup ignores the one of a closed terminal
            signal.signal(number, leave)
    try:
        app(prog_name="lonnymq")
    except CommandError as rejected:  # raised while a command was being found
        raise SystemExit(complain(rejected)) from None
