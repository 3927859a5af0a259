"""Around every answer: headers that let nothing foreign in, hosts that are known, faults that tell no secrets."""

from __future__ import annotations

import traceback
from collections.abc import Collection
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lonnymq.dashboard.problems import Problem
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


class Around:
    """Adds the headers to what an app answers; refuses hosts that are not known; keeps faults to itself."""

    def __init__(self, app: ASGIApp, hosts: Collection[str] | None = None) -> None:
        self.app, self.hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
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

        if not self.is_known(Headers(scope=scope).get("host", "")):
            await UNKNOWN_HOST.response()(scope, receive, send_with_headers)
            return
        try:
            await self.app(scope, receive, send_with_headers)
        except Exception as error:
            logger.error("a fault: %s", kind_and_place(error))
            if not has_begun:
                await FAULT.response()(scope, receive, send_with_headers)

    def is_known(self, host: str) -> bool:
        """Whether a browser that names this host may be answered: one that was led here by another name may not."""
        if self.hosts is None:
            return True
        try:
            return urlsplit(f"//{host}").hostname in self.hosts
        except ValueError:
            return False


def add_headers(headers: MutableHeaders) -> None:
    """Say what browsers are to know; files may be kept, and are asked for again, all else is not kept."""
    headers.setdefault("Cache-Control", "no-cache" if "etag" in headers else "no-store")
    for name, value in HEADERS.items():
        headers.setdefault(name, value)


def kind_and_place(error: BaseException) -> str:
    """The kind of an error and the line that raised it, without its words: those may quote a payload."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{place}"


FAULT = Problem("internal", "The page has a fault.", advice="See the log of the server.")
UNKNOWN_HOST = Problem(
    "forbidden", "This page is not known by that name.", advice="Use the address that was printed."
)
