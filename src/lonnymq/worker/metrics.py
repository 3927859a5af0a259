"""What a worker counts for Prometheus: how messages were settled, how long they took, whose they were."""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from lonnymq.errors import InvalidArgument
from lonnymq.metrics import CONTENT_TYPE, REST, Family, exposition
from lonnymq.worker.context import Facts
from lonnymq.worker.reporter import logger

if TYPE_CHECKING:
    from lonnymq.worker.session import Session

BOUNDS = (0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0, 60.0, 300.0)
MOST_CHANNELS = 50
MOST_WATCHED = 1000
WORTH_A_LINE = 0.01  # of all messages
NO_KIND, OTHER_KIND = "", "(other)"


class Histogram:
    """How many took how long."""

    __slots__ = ("counts", "total")

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS) + 1)
        self.total = 0.0

    def add(self, seconds: float) -> None:
        """Count one."""
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.total += seconds

    def write(self, family: Family, **labels: str) -> None:
        """Its lines: so many at most so long."""
        reached = 0
        for bound, count in zip((*BOUNDS, float("inf")), self.counts, strict=True):
            reached += count
            family.add(
                reached, "_bucket", **labels, le="+Inf" if bound == float("inf") else f"{bound:g}"
            )
        family.add(self.total, "_sum", **labels)
        family.add(reached, "_count", **labels)


class Tenants:
    """Counts by channel, in a bounded number of lines: who makes up a hundredth of all gets one, for good.

    What a channel had before it got its line stays with the rest, so that no line ever falls.
    """

    def __init__(self) -> None:
        self.lines: dict[str, int] = {REST: 0}
        self.watched: dict[str, int] = {}
        self.total = 0

    def add(self, channel: str) -> None:
        """Count one."""
        self.total += 1
        if channel in self.lines and channel != REST:
            self.lines[channel] += 1
            return
        if self.is_worth_a_line(channel):
            self.lines[channel] = 1
            return
        self.lines[REST] += 1

    def is_worth_a_line(self, channel: str) -> bool:
        """Whether a channel that had none gets a line now."""
        if len(self.lines) > MOST_CHANNELS or channel == REST:
            return False
        seen = self.watched[channel] = self.watched.get(channel, 0) + 1
        if len(self.watched) > MOST_WATCHED:  # halve all: the steady ones stay
            self.watched = {each: n // 2 for each, n in self.watched.items() if n > 1}
        return seen > max(self.total * WORTH_A_LINE, 1)


class Measures:
    """The figures of one worker process."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.kinds = {each or NO_KIND for each in session.jobs.handlers.kinds}
        self.handling: dict[str, Histogram] = {}
        self.waiting = Histogram()
        self.tenants = Tenants()

    def told(self, context: Facts, answer: str) -> None:
        """Count a message that is settled."""
        kind = context.kind or NO_KIND
        kind = kind if kind in self.kinds else OTHER_KIND
        if context.ended:
            if kind not in self.handling:
                self.handling[kind] = Histogram()
            self.handling[kind].add(context.ended - context.began)
        message = context.message
        waited = message.dequeued_at - max(message.dequeue_at, message.created_at)
        self.waiting.add(max(waited, 0) / 1000)
        self.tenants.add(message.channel)

    def families(self) -> list[Family]:
        """All of it, for Prometheus."""
        jobs = self.session.jobs
        up = Family("lonnymq_worker_up", "gauge", "Whether the worker's database answers.")
        up.add(not self.session.link.is_down)
        running = Family("lonnymq_worker_running_messages", "gauge", "Messages being handled.")
        running.add(len(jobs.leases))
        slots = Family(
            "lonnymq_worker_slots", "gauge", "Messages that are handled at once, at most."
        )
        slots.add(jobs.concurrency)
        settled = Family(
            "lonnymq_worker_settled_total", "counter", "Messages settled, by what became of them."
        )
        for answer, count in sorted(jobs.counts.items()):
            settled.add(count, answer=answer)
        handling = Family(
            "lonnymq_worker_handling_seconds", "histogram", "How long handlers took, by kind."
        )
        for kind, histogram in sorted(self.handling.items()):
            histogram.write(handling, kind=kind)
        waiting = Family(
            "lonnymq_worker_waiting_seconds", "histogram",
            "How long messages had been due when they were leased.",
        )  # fmt: skip
        self.waiting.write(waiting)
        channels = Family(
            "lonnymq_worker_channel_settled_total", "counter",
            "Messages settled, by channel: those with many have a line of their own.",
        )  # fmt: skip
        for channel, count in self.tenants.lines.items():
            channels.add(count, channel=channel)
        return [up, running, slots, settled, handling, waiting, channels]


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
