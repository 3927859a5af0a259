"""The ASGI app with all routes, served by `lonnymq dashboard` or mounted in another app.

The middleware around all responses adds security headers, checks host names, and hides the text of errors.
"""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import AsyncIterator, Collection, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lonnymq.dashboard import metrics, security
from lonnymq.dashboard.access import Role, load_access
from lonnymq.dashboard.actions.routes import ACTIONS, action_routes
from lonnymq.dashboard.api import endpoints
from lonnymq.dashboard.api.openapi import send_openapi
from lonnymq.dashboard.errors import ApiError
from lonnymq.dashboard.files import (
    load_assets,
    send_file,
    send_page,
    send_report,
    send_report_picture,
)
from lonnymq.dashboard.guard import guard_route
from lonnymq.dashboard.oidc import OidcLogin
from lonnymq.dashboard.queues import build_queues, logger
from lonnymq.dashboard.security import Authenticate, Authenticator
from lonnymq.dashboard.state import AppState
from lonnymq.errors import InvalidArgument

QUEUE: Final = "/api/queues/{queue}"
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; font-src 'self'; frame-src 'self'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


def create_app(
    queues: Mapping[str, Any],
    *,
    actions: bool = False,
    token: str | None = None,
    authenticate: Authenticate | None = None,
    access: str | Path | None = None,
    report: str | Path | None = None,
    lake: str | Path | None = None,
    hosts: Collection[str] | None = None,
    session_salt: bytes = b"",
) -> Starlette:
    """Build the dashboard as an ASGI app, to serve or to mount under any path.

    `queues` are the queues to show by key: each a DSN, a pool, or `QueueAt(dsn, schema="billing")`.
    With a `token`, or with `authenticate`, only users who are signed in see anything. `authenticate` gets the request
    and returns the name of the user, or None. Without both, everybody who reaches the dashboard can read.
    `actions` lets users act, and needs `token` or `authenticate`.
    `access` is an access file, which gives every user a role, in some queues and channels, instead of `actions`.
    `report` is a report for the History page, or a folder whose newest report is shown. `lake` is a folder of a lake.
    `hosts` are the host names that browsers may use. With None, the app that mounts the dashboard checks host names.
    `session_salt` ends all sessions when it changes. `lonnymq dashboard` passes new random bytes at every start.
    """
    load_assets()  # before the first browser waits for them
    rules = load_access(access) if access is not None else None
    if rules is not None and actions:
        raise InvalidArgument(
            "pass actions or access, not both: the access file has a role per user"
        )
    authenticator = Authenticator(token, authenticate, rules=rules, salt=session_salt)
    if actions and authenticator.login == "none":
        raise InvalidArgument("actions=True needs token or authenticate")
    has_actions = actions or (rules is not None and rules.highest >= Role.ACT)
    folder = report or lake
    state = AppState(
        build_queues(queues),
        authenticator,
        rules=rules,
        actions=has_actions,
        action_roles={name: each.role for name, each in ACTIONS.items()} if has_actions else {},
        report=Path(folder) if folder else None,
    )

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        for each in state.queues.values():
            await each.close()

    app = Starlette(
        routes=build_routes(state),
        middleware=[
            Middleware(SecurityHeadersMiddleware, hosts=hosts),
            Middleware(CompressionMiddleware, minimum_size=1000, compresslevel=5),
        ],
        exception_handlers={ApiError: send_error, HTTPException: send_http_error},
        lifespan=lifespan,
    )
    app.state.dashboard = state
    return app


def build_routes(state: AppState) -> list[BaseRoute]:
    """All routes, each with the role that it needs. Actions that are not enabled have no routes."""
    provider = state.rules.oidc if state.rules is not None else None
    return [
        guard_route("/", send_page, role=None),
        guard_route("/static/{path:path}", send_file, role=None),
        guard_route("/api/session", security.show_session, role=None),
        guard_route("/api/session", security.sign_in, role=None, methods=["POST"]),
        guard_route("/api/session/end", security.sign_out, role=None, methods=["POST"]),
        *(endpoint.route() for endpoint in endpoints.ENDPOINTS),
        guard_route(
            f"{QUEUE}/messages/{{id}}/content", endpoints.send_message_content, role=Role.VIEW
        ),
        guard_route(f"{QUEUE}/events", endpoints.send_events, role=Role.VIEW),
        guard_route("/api/report", endpoints.send_report_details, role=Role.VIEW),
        guard_route("/report/", send_report, role=Role.VIEW),
        guard_route("/report/{name}", send_report_picture, role=Role.VIEW),
        *(action_routes() if state.actions else []),
        *(OidcLogin(provider).routes() if provider is not None else []),
        guard_route("/openapi.json", send_openapi, role=None),
        guard_route("/metrics", metrics.send_metrics, role=Role.VIEW),
        guard_route("/health", metrics.send_health, role=None),
        guard_route("/ready", metrics.send_readiness, role=None),
    ]


async def send_error(_: Request, error: Exception) -> Response:
    """Send an error of the API."""
    assert isinstance(error, ApiError)  # noqa: S101 - registered for it
    return error.response()


async def send_http_error(_: Request, error: Exception) -> Response:
    """Send an error of the router in the form of all other errors."""
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for it
    code = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code, "invalid")
    message = "There is nothing at this address." if code == "not_found" else error.detail
    return ApiError(code, message).response()


class CompressionMiddleware(GZipMiddleware):
    """Compresses long answers. Live events are sent at once, so nothing may wait for more of them."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        is_stream = scope["type"] == "http" and scope["path"].endswith("/events")
        await (
            self.app(scope, receive, send) if is_stream else super().__call__(scope, receive, send)
        )


class SecurityHeadersMiddleware:
    """Adds security headers, rejects unknown host names, and hides the text of unexpected errors."""

    def __init__(self, app: ASGIApp, hosts: Collection[str] | None = None) -> None:
        self.app, self.hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        has_begun = False

        async def send_with_headers(message: Message) -> None:
            nonlocal has_begun
            if message["type"] == "http.response.start":
                has_begun = True
                add_headers(MutableHeaders(scope=message))
            await send(message)

        if not self.is_allowed(Headers(scope=scope).get("host", "")):
            await UNKNOWN_HOST.response()(scope, receive, send_with_headers)
            return
        try:
            await self.app(scope, receive, send_with_headers)
        except Exception as error:
            logger.error("unexpected error: %s", describe_error(error))
            if not has_begun:
                await INTERNAL_ERROR.response()(scope, receive, send_with_headers)

    def is_allowed(self, host: str) -> bool:
        """Whether the host name of a request is allowed. Unknown names are a sign of DNS rebinding."""
        if self.hosts is None:
            return True
        try:
            return urlsplit(f"//{host}").hostname in self.hosts
        except ValueError:
            return False


def add_headers(headers: MutableHeaders) -> None:
    """Add the security headers. Browsers may cache files after asking again, and nothing else."""
    headers.setdefault("Cache-Control", "no-cache" if "etag" in headers else "no-store")
    for name, value in HEADERS.items():
        headers.setdefault(name, value)


def describe_error(error: BaseException) -> str:
    """The type of an error and the line that raised it, without the message, which may quote a payload."""
    frames = traceback.extract_tb(error.__traceback__)
    line = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{line}"


INTERNAL_ERROR = ApiError(
    "internal", "The dashboard failed.", advice="Look at the log of the server."
)
UNKNOWN_HOST = ApiError(
    "forbidden",
    "The dashboard does not answer to this host name.",
    advice="Use the address that `lonnymq dashboard` printed.",
)
