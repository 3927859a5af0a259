"""Sign-in and sign-out, and what the page needs first: the user, the rights of the user, and the queues."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from lonnymq.dashboard.errors import ApiError
from lonnymq.dashboard.request import Body, check_text, read_body
from lonnymq.dashboard.security import (
    CSRF_COOKIE,
    MAX_NAME_LENGTH,
    SESSION_COOKIE,
    TOKEN_USER,
    User,
    check_csrf,
    delete_cookie,
    get_csrf_token,
    set_cookie,
)
from lonnymq.dashboard.state import AppState, get_state


class SignInBody(Body):
    """The token, and a name for the audit log."""

    token: str
    name: str | None = None


async def show_session(request: Request) -> Response:
    """Send the session of the browser."""
    user = await get_state(request).authenticator.find_user(request)
    return send_session(request, user)


async def sign_in(request: Request) -> Response:
    """Exchange the token for a session cookie."""
    authenticator = get_state(request).authenticator
    check_csrf(request, None)
    body = await read_body(request, SignInBody)
    if authenticator.login != "token":
        raise ApiError("not_found", "This dashboard has no token to sign in with.")
    if not authenticator.is_token(check_text(body.token, "token")):
        raise ApiError(
            "unauthorized",
            "The token is wrong.",
            advice="`lonnymq dashboard` printed the token when it started.",
        )
    name = clean_name(body.name or "") or TOKEN_USER
    response = send_session(request, User(name))
    set_cookie(response, request, SESSION_COOKIE, authenticator.create_session(name))
    return response


async def sign_out(request: Request) -> Response:
    """Delete the session cookie."""
    check_csrf(request, None)
    login = get_state(request).authenticator.login
    response = send_session(request, None if login == "token" else User(None))
    delete_cookie(response, request, SESSION_COOKIE)
    return response


def send_session(request: Request, user: User | None) -> Response:
    """Send the session as JSON, and the CSRF token of the browser as a cookie."""
    csrf = get_csrf_token(request)
    response = JSONResponse(describe_session(get_state(request), user, csrf))
    set_cookie(response, request, CSRF_COOKIE, csrf)
    return response


def describe_session(state: AppState, user: User | None, csrf: str) -> dict[str, Any]:
    """The session as JSON. Only users who are signed in see the queues."""
    queues = state.queues.values() if user is not None else ()
    return {
        "signed_in": user is not None,
        "user": user.name if user else None,
        "login": state.authenticator.login,
        "actions": state.actions and user is not None,
        "csrf": csrf,
        "version": version("lonnymq"),
        "queues": [
            {
                "key": each.key,
                "database": each.database,
                "schema": each.schema,
                "label": each.label,
            }
            for each in queues
        ],
        "report": state.report is not None and user is not None,
    }


def clean_name(name: str) -> str:
    """A name without characters that cannot be printed, for the audit log."""
    return "".join(each for each in name.strip() if each.isprintable())[:MAX_NAME_LENGTH]
