"""HTTP connections of `lonnymq dashboard`: a request that does not arrive in time is ended, whoever sends it."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_SECONDS = 20.0


class TimedProtocol(H11Protocol):
    """A connection that is closed if a whole request, with its body, takes too long to arrive."""

    request_seconds = REQUEST_SECONDS
    deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Start to wait for the first request."""
        super().connection_made(transport)
        self.start_deadline()

    def data_received(self, data: bytes) -> None:
        """Wait until the request is complete, and no longer than the limit."""
        super().data_received(data)
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self.stop_deadline()
        elif self.deadline is None:
            self.start_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self.stop_deadline()
        super().connection_lost(exc)

    def start_deadline(self) -> None:
        """Close the connection after the limit."""
        self.deadline = self.loop.call_later(self.request_seconds, self.transport.abort)

    def stop_deadline(self) -> None:
        """The request has arrived."""
        if self.deadline is not None:
            self.deadline.cancel()
            self.deadline = None
