"""The ASGI app: routes put together, to be served by `lonnymq dashboard` or mounted in a host app."""

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

from lonnymq.dashboard import endpoints, metrics, session
from lonnymq.dashboard.actions import action_routes
from lonnymq.dashboard.files import files, index, static
from lonnymq.dashboard.headers import Around
from lonnymq.dashboard.openapi import openapi
from lonnymq.dashboard.problems import Problem
from lonnymq.dashboard.queues import shown
from lonnymq.dashboard.report import report_page, report_picture
from lonnymq.dashboard.security import Authenticate, Guard
from lonnymq.dashboard.site import Site
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
    """Make the page as an ASGI app, to serve or to mount under any path.

    `queues` names the queues to show: a DSN, a pool, or `QueueAt(dsn, schema="billing")` each.
    With a `token`, or with `authenticate`, which gets the request and answers the user's name or None, nothing is
    shown to anybody else; without either all who reach it may look. `actions` needs one of them.
    `report` is a report to show under History, or a folder with some, of which the newest is shown; `lake` is a
    folder of a lake, whose own reports are.
    `hosts` are the names by which browsers may ask for the page; None leaves that to the host app.
    """
    files()  # read and joined now, not when the first browser waits for them
    guard = Guard(token, authenticate)
    if actions and guard.login == "none":
        raise InvalidArgument("actions need a token, or authenticate")
    place = report or lake
    site = Site(shown(queues), guard, actions=actions, report=Path(place) if place else None)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        for each in site.queues.values():
            await each.close()

    app = Starlette(
        routes=routes(site),
        middleware=[Middleware(Around, hosts=hosts)],
        exception_handlers={Problem: problem, HTTPException: http_problem},
        lifespan=lifespan,
    )
    app.state.site = site
    return app


def routes(site: Site) -> list[BaseRoute]:
    """All that can be asked for; what is not allowed is not there."""
    return [
        Route("/", index),
        Route("/static/{path:path}", static),
        Route("/api/session", session.session_show, methods=["GET"]),
        Route("/api/session", session.session_start, methods=["POST"]),
        Route("/api/session/end", session.session_end, methods=["POST"]),
        *(look.route() for look in endpoints.LOOKS),
        Route("/api/queues/{queue}/messages/{id}", endpoints.message_look),
        Route("/api/queues/{queue}/messages/{id}/content", endpoints.message_content),
        Route("/api/queues/{queue}/events", endpoints.events),
        Route("/api/report", endpoints.report_look),
        Route("/report/", report_page),
        Route("/report/{name}", report_picture),
        *(action_routes() if site.actions else []),
        Route("/openapi.json", openapi),
        Route("/metrics", metrics.metrics),
        Route("/health", metrics.health),
        Route("/ready", metrics.ready),
    ]


async def problem(_: Request, error: Exception) -> Response:
    """A problem as an answer."""
    assert isinstance(error, Problem)  # noqa: S101 - registered for it
    return error.response()


async def http_problem(_: Request, error: Exception) -> Response:
    """What the router says, in the form of all problems."""
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for it
    code = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code, "invalid")
    return Problem(
        code, "There is nothing here." if code == "not_found" else error.detail
    ).response()
