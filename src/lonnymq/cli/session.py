"""What a command works with: the queue that is meant, and a way to answer. `command` hands it to the function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import typer

from lonnymq.cli.errors import Code, CommandError, complain, refusal_of
from lonnymq.cli.options import Common, Dsn, Json, Schema
from lonnymq.cli.output.console import Output

if TYPE_CHECKING:
    from lonnymq.client import Queue
    from lonnymq.embedded_postgres import Server

SHARED = {"dsn": (Dsn, None), "schema": (Schema, None), "as_json": (Json, False)}


@dataclass
class Session:
    """One command's run: its server and its queue, opened when they are first used."""

    common: Common
    out: Output
    opened: list[Any] = field(default_factory=list)

    @property
    def schema(self) -> str:
        """The queue's schema."""
        return self.common.named_schema

    @cached_property
    def server(self) -> Server:
        """The server that was named, else the private one, started if need be."""
        from lonnymq.embedded_postgres import embedded

        with self.out.working("starting the private PostgreSQL", unless=self.common.named_dsn):
            server = embedded(dsn=self.common.named_dsn)
        self.opened.append(server)
        return server

    @cached_property
    def dsn(self) -> str:
        """Where to connect: what was named, with a limit to waiting and with our name."""
        from psycopg.conninfo import conninfo_to_dict, make_conninfo

        known: dict[str, Any] = conninfo_to_dict(self.server.dsn)
        ours = {"connect_timeout": "10", "application_name": "lonnymq command"}
        return make_conninfo(self.server.dsn, **{**ours, **known})

    @cached_property
    def queue(self) -> Queue:
        """The queue."""
        from lonnymq.client import Queue

        queue = Queue(self.dsn, schema=self.schema)
        self.opened.append(queue)
        return queue

    def close(self) -> None:
        """Close what was opened, the last first."""
        while self.opened:
            self.opened.pop().close()


@contextmanager
def session(common: Common) -> Iterator[Session]:
    """A session; what goes wrong in it is said in a sentence, and ends the command with its code."""
    current = Session(common, Output(as_json=common.as_json))
    try:
        yield current
    except KeyboardInterrupt:
        raise typer.Exit(Code.INTERRUPTED) from None
    except Exception as error:
        rejected = refusal_of(error, dsn=common.named_dsn, schema=common.named_schema)
        if rejected is None:
            raise
        raise typer.Exit(complain(rejected)) from None
    finally:
        current.close()


def command(
    app: typer.Typer, name: str | None = None, **settings: Any
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a function as a command: its first argument is the session, the shared options are added."""

    def register(function: Callable[..., None]) -> Callable[..., None]:
        def run(context: typer.Context, **given: Any) -> None:
            shared = Common(**{key: given.pop(key) for key in SHARED})
            with session(shared.under(context.obj)) as current:
                function(current, **given)

        own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
        added = [
            inspect.Parameter(
                key, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
            )
            for key, (annotation, default) in SHARED.items()
        ]
        first = inspect.Parameter(
            "context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context
        )
        own = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own]
        signature = inspect.Signature([first, *own, *added])
        run.__signature__ = signature  # type: ignore[attr-defined]  # typer reads it
        run.__annotations__ = {each.name: each.annotation for each in signature.parameters.values()}
        run.__name__, run.__doc__ = function.__name__, function.__doc__
        app.command(name, **settings)(run)
        return function

    return register


def group(purpose: str) -> typer.Typer:
    """A group of commands."""
    return typer.Typer(
        help=purpose,
        add_completion=False,
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def unknown_channel(channel: str) -> CommandError:
    """The rejection for a channel that nobody knows."""
    return CommandError(
        f"There is no channel '{channel}'. See which there are: lonnymq channel list; "
        "a channel comes into being with its first message, or by: lonnymq channel set"
    )
