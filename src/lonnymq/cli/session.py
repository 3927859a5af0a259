"""The session of one command: its queue and its output. `command` registers a function that gets a session."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import typer

from lonnymq.cli.errors import Code, CommandError, describe_error, print_error, unknown_name_error
from lonnymq.cli.options import Common, Dsn, Json, Schema
from lonnymq.cli.output.console import Output

if TYPE_CHECKING:
    from psycopg import Connection

    from lonnymq.client import Queue
    from lonnymq.embedded_postgres import Server

SHARED = {"dsn": (Dsn, None), "schema": (Schema, None), "as_json": (Json, False)}


@dataclass
class Session:
    """The run of one command. It opens server and queue on first use."""

    common: Common
    out: Output
    opened: list[Any] = field(default_factory=list)

    @property
    def schema(self) -> str:
        """The queue's schema."""
        return self.common.named_schema

    @cached_property
    def server(self) -> Server:
        """The named server, else the private server, started if needed."""
        from lonnymq.embedded_postgres import embedded

        with self.out.show_status("starting the private PostgreSQL", unless=self.common.named_dsn):
            server = embedded(dsn=self.common.named_dsn)
        self.opened.append(server)
        return server

    @cached_property
    def dsn(self) -> str:
        """The DSN of the server with a connect timeout and our application name."""
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

    def connect(self) -> Connection[tuple[object, ...]]:
        """Open a connection for a question that no function of the queue answers."""
        from psycopg import connect

        return connect(self.dsn, autocommit=True, prepare_threshold=None)

    def confirm(self, consequence: str, *, yes: bool) -> None:
        """Ask before a change that cannot be undone; `consequence` is a sentence that starts with 'This will'."""
        if yes:
            return
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise CommandError(
                f"{consequence} Nothing was done, because there is no terminal to ask you. "
                "Add --yes to confirm."
            )
        if not typer.confirm(f"{consequence} Continue?", err=True):
            raise CommandError("Nothing was done.")

    def print_answer(self, kind: str, name: str, answer: str) -> None:
        """Print the answer of the queue about a channel or schedule, or raise that there is none of this name."""
        if answer == "not_found":
            raise unknown_name_error(kind, name)
        document = {kind: name, "answer": answer}
        self.out.print_result(document, lambda: f"{answer.replace('_', ' ')}: {name}")

    def close(self) -> None:
        """Close queue and server, the last first."""
        while self.opened:
            self.opened.pop().close()


@contextmanager
def open_session(common: Common) -> Iterator[Session]:
    """Open a session. An expected error is printed in a sentence and ends the command with its exit code."""
    session = Session(common, Output(as_json=common.as_json))
    try:
        yield session
    except KeyboardInterrupt:
        raise typer.Exit(Code.INTERRUPTED) from None
    except Exception as error:
        expected = describe_error(error, dsn=common.named_dsn, schema=common.named_schema)
        if expected is None:
            raise
        raise typer.Exit(print_error(expected)) from None
    finally:
        session.close()


def command(
    app: typer.Typer, name: str | None = None, **settings: Any
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a function as a command: its first argument is the session, the shared options are added."""

    def register(function: Callable[..., None]) -> Callable[..., None]:
        def run(context: typer.Context, **given: Any) -> None:
            shared = Common(**{key: given.pop(key) for key in SHARED})
            with open_session(shared.merge(context.obj)) as session:
                function(session, **given)

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


def create_group(purpose: str) -> typer.Typer:
    """A group of commands."""
    return typer.Typer(
        help=purpose,
        add_completion=False,
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
