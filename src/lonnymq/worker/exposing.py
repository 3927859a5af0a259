"""A worker's own address for programs: /metrics for Prometheus, /health and /ready for who keeps it running."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from lonnymq.errors import InvalidArgument
from lonnymq.metrics import CONTENT_TYPE, exposition
from lonnymq.worker.metrics import Measures
from lonnymq.worker.reporter import logger

if TYPE_CHECKING:
    from lonnymq.worker.session import Session

ASKED_WITHIN = 5.0
MOST_PORT = 65_535
PLAIN = "text/plain; charset=utf-8"

Answer = tuple[int, str, str]
REASONS = {200: "OK", 404: "Not Found", 405: "Method Not Allowed", 503: "Service Unavailable"}


def place_of(given: str | int) -> tuple[str, int]:
    """Host and port from `9100`, `'9100'` or `'0.0.0.0:9100'`; this machine alone unless a host is named."""
    host, _, port = str(given).rpartition(":")
    if not port.isascii() or not port.isdigit() or int(port) > MOST_PORT:
        raise InvalidArgument(f"metrics must be a port or host:port, not {given!r}")
    return host.strip("[]") or "127.0.0.1", int(port)


@asynccontextmanager
async def exposed(
    session: Session, given: str | int | None, *, tries: int = 1
) -> AsyncIterator[None]:
    """Answer programs while a session runs; of several processes each takes the next port that is free."""
    if given is None:
        yield
        return
    measures = Measures(session)
    before = session.jobs.told
    session.jobs.told = measures.told
    server = await listening(Answers(session, measures), *place_of(given), tries=tries)
    try:
        yield
    finally:
        session.jobs.told = before
        if server is not None:
            server.close()


async def listening(answers: Answers, host: str, port: int, *, tries: int) -> asyncio.Server | None:
    """Listen; a worker that finds no place goes on without, and says so."""
    for at in range(port, port + tries):
        try:
            server = await asyncio.start_server(answers.serve, host, at)
        except OSError as error:
            why = error
            continue
        where = server.sockets[0].getsockname()
        logger.info("metrics at http://%s:%s/metrics", *where[:2], extra={"port": where[1]})
        return server
    logger.error("metrics cannot be served at %s:%s: %s", host, port, why.strerror)
    return None


class Answers:
    """Answers requests, one a connection."""

    def __init__(self, session: Session, measures: Measures) -> None:
        self.session, self.measures = session, measures

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request, and close."""
        try:
            async with asyncio.timeout(ASKED_WITHIN):
                asked = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")[0].split(b" ")
                status, kind, text = self.answer(*asked[:2]) if len(asked) == 3 else NOTHING
                body = text.encode()
                head = (
                    f"HTTP/1.1 {status} {REASONS[status]}\r\nContent-Type: {kind}\r\n"
                    f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
                )
                writer.write(head.encode() + (b"" if asked[0] == b"HEAD" else body))
                await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()

    def answer(self, method: bytes, target: bytes) -> Answer:
        """What is answered to what."""
        if method not in (b"GET", b"HEAD"):
            return 405, PLAIN, "Only GET.\n"
        match target.partition(b"?")[0]:
            case b"/metrics":
                return 200, CONTENT_TYPE, exposition(self.measures.families())
            case b"/health":
                return 200, PLAIN, "The worker runs.\n"
            case b"/ready":
                return self.readiness()
            case _:
                return NOTHING

    def readiness(self) -> Answer:
        """Whether the worker takes messages."""
        if self.session.stopping.is_set():
            return 503, PLAIN, "The worker stops.\n"
        if self.session.link.is_down:
            return 503, PLAIN, "The database does not answer.\n"
        if self.session.fetching is None:
            return 503, PLAIN, "The worker has not begun.\n"
        return 200, PLAIN, "The worker takes messages.\n"


NOTHING: Answer = (404, PLAIN, "There are /metrics, /health and /ready.\n")
