"""Signing in and out, and what the page is to know first: who looks, what may be done, which queues there are."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from lonnymq.dashboard.bodies import body_of, text_in
from lonnymq.dashboard.problems import Problem
from lonnymq.dashboard.security import (
    CSRF_COOKIE,
    LONGEST_NAME,
    NOBODY,
    SESSION_COOKIE,
    Visitor,
    csrf_of,
    drop_cookie,
    refuse_forged,
    set_cookie,
)
from lonnymq.dashboard.site import Site, site_of


async def session_show(request: Request) -> Response:
    """Tell the page who looks and what there is."""
    visitor = await site_of(request).guard.visitor(request)
    return answer(request, visitor)


async def session_start(request: Request) -> Response:
    """Take the token once, and give the browser a session in its place."""
    guard = site_of(request).guard
    refuse_forged(request, None)
    body = await body_of(request)
    if guard.login != "token":
        raise Problem("not_found", "There is no token to sign in with here.")
    if not guard.is_token(text_in(body, "token")):
        raise Problem(
            "unauthorized", "This is not the token.", advice="It was printed at the start."
        )
    name = printable(text_in(body, "name", required=False)) or NOBODY
    response = answer(request, Visitor(name))
    set_cookie(response, request, SESSION_COOKIE, guard.session(name))
    return response


async def session_end(request: Request) -> Response:
    """Sign out."""
    refuse_forged(request, None)
    site = site_of(request)
    response = answer(request, None if site.guard.login == "token" else Visitor(None))
    drop_cookie(response, request, SESSION_COOKIE)
    return response


def answer(request: Request, visitor: Visitor | None) -> Response:
    """The session as JSON, with the browser's mark against forged requests."""
    site, csrf = site_of(request), csrf_of(request)
    response = JSONResponse(document(site, visitor, csrf))
    set_cookie(response, request, CSRF_COOKIE, csrf)
    return response


def document(site: Site, visitor: Visitor | None, csrf: str) -> dict[str, Any]:
    """What the page is to know first; of the queues nothing, unless who looks may."""
    return {
        "signed_in": visitor is not None,
        "user": visitor.name if visitor else None,
        "login": site.guard.login,
        "actions": site.actions and visitor is not None,
        "csrf": csrf,
        "version": version("lonnymq"),
        "queues": [
            {
                "key": each.key,
                "database": each.database,
                "schema": each.schema,
                "label": each.label,
            }
            for each in site.queues.values()
            if visitor is not None
        ],
        "report": site.report is not None and visitor is not None,
    }


def printable(name: str) -> str:
    """A name as it may stand in the audit log."""
    return "".join(each for each in name.strip() if each.isprintable())[:LONGEST_NAME]
