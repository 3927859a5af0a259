"""The session of one command: its queue, its output, its Spark. `command` registers a function that gets a session."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lonnymq.cli.errors import (
    Code,
    CommandError,
    describe_error,
    no_database_error,
    print_error,
    unknown_name_error,
)
from lonnymq.cli.options import Common, Dsn, Embedded, Json, Schema, option, parse_settings
from lonnymq.cli.output import Output

if TYPE_CHECKING:
    from psycopg import Connection
    from pyspark.sql import SparkSession

    from lonnymq.client import Queue
    from lonnymq.embedded_postgres import Server

NAMED = inspect.Parameter.KEYWORD_ONLY
SHARED = {
    "dsn": (Dsn, None),
    "embedded": (Embedded, False),
    "schema": (Schema, None),
    "as_json": (Json, False),
}
QUIET = ("spark.ui.enabled=false", "spark.log.level=ERROR")
Master = Annotated[
    str | None,
    option("Address of the cluster, like spark://host:7077. Default: this machine.", metavar="URL"),
]
Conf = Annotated[
    list[str] | None, option("A setting of Spark. You can repeat this option.", metavar="KEY=VALUE")
]
Ship = Annotated[bool, option("Send the library to the executors.")]


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
        """The named server, else the private server if asked for, started if needed."""
        from lonnymq.embedded_postgres import embedded

        if not self.common.has_database:
            raise no_database_error()
        with self.out.show_status("starting the private PostgreSQL", unless=self.common.named_dsn):
            server = embedded(dsn=self.common.named_dsn)
        self.opened.append(server)
        return server

    @cached_property
    def dsn(self) -> str:
        """The DSN of the server with the defaults of connections and our application name."""
        from lonnymq.client.dsn import complete_dsn

        return complete_dsn(self.server.dsn, connect_timeout=10, application_name="lonnymq command")

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
    app: typer.Typer, name: str | None = None, *, options: Mapping[str, Any] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a function as a command: its first argument is the session, the shared options are added.

    `options`: types of more options, which the function takes as keywords.
    """

    def register(function: Callable[..., None]) -> Callable[..., None]:
        def run(context: typer.Context, **given: Any) -> None:
            shared = Common(**{key: given.pop(key) for key in SHARED})
            with open_session(shared.merge(context.obj)) as session:
                function(session, **given)

        own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
        more = {key: (annotation, None) for key, annotation in (options or {}).items()}
        parameters = [
            inspect.Parameter("context", NAMED, annotation=typer.Context),
            *(each.replace(kind=NAMED) for each in own if each.kind is not each.VAR_KEYWORD),
            *(
                inspect.Parameter(key, NAMED, default=default, annotation=annotation)
                for key, (annotation, default) in (more | SHARED).items()
            ),
        ]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # typer reads it
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        run.__name__, run.__doc__ = function.__name__, function.__doc__
        app.command(name)(run)
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


@contextmanager
def open_spark(
    master: str | None, conf: Sequence[str] | None, *, ship: bool, app: str
) -> Iterator[SparkSession]:
    """A Spark session for the command. An active session is reused, and not stopped."""
    from pyspark.sql import SparkSession

    is_active = SparkSession.getActiveSession() is not None
    spark = start_spark(master, conf, ship=ship, app=app)
    try:
        yield spark
    finally:
        if not is_active:
            spark.stop()


def start_spark(
    master: str | None, conf: Sequence[str] | None, *, ship: bool, app: str
) -> SparkSession:
    """Start Spark with the given settings."""
    try:
        from lonnymq.spark import session
        from lonnymq.spark.connect import is_connect
        from lonnymq.spark.spark_session import send_library
    except ImportError as error:
        raise CommandError(f"{error}.") from None
    config = parse_settings(list(conf or []), "--conf")
    try:
        spark = session(master, app=app, config=config)
    except Exception as error:
        if not type(error).__module__.startswith(("py4j", "pyspark")):
            raise
        where = "" if master is None else f" at '{master}'"
        raise CommandError(f"Spark does not start{where}: {describe_java_error(error)}.") from None
    is_local = is_connect(spark) or str(spark.sparkContext.master).startswith("local")
    return send_library(spark) if ship and not is_local else spark


def describe_java_error(error: Exception) -> str:
    """The first line of the message of Java, else of Python."""
    java = getattr(error, "java_exception", None)
    text = str(java.getMessage() if java is not None else error).strip()
    return text.splitlines()[0].rstrip(".") if text else type(error).__name__


def is_spark_available() -> bool:
    """Whether this machine has pyspark, pyarrow and Java."""
    if find_spec("pyspark") is None or find_spec("pyarrow") is None:
        return False
    from lonnymq.spark.spark_session import JavaMissing, find_java

    try:
        find_java()
    except JavaMissing:
        return False
    return True
