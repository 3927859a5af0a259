"""`lonnymq dashboard`: serve the page, by default to this machine alone and for looking only."""

from __future__ import annotations

import ipaddress
import secrets
import signal
import socket
from pathlib import Path
from typing import Annotated, Any

import typer

from lonnymq.cli.errors import Code, CommandError
from lonnymq.cli.output.logs import LogLevel, log_to_stderr
from lonnymq.cli.options import Common
from lonnymq.cli.session import Session, group, session

GRACE_SECONDS = 2
LOOPBACK = ("127.0.0.1", "localhost", "::1")

app = group("Serve the page.")

Dsns = Annotated[
    list[str] | None,
    typer.Option("--dsn", metavar="DSN", help="A PostgreSQL to show; may be given several times."),
]
Schemas = Annotated[
    list[str] | None,
    typer.Option("--schema", metavar="NAME", help="A queue's schema; may be given several times."),
]
Host = Annotated[str, typer.Option(help="The address to listen at.")]
Port = Annotated[
    int, typer.Option(help="The port to listen at; 0 takes a free one.", min=0, max=65535)
]
Actions = Annotated[
    bool,
    typer.Option("--actions", help="Let those who have the token act: pause, redrive, cancel."),
]
TokenFile = Annotated[
    Path | None,
    typer.Option(
        help="A file with the token to sign in with; with --actions one is made if not given."
    ),
]
Report = Annotated[
    Path | None,
    typer.Option(help="A report to show under History; of a folder, the newest report in it."),
]
Lake = Annotated[
    Path | None, typer.Option(help="The folder of a lake, whose newest report History shows.")
]


@app.command()
def dashboard(
    context: typer.Context,
    dsn: Dsns = None,
    schema: Schemas = None,
    host: Host = "127.0.0.1",
    port: Port = 8321,
    actions: Actions = False,
    token_file: TokenFile = None,
    report: Report = None,
    lake: Lake = None,
    log_level: LogLevel = "warning",
) -> None:
    """Serve the page: every channel, message, worker and schedule, live.

    Without --dsn it shows the server of the variable LONNYMQ_DSN, else the private one. Several --dsn and --schema
    give a queue each for every pair of them. It listens on this machine alone; any other address needs a token.
    """
    with session(Common().under(context.obj)) as at:
        log_to_stderr(log_level, as_json=at.common.as_json)
        token = token_from(token_file, needed=actions, host=host)
        shown = report or lake
        made = page(
            at, dsn or [], schema or [], actions=actions, token=token, report=shown, host=host
        )
        with listening(host, port) as listener:
            lines = [f"LonnyMQ: {address(listener)}"]
            if token is not None and token_file is None:
                lines.append(f"Token to sign in with: {token}")
            serve(made, listener, "\n".join(lines))


def page(
    at: Session,
    dsns: list[str],
    schemas: list[str],
    *,
    actions: bool,
    token: str | None,
    report: Path | None,
    host: str,
) -> Any:
    """The app for the queues that were named."""
    from lonnymq.dashboard import create_app

    return create_app(
        queues(at, dsns, schemas),
        actions=actions,
        token=token,
        report=report,
        hosts={*LOOPBACK, host} if is_loopback(host) else None,
    )


def queues(at: Session, dsns: list[str], schemas: list[str]) -> dict[str, Any]:
    """A queue for every pair of a server and a schema, by names that tell them apart."""
    from lonnymq.dashboard import QueueAt

    named = schemas or [at.schema]
    if not dsns:
        dsns = [at.dsn]
        if at.common.named_dsn is None:  # the private server: nobody else would install it
            from lonnymq.client import Queue

            for each in named:
                with Queue(at.dsn, schema=each) as queue:
                    queue.install()
    pairs = [(dsn, schema) for dsn in dsns for schema in named]
    several = len(dsns) > 1
    return {
        f"{dsns.index(dsn) + 1}-{schema}" if several else schema: QueueAt(dsn, schema=schema)
        for dsn, schema in pairs
    }


def token_from(file: Path | None, *, needed: bool, host: str) -> str | None:
    """The token of the file; a new one where one is needed and none was given."""
    if file is not None:
        try:
            return file.read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(
                f"The token cannot be read from {file}: {type(error).__name__}."
            ) from None
    if not is_loopback(host):
        raise CommandError(
            f"{host} can be reached by others: give a token with --token-file, or listen on 127.0.0.1.",
            Code.USAGE,
        )
    return secrets.token_urlsafe(32) if needed else None


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def listening(host: str, port: int) -> socket.socket:
    """A socket that takes connections."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=128)
    except OSError as error:
        raise CommandError(
            f"Cannot listen at {host}, port {port}: {error.strerror}. Try another --port; 0 takes a free one."
        ) from None


def address(listener: socket.socket) -> str:
    """Where a browser finds it."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def serve(made: Any, listener: socket.socket, words: str) -> None:
    """Serve until told to stop, which is a good end, whichever signal says it; the words are said once it is there."""
    import uvicorn

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            typer.echo(words)

    for number in (signal.SIGTERM, signal.SIGINT):  # uvicorn raises them once more when it is done
        signal.signal(number, lambda *_: None)
    config = uvicorn.Config(
        made,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    Server(config).run(sockets=[listener])
