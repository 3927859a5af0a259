"""Authentication by token, session cookie or host app, and protection against requests forged by other sites."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import inspect
import secrets
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection, Request
from starlette.responses import Response

from lonnymq.dashboard.errors import ApiError
from lonnymq.errors import InvalidArgument

SESSION_COOKIE, CSRF_COOKIE, CSRF_HEADER = "lonnymq_session", "lonnymq_csrf", "x-csrf-token"
SESSION_SECONDS = 12 * 3600
MIN_TOKEN_LENGTH = 16
MAX_NAME_LENGTH = 80
TOKEN_USER = "token"  # noqa: S105 - the name of users who give none

Authenticate = Callable[[HTTPConnection], "str | Awaitable[str | None] | None"]
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
        self.key = hashlib.sha256(b"lonnymq dashboard session\0" + (token or "").encode()).digest()

    @property
    def login(self) -> Login:
        """How users sign in."""
        return "token" if self.token else "host" if self.authenticate else "none"

    async def find_user(self, request: HTTPConnection) -> User | None:
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
        name = self.read_session(request.cookies.get(SESSION_COOKIE, ""))
        return User(name) if name else None

    async def require_user(self, request: HTTPConnection) -> User:
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
        content = f"{int(time.time()) + SESSION_SECONDS}:{name}".encode()
        return f"{encode(content)}.{encode(self.sign(content))}"

    def read_session(self, cookie: str) -> str | None:
        """The user's name, or None if the session has ended or the signature is wrong."""
        content, _, signature = cookie.partition(".")
        try:
            text, sign = decode(content), decode(signature)
        except (ValueError, binascii.Error):
            return None
        if not hmac.compare_digest(sign, self.sign(text)):
            return None
        until, _, name = text.decode().partition(":")
        return name if int(until) > time.time() else None

    def sign(self, content: bytes) -> bytes:
        """Sign the content of a session with a key that is derived from the token."""
        return hmac.digest(self.key, content, "sha256")


def check_csrf(request: Request, user: User | None) -> None:
    """Reject a request that a page of another site may have made the browser send."""
    if user is not None and user.by_header:
        return  # no browser sends this header by itself
    if not is_same_site(request):
        raise ApiError("forbidden", "The request comes from a page of another site.")
    cookie, header = request.cookies.get(CSRF_COOKIE, ""), request.headers.get(CSRF_HEADER, "")
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
    token = request.cookies.get(CSRF_COOKIE, "")
    return token if len(token) == CSRF_LENGTH and token.isalnum() else secrets.token_hex(16)


def set_cookie(response: Response, request: Request, name: str, value: str) -> None:
    """Set a cookie that no script can read and that no page of another site can send."""
    response.set_cookie(name, value, **cookie_settings(request))


def delete_cookie(response: Response, request: Request, name: str) -> None:
    """Delete a cookie."""
    response.delete_cookie(name, **cookie_settings(request))


def cookie_settings(request: Request) -> dict[str, Any]:
    """Limit a cookie to the path and the scheme of this app."""
    return {
        "path": request.scope.get("root_path", "").rstrip("/") + "/",
        "httponly": True,
        "samesite": "strict",
        "secure": request.url.scheme == "https",
    }


def encode(data: bytes) -> str:
    """Encode bytes for a cookie."""
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def decode(text: str) -> bytes:
    """Decode bytes from a cookie."""
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)


CSRF_LENGTH = 32
ADVICE = {
    "none": None,
    "token": "Enter the token on the page, or send the header Authorization: Bearer <token>.",
    "host": "Sign in to the application that contains this dashboard.",
}
