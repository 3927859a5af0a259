"""`lonnymq dashboard`: serve the dashboard, by default read-only and on this machine only."""

from __future__ import annotations

import ipaddress
import secrets
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from lonnymq.cli.errors import Code, CommandError
from lonnymq.cli.options import Common, Embedded, option
from lonnymq.cli.output import LogLevel, log_to_stderr
from lonnymq.cli.session import Session, create_group, open_session

SHUTDOWN_SECONDS = 2
LOOPBACK = ("127.0.0.1", "localhost", "::1")

app = create_group("Serve the dashboard.")

Dsns = Annotated[
    list[str] | None,
    option("A PostgreSQL server to show. You can repeat this option.", "--dsn", metavar="DSN"),
]
Schemas = Annotated[
    list[str] | None,
    option("Schema of a queue. You can repeat this option.", "--schema", metavar="NAME"),
]
Host = Annotated[str, option("Address to listen on.")]
Port = Annotated[int, option("Port to listen on, 0 for a free port.", min=0, max=65535)]
Actions = Annotated[bool, option("Let users with the token pause, redrive or cancel.", "--actions")]
TokenFile = Annotated[
    Path | None, option("File with the sign-in token. Default with --actions: a new token.")
]
AccessFile = Annotated[
    Path | None,
    option("TOML file with the role of each user, per queue and channel.", "--access"),
]
AllowedHosts = Annotated[
    list[str] | None,
    option(
        "Host name that browsers may use, for example that of your proxy. You can repeat this option.",
        "--allowed-host",
        metavar="NAME",
    ),
]
UserHeader = Annotated[
    str | None,
    option(
        "Header in which a proxy on this machine sends the name of the user who is signed in.",
        "--proxy-user-header",
        metavar="NAME",
    ),
]
Report = Annotated[
    Path | None, option("Report to show under History, or a folder, to show its newest report.")
]
Lake = Annotated[Path | None, option("Folder of a lake, to show its newest report under History.")]


@app.command()
def dashboard(
    context: typer.Context,
    dsn: Dsns = None,
    embedded: Embedded = False,
    schema: Schemas = None,
    host: Host = "127.0.0.1",
    port: Port = 8321,
    actions: Actions = False,
    token_file: TokenFile = None,
    access: AccessFile = None,
    allowed_host: AllowedHosts = None,
    proxy_user_header: UserHeader = None,
    report: Report = None,
    lake: Lake = None,
    log_level: LogLevel = "warning",
) -> None:
    """Serve the dashboard: every channel, message, worker and schedule, live.

    Without --dsn the dashboard shows the server of the variable LONNYMQ_DSN. The dashboard shows each --schema of
    each --dsn. The command listens on this machine only. Any other address needs a token or --access.
    """
    with open_session(Common(embedded=embedded).merge(context.obj)) as session:
        from lonnymq.dashboard import create_app

        log_to_stderr(log_level, as_json=session.common.as_json)
        authenticate = read_user_header(proxy_user_header, host, token_file)
        if access is None:
            token = read_token(token_file, needed=actions and authenticate is None, host=host)
        else:
            token = None if token_file is None else read_token(token_file, needed=True, host=host)
        served = create_app(
            list_queues(session, dsn or [], schema or []),
            actions=actions,
            token=token,
            authenticate=authenticate,
            access=access,
            session_salt=secrets.token_bytes(16),
            report=report or lake,
            hosts={*LOOPBACK, host, *(allowed_host or [])}
            if is_loopback(host) or allowed_host
            else None,
        )
        with open_listener(host, port) as listener:
            lines = [f"LonnyMQ: {format_url(listener)}"]
            if token is not None and token_file is None:
                lines.append(f"Token to sign in with: {token}")
            serve(served, listener, "\n".join(lines))


def list_queues(session: Session, dsns: list[str], schemas: list[str]) -> dict[str, Any]:
    """A queue for every pair of a server and a schema, by a unique name."""
    from lonnymq.dashboard import QueueAt

    named = schemas or [session.schema]
    if not dsns:
        dsns = [session.dsn]
        if session.common.named_dsn is None:  # nobody else installs the queue on the private server
            from lonnymq.client import Queue

            for each in named:
                with Queue(session.dsn, schema=each) as queue:
                    queue.install()
    pairs = [(dsn, schema) for dsn in dsns for schema in named]
    several = len(dsns) > 1
    return {
        f"{dsns.index(dsn) + 1}-{schema}" if several else schema: QueueAt(dsn, schema=schema)
        for dsn, schema in pairs
    }


def read_user_header(
    name: str | None, host: str, token_file: Path | None
) -> Callable[[Any], str | None] | None:
    """The sign-in by a header of a proxy, if only this machine can reach the dashboard and send the header."""
    if name is None:
        return None
    if not is_loopback(host):
        raise CommandError(
            f"--proxy-user-header needs a proxy on this machine, but other machines can reach {host}: "
            "listen on 127.0.0.1.",
            Code.USAGE,
        )
    if token_file is not None:
        raise CommandError("Give --proxy-user-header or --token-file, not both.", Code.USAGE)
    return lambda request: clean_user(request.headers.get(name, ""))


def clean_user(name: str) -> str | None:
    """The name of a user without characters that cannot be printed, or None without a name."""
    return "".join(each for each in name if each.isprintable()).strip()[:80] or None


def read_token(file: Path | None, *, needed: bool, host: str) -> str | None:
    """The token of the file, else a new token if needed."""
    if file is not None:
        try:
            return file.read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(
                f"The file {file} with the token cannot be read: {type(error).__name__}."
            ) from None
    if not is_loopback(host):
        raise CommandError(
            f"Other machines can reach {host}: give a token with --token-file, or listen on 127.0.0.1.",
            Code.USAGE,
        )
    return secrets.token_urlsafe(32) if needed else None


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def open_listener(host: str, port: int) -> socket.socket:
    """A socket that accepts connections."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=128)
    except OSError as error:
        raise CommandError(
            f"Cannot listen on {host}, port {port}: {error.strerror}. Try another --port, or 0 for a free port."
        ) from None


def format_url(listener: socket.socket) -> str:
    """The URL for the browser."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def serve(app: Any, listener: socket.socket, message: str) -> None:
    """Print the message once the server is ready, and serve until SIGTERM or Ctrl-C."""
    import uvicorn

    from lonnymq.dashboard.protocol import TimedProtocol

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            typer.echo(message)

    for number in (signal.SIGTERM, signal.SIGINT):  # uvicorn raises the signal again at its end
        signal.signal(number, lambda *_: None)
    config = uvicorn.Config(
        app,
        http=TimedProtocol,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )
    Server(config).run(sockets=[listener])
