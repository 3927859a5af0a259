"""The ASGI app with all routes, served by `lonnymq dashboard` or mounted in another app."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Collection, Mapping
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from lonnymq.dashboard import metrics
from lonnymq.dashboard.actions.routes import action_routes
from lonnymq.dashboard.api import endpoints, session
from lonnymq.dashboard.api.openapi import send_openapi
from lonnymq.dashboard.assets import load_assets, send_file, send_page
from lonnymq.dashboard.errors import ApiError
from lonnymq.dashboard.middleware import SecurityHeadersMiddleware
from lonnymq.dashboard.queues import build_queues
from lonnymq.dashboard.report import send_report, send_report_picture
from lonnymq.dashboard.security import Authenticate, Authenticator
from lonnymq.dashboard.state import AppState
from lonnymq.errors import InvalidArgument


def create_app(
    queues: Mapping[str, Any],
    *,
    actions: bool = False,
    token: str | None = None,
    authenticate: Authenticate | None = None,
    report: str | Path | None = None,
    lake: str | Path | None = None,
    hosts: Collection[str] | None = None,
) -> Starlette:
    """Build the dashboard as an ASGI app, to serve or to mount under any path.

    `queues` are the queues to show by key: each a DSN, a pool, or `QueueAt(dsn, schema="billing")`.
    With a `token`, or with `authenticate`, only users who are signed in see anything. `authenticate` gets the request
    and returns the name of the user, or None. Without both, everybody who reaches the dashboard can read.
    `actions` lets users act, and needs `token` or `authenticate`.
    `report` is a report for the History page, or a folder whose newest report is shown. `lake` is a folder of a lake.
    `hosts` are the host names that browsers may use. With None, the app that mounts the dashboard checks host names.
    """
    load_assets()  # before the first browser waits for them
    authenticator = Authenticator(token, authenticate)
    if actions and authenticator.login == "none":
        raise InvalidArgument("actions=True needs token or authenticate")
    folder = report or lake
    state = AppState(
        build_queues(queues),
        authenticator,
        actions=actions,
        report=Path(folder) if folder else None,
    )

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        for each in state.queues.values():
            await each.close()

    app = Starlette(
        routes=build_routes(state),
        middleware=[Middleware(SecurityHeadersMiddleware, hosts=hosts)],
        exception_handlers={ApiError: send_error, HTTPException: send_http_error},
        lifespan=lifespan,
    )
    app.state.dashboard = state
    return app


def build_routes(state: AppState) -> list[BaseRoute]:
    """All routes. Actions that are not enabled have no routes."""
    return [
        Route("/", send_page),
        Route("/static/{path:path}", send_file),
        Route("/api/session", session.show_session, methods=["GET"]),
        Route("/api/session", session.sign_in, methods=["POST"]),
        Route("/api/session/end", session.sign_out, methods=["POST"]),
        *(endpoint.route() for endpoint in endpoints.ENDPOINTS),
        Route("/api/queues/{queue}/messages/{id}", endpoints.send_message),
        Route("/api/queues/{queue}/messages/{id}/content", endpoints.send_message_content),
        Route("/api/queues/{queue}/events", endpoints.send_events),
        Route("/api/report", endpoints.send_report_details),
        Route("/report/", send_report),
        Route("/report/{name}", send_report_picture),
        *(action_routes() if state.actions else []),
        Route("/openapi.json", send_openapi),
        Route("/metrics", metrics.send_metrics),
        Route("/health", metrics.send_health),
        Route("/ready", metrics.send_readiness),
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
