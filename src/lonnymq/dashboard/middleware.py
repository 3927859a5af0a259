"""The middleware around all responses: security headers, allowed host names, and errors that reveal no secrets."""

from __future__ import annotations

import traceback
from collections.abc import Collection
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lonnymq.dashboard.errors import ApiError
from lonnymq.dashboard.queues import logger

POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "font-src 'self'",
        "frame-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
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
