"""Authentication by token, session cookie or host app, and protection against requests forged by other sites.

The session is what the page needs first: the user, the rights of the user, and the queues.
"""

from __future__ import annotations

import hashlib
import hmac
import inspect
import secrets
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Literal
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from lonnymq.dashboard.errors import ApiError
from lonnymq.dashboard.queues import logger
from lonnymq.dashboard.request import Body, check_text, decode_base64, encode_base64, read_body
from lonnymq.dashboard.state import AppState, get_state
from lonnymq.errors import InvalidArgument

SESSION_COOKIE, CSRF_COOKIE, CSRF_HEADER = "lonnymq_session", "lonnymq_csrf", "x-csrf-token"
SESSION_SECONDS = 12 * 3600
MAX_FAILURES, MAX_FAILURES_OF_ALL, FAILURE_SECONDS = (
    10,
    100,
    60.0,
)  # wrong tokens of an address, and of all
MAX_ENDED_SESSIONS = 10_000
MIN_TOKEN_LENGTH = 16
MAX_NAME_LENGTH = 80
TOKEN_USER = "token"  # noqa: S105 - the name of users who give none
CSRF_LENGTH = 32
ADVICE = {
    "none": None,
    "token": "Enter the token on the page, or send the header Authorization: Bearer <token>.",
    "host": "Sign in to the application that contains this dashboard.",
}
Authenticate = Callable[[Request], "str | Awaitable[str | None] | None"]
Login = Literal["none", "token", "host"]


@dataclass(frozen=True, slots=True)
class User:
    """Somebody who may read: a name, if one is known, and whether the token came in a header."""

    name: str | None
    by_header: bool = False


class Authenticator:
    """Finds the user of a request by token or by the host app. Without either, everybody may read."""

    def __init__(self, token: str | None, authenticate: Authenticate | None) -> None:
        if token is not None and len(token) < MIN_TOKEN_LENGTH:
            raise InvalidArgument(
                f"token is too short: the minimum is {MIN_TOKEN_LENGTH} characters"
            )
        if token is not None and authenticate is not None:
            raise InvalidArgument("pass token or authenticate, not both")
        self.token, self.authenticate = token, authenticate
        self.ended: dict[bytes, None] = {}  # the signatures of sessions that were signed out
        self.failures: deque[tuple[float, str]] = deque(maxlen=MAX_FAILURES_OF_ALL)
        self.key = hashlib.sha256(b"lonnymq dashboard session\0" + (token or "").encode()).digest()

    @property
    def login(self) -> Login:
        """How users sign in."""
        return "token" if self.token else "host" if self.authenticate else "none"

    async def find_user(self, request: Request) -> User | None:
        """The user of a request, or None for somebody who may not read."""
        if self.authenticate is not None:
            found = self.authenticate(request)
            name = await found if inspect.isawaitable(found) else found
            return User(str(name)) if name else None
        if self.token is None:
            return User(None)
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            return User(TOKEN_USER, by_header=True) if self.is_token(given.strip()) else None
        name = self.read_session(request.cookies.get(cookie_name(request, SESSION_COOKIE), ""))
        return User(name) if name else None

    async def require_user(self, request: Request) -> User:
        """The user of a request, or an error for somebody who may not read."""
        user = await self.find_user(request)
        if user is None:
            raise ApiError("unauthorized", "Sign in first.", advice=ADVICE[self.login])
        return user

    def is_token(self, given: str) -> bool:
        """Compare with the token, in constant time."""
        return self.token is not None and hmac.compare_digest(given.encode(), self.token.encode())

    def create_session(self, name: str) -> str:
        """The cookie that a browser holds instead of the token: the name and the end of the session, signed."""
        until = int(time.time()) + SESSION_SECONDS
        content = f"{until}:{secrets.token_hex(8)}:{name}".encode()
        return f"{encode_base64(content)}.{encode_base64(self.sign(content))}"

    def read_session(self, cookie: str) -> str | None:
        """The user's name, or None if the session has ended or the signature is wrong."""
        content, _, signature = cookie.partition(".")
        try:
            text, sign = decode_base64(content), decode_base64(signature)
        except ValueError:
            return None
        if not hmac.compare_digest(sign, self.sign(text)) or sign in self.ended:
            return None
        until, _, name = text.decode().split(":", 2)
        return name if int(until) > time.time() else None

    def end_session(self, cookie: str) -> None:
        """End a session: the cookie is worthless from now on, wherever a copy of it is."""
        if self.read_session(cookie) is None:
            return
        if len(self.ended) >= MAX_ENDED_SESSIONS:
            del self.ended[next(iter(self.ended))]
        self.ended[decode_base64(cookie.partition(".")[2])] = None

    def check_failures(self, address: str) -> None:
        """Reject an address with too many wrong tokens within a minute, and everybody if all together have."""
        since = time.monotonic() - FAILURE_SECONDS
        recent = [each for at, each in self.failures if at > since]
        if recent.count(address) >= MAX_FAILURES or len(recent) >= MAX_FAILURES_OF_ALL:
            raise ApiError(
                "too_many", "Too many wrong tokens.", advice="Wait for a minute, then try again."
            )

    def sign(self, content: bytes) -> bytes:
        """Sign the content of a session with a key that is derived from the token."""
        return hmac.digest(self.key, content, "sha256")


def check_csrf(request: Request, user: User | None) -> None:
    """Reject a request that a page of another site may have made the browser send."""
    if user is not None and user.by_header:
        return  # no browser sends this header by itself
    if not is_same_site(request):
        raise ApiError("forbidden", "The request comes from a page of another site.")
    cookie = request.cookies.get(cookie_name(request, CSRF_COOKIE), "")
    header = request.headers.get(CSRF_HEADER, "")
    if not cookie or not hmac.compare_digest(cookie.encode(), header.encode()):
        raise ApiError(
            "forbidden",
            "The request has no valid CSRF token.",
            advice="Load the page again. In a program, send the `csrf` of api/session in the header X-CSRF-Token.",
        )


def is_same_site(request: Request) -> bool:
    """Whether a request comes from this page, by the browser's word or else by comparing origin and host."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site in ("same-origin", "none")
    origin = request.headers.get("origin")
    return origin is None or urlsplit(origin).netloc == request.headers.get("host")


def get_csrf_token(request: Request) -> str:
    """The CSRF token of this browser, or a new token."""
    token = request.cookies.get(cookie_name(request, CSRF_COOKIE), "")
    return token if len(token) == CSRF_LENGTH and token.isalnum() else secrets.token_hex(16)


def cookie_name(request: Request, name: str) -> str:
    """The name of a cookie at this port: browsers send cookies to all ports of a host."""
    port = request.url.port
    return name if port is None else f"{name}_{port}"


def cookie_settings(request: Request) -> dict[str, Any]:
    """A cookie that no script can read, that no page of another site can send, and that only this app gets."""
    return {
        "path": request.scope.get("root_path", "").rstrip("/") + "/",
        "httponly": True,
        "samesite": "strict",
        "secure": request.url.scheme == "https",
    }


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
    address = request.client.host if request.client else "unknown"
    authenticator.check_failures(address)
    if not authenticator.is_token(check_text(body.token, "token")):
        authenticator.failures.append((time.monotonic(), address))
        logger.warning("sign-in from %s failed: wrong token", address)
        raise ApiError(
            "unauthorized",
            "The token is wrong.",
            advice="`lonnymq dashboard` printed the token when it started.",
        )
    name = clean_name(body.name or "") or TOKEN_USER
    logger.info("%s signed in from %s", name, address)
    response = send_session(request, User(name))
    session, key = authenticator.create_session(name), cookie_name(request, SESSION_COOKIE)
    response.set_cookie(key, session, **cookie_settings(request))
    return response


async def sign_out(request: Request) -> Response:
    """End the session and delete its cookie. Live streams of the session end with their next event."""
    check_csrf(request, None)
    authenticator, key = get_state(request).authenticator, cookie_name(request, SESSION_COOKIE)
    authenticator.end_session(request.cookies.get(key, ""))
    response = send_session(request, None if authenticator.login == "token" else User(None))
    response.delete_cookie(key, **cookie_settings(request))
    return response


def send_session(request: Request, user: User | None) -> Response:
    """Send the session as JSON, and the CSRF token of the browser as a cookie."""
    csrf = get_csrf_token(request)
    response = JSONResponse(describe_session(get_state(request), user, csrf))
    response.set_cookie(cookie_name(request, CSRF_COOKIE), csrf, **cookie_settings(request))
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
            {name: getattr(each, name) for name in ("key", "database", "schema", "label")}
            for each in queues
        ],
        "report": state.report is not None and user is not None,
    }


def clean_name(name: str) -> str:
    """A name without characters that cannot be printed, for the audit log."""
    return "".join(each for each in name.strip() if each.isprintable())[:MAX_NAME_LENGTH]
