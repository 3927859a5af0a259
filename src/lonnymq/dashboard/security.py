"""Who is asking, and whether a browser was tricked into asking: token, session cookie, CSRF, origin."""

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

from lonnymq.dashboard.problems import Problem
from lonnymq.errors import InvalidArgument

SESSION_COOKIE, CSRF_COOKIE, CSRF_HEADER = "lonnymq_session", "lonnymq_csrf", "x-csrf-token"
SESSION_SECONDS = 12 * 3600
SHORTEST_TOKEN = 16
LONGEST_NAME = 80
NOBODY = "token"

Authenticate = Callable[[HTTPConnection], "str | Awaitable[str | None] | None"]
Login = Literal["none", "token", "host"]


@dataclass(frozen=True, slots=True)
class Visitor:
    """Who asks: a name if one is known, and whether a browser's cookie said so."""

    name: str | None
    by_header: bool = False


class Guard:
    """Lets in whoever holds the token, or whom the host app knows; all, where neither was asked for."""

    def __init__(self, token: str | None, authenticate: Authenticate | None) -> None:
        if token is not None and len(token) < SHORTEST_TOKEN:
            raise InvalidArgument(f"a token has at least {SHORTEST_TOKEN} characters")
        if token is not None and authenticate is not None:
            raise InvalidArgument("give a token or authenticate, not both")
        self.token, self.authenticate = token, authenticate
        self.key = hashlib.sha256(b"lonnymq dashboard session\0" + (token or "").encode()).digest()

    @property
    def login(self) -> Login:
        """How one signs in."""
        return "token" if self.token else "host" if self.authenticate else "none"

    async def visitor(self, request: HTTPConnection) -> Visitor | None:
        """Who asks; None: somebody who may not."""
        if self.authenticate is not None:
            found = self.authenticate(request)
            name = await found if inspect.isawaitable(found) else found
            return Visitor(str(name)) if name else None
        if self.token is None:
            return Visitor(None)
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            return Visitor(NOBODY, by_header=True) if self.is_token(given.strip()) else None
        name = self.read_session(request.cookies.get(SESSION_COOKIE, ""))
        return Visitor(name) if name else None

    async def admit(self, request: HTTPConnection) -> Visitor:
        """Who asks; a problem if that is nobody who may."""
        visitor = await self.visitor(request)
        if visitor is None:
            raise Problem("unauthorized", "Sign in first.", advice=ADVICE[self.login])
        return visitor

    def is_token(self, given: str) -> bool:
        """Whether this is the token, in a time that does not tell how much of it was right."""
        return self.token is not None and hmac.compare_digest(given.encode(), self.token.encode())

    def session(self, name: str) -> str:
        """What a browser keeps in place of the token: a name and an end, signed."""
        said = f"{int(time.time()) + SESSION_SECONDS}:{name}".encode()
        return f"{encoded(said)}.{encoded(self.signature(said))}"

    def read_session(self, cookie: str) -> str | None:
        """Whose session it is; None if it has ended or was not signed here."""
        said, _, signature = cookie.partition(".")
        try:
            text, sign = decoded(said), decoded(signature)
        except (ValueError, binascii.Error):
            return None
        if not hmac.compare_digest(sign, self.signature(text)):
            return None
        until, _, name = text.decode().partition(":")
        return name if int(until) > time.time() else None

    def signature(self, said: bytes) -> bytes:
        """Shows that something was said by a holder of the token."""
        return hmac.digest(self.key, said, "sha256")


def refuse_forged(request: Request, visitor: Visitor | None) -> None:
    """Refuse a request that another site's page may have made the browser send."""
    if visitor is not None and visitor.by_header:
        return  # no browser sends this header by itself
    if not is_own_page(request):
        raise Problem("forbidden", "The request comes from another site's page.")
    cookie, header = request.cookies.get(CSRF_COOKIE, ""), request.headers.get(CSRF_HEADER, "")
    if not cookie or not hmac.compare_digest(cookie.encode(), header.encode()):
        raise Problem(
            "forbidden",
            "The request lacks the page's own mark.",
            advice="Load the page again; a program sends the header X-CSRF-Token as api/session says.",
        )


def is_own_page(request: Request) -> bool:
    """Whether a request comes from this page: as the browser says, else by comparing origin and host."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site in ("same-origin", "none")
    origin = request.headers.get("origin")
    return origin is None or urlsplit(origin).netloc == request.headers.get("host")


def csrf_of(request: Request) -> str:
    """The mark that this browser's page sends along; a new one if it has none."""
    kept = request.cookies.get(CSRF_COOKIE, "")
    return kept if len(kept) == CSRF_LENGTH and kept.isalnum() else secrets.token_hex(16)


def set_cookie(response: Response, request: Request, name: str, value: str) -> None:
    """Give a browser a cookie that no script reads and no other site's page sends."""
    response.set_cookie(name, value, **cookie_settings(request))


def drop_cookie(response: Response, request: Request, name: str) -> None:
    """Take a browser's cookie away."""
    response.delete_cookie(name, **cookie_settings(request))


def cookie_settings(request: Request) -> dict[str, Any]:
    """For this app alone: its path, its scheme."""
    return {
        "path": request.scope.get("root_path", "").rstrip("/") + "/",
        "httponly": True,
        "samesite": "strict",
        "secure": request.url.scheme == "https",
    }


def encoded(data: bytes) -> str:
    """Bytes as a cookie can hold them."""
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def decoded(text: str) -> bytes:
    """The bytes again."""
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)


CSRF_LENGTH = 32
ADVICE = {
    "none": None,
    "token": "Enter the token on the page, or send it as Authorization: Bearer.",
    "host": "Sign in to the application that this page belongs to.",
}
