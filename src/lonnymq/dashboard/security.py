"""Authentication by token, session cookie or host app, and protection against requests forged by other sites.

The session is what the page needs first: the user, the rights of the user, and the queues.
"""

from __future__ import annotations

import hashlib
import hmac
import inspect
import json
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

from lonnymq.dashboard.access import AccessRules, Role
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
    "oidc": "Open the page and sign in.",
    "token": "Enter the token on the page, or send the header Authorization: Bearer <token>.",
    "host": "Sign in to the application that contains this dashboard.",
}
Authenticate = Callable[[Request], "str | Awaitable[str | None] | None"]
Login = Literal["none", "token", "host", "oidc"]


@dataclass(frozen=True, slots=True)
class User:
    """Somebody who is signed in: a name, if one is known, and whether the token came in a header.

    A name is verified unless the user typed the name together with a token that several users share.
    """

    name: str | None
    by_header: bool = False
    groups: tuple[str, ...] = ()
    is_verified: bool = True

    @property
    def audit_name(self) -> str:
        """The name for the audit log."""
        name = self.name or "unknown"
        return name if self.is_verified else f"{name} (unverified)"


class Authenticator:
    """Finds the user of a request by token or by the host app. Without either, everybody may read."""

    def __init__(
        self,
        token: str | None,
        authenticate: Authenticate | None,
        *,
        rules: AccessRules | None = None,
        salt: bytes = b"",
    ) -> None:
        if token is not None and len(token) < MIN_TOKEN_LENGTH:
            raise InvalidArgument(
                f"token is too short: the minimum is {MIN_TOKEN_LENGTH} characters"
            )
        if token is not None and authenticate is not None:
            raise InvalidArgument("pass token or authenticate, not both")
        if rules is not None:
            check_rules(rules, token=token, has_host=authenticate is not None)
        self.token, self.authenticate, self.rules = token, authenticate, rules
        self.ended: dict[bytes, None] = {}  # the signatures of sessions that were signed out
        self.failures: deque[tuple[float, str]] = deque(maxlen=MAX_FAILURES_OF_ALL)
        secret = repr((token, rules and sorted(rules.tokens.items()), rules and rules.oidc))
        self.key = hashlib.sha256(b"lonnymq dashboard session\0" + salt + secret.encode()).digest()

    @property
    def login(self) -> Login:
        """How users sign in."""
        if self.rules is not None and self.rules.oidc is not None:
            return "oidc"
        has_token = self.token or (self.rules is not None and self.rules.tokens)
        return "token" if has_token else "host" if self.authenticate else "none"

    async def find_user(self, request: Request) -> User | None:
        """The user of a request, or None for somebody who may not read."""
        if self.authenticate is not None:
            found = self.authenticate(request)
            name = await found if inspect.isawaitable(found) else found
            return User(str(name)) if name else None
        if self.login == "none":
            return User(None)
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            return self.find_user_of_token(given.strip(), by_header=True)
        return self.read_session(request.cookies.get(cookie_name(request, SESSION_COOKIE), ""))

    def find_user_of_token(
        self, given: str, *, name: str = "", by_header: bool = False
    ) -> User | None:
        """The user of a token. The name of a personal token is verified, a name beside a shared token is not."""
        if self.rules is not None:
            found = self.rules.find_user(given)
            return User(found, by_header=by_header) if found is not None else None
        if not self.is_token(given):
            return None
        return User(name or TOKEN_USER, by_header=by_header, is_verified=not name)

    async def require_user(self, request: Request) -> User:
        """The user of a request, or an error for somebody who may not read."""
        user = await self.find_user(request)
        if user is None:
            raise ApiError("unauthorized", "Sign in first.", advice=ADVICE[self.login])
        return user

    def is_token(self, given: str) -> bool:
        """Compare with the token, in constant time."""
        return self.token is not None and hmac.compare_digest(given.encode(), self.token.encode())

    def create_session(self, user: User) -> str:
        """The cookie that a browser holds instead of the token: the user and the end of the session, signed."""
        until = int(time.time()) + SESSION_SECONDS
        parts = [until, secrets.token_hex(8), user.name, user.groups, user.is_verified]
        content = json.dumps(parts).encode()
        return f"{encode_base64(content)}.{encode_base64(self.sign(content))}"

    def read_session(self, cookie: str) -> User | None:
        """The user, or None if the session has ended or the signature is wrong."""
        content, _, signature = cookie.partition(".")
        try:
            text, sign = decode_base64(content), decode_base64(signature)
        except ValueError:
            return None
        if not hmac.compare_digest(sign, self.sign(text)) or sign in self.ended:
            return None
        until, _, name, groups, is_verified = json.loads(text)
        if until <= time.time():
            return None
        return User(name, groups=tuple(groups), is_verified=is_verified)

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
        """Sign the content of a session with a key that is derived from the tokens."""
        return hmac.digest(self.key, content, "sha256")


def check_rules(rules: AccessRules, *, token: str | None, has_host: bool) -> None:
    """Reject an access file without a way to sign in, or with two ways that contradict each other."""
    if token is not None:
        raise InvalidArgument(
            "pass token or access, not both: the access file has a token per user"
        )
    ways = [bool(rules.tokens) or rules.oidc is not None, has_host]
    if all(ways):
        raise InvalidArgument("the access file has tokens or oidc, so pass no authenticate")
    if not any(ways):
        raise InvalidArgument("nobody can sign in: add [tokens] or [oidc] to the access file")


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
    if authenticator.login not in ("token", "oidc"):
        raise ApiError("not_found", "This dashboard has no token to sign in with.")
    address = request.client.host if request.client else "unknown"
    authenticator.check_failures(address)
    token, name = check_text(body.token, "token"), clean_name(body.name or "")
    user = authenticator.find_user_of_token(token, name=name)
    if user is None:
        authenticator.failures.append((time.monotonic(), address))
        logger.warning("sign-in from %s failed: wrong token", address)
        raise ApiError(
            "unauthorized",
            "The token is wrong.",
            advice="The access file has a token per user."
            if authenticator.rules
            else "`lonnymq dashboard` printed the token when it started.",
        )
    logger.info("%s signed in from %s", user.audit_name, address)
    response = send_session(request, user)
    set_session(request, response, user)
    return response


def set_session(request: Request, response: Response, user: User) -> None:
    """Give the browser the cookie of a new session."""
    session = get_state(request).authenticator.create_session(user)
    response.set_cookie(cookie_name(request, SESSION_COOKIE), session, **cookie_settings(request))


async def sign_out(request: Request) -> Response:
    """End the session and delete its cookie. Live streams of the session end with their next event."""
    check_csrf(request, None)
    authenticator, key = get_state(request).authenticator, cookie_name(request, SESSION_COOKIE)
    authenticator.end_session(request.cookies.get(key, ""))
    has_session = authenticator.login in ("token", "oidc")
    response = send_session(request, None if has_session else User(None))
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
    roles = state.find_roles(user) if user is not None else {}
    return {
        "signed_in": user is not None,
        "user": user.name if user else None,
        "login": state.authenticator.login,
        "actions": any((each.role or 0) >= Role.ACT for each in roles.values()),
        "shared_token": state.authenticator.token is not None,
        "csrf": csrf,
        "version": version("lonnymq"),
        "queues": [
            {
                **{name: getattr(each, name) for name in ("key", "database", "schema", "label")},
                "role": roles[each.key].role_name,
                "channels": roles[each.key].patterns,
                "shows_payloads": roles[each.key].shows_payloads,
                "actions": [
                    name
                    for name, role in state.action_roles.items()
                    if (roles[each.key].role or 0) >= role
                ],
            }
            for each in state.queues.values()
            if each.key in roles
        ],
        "report": state.report is not None and user is not None,
    }


def clean_name(name: str) -> str:
    """A name without characters that cannot be printed, for the audit log."""
    return "".join(each for each in name.strip() if each.isprintable())[:MAX_NAME_LENGTH]
