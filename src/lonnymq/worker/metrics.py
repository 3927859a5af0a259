"""A worker's metrics for Prometheus, and the HTTP server for /metrics, /health and /ready.

Imported only by workers with the `metrics` option.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from socketserver import TCPServer, ThreadingMixIn
from typing import TYPE_CHECKING, Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

try:
    from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
    from prometheus_client.exposition import choose_encoder
    from prometheus_client.metrics_core import Metric
except ImportError as error:
    raise ImportError(
        f'metrics need {error.name}: run pip install "lonnymq[worker]"', name=error.name
    ) from error

from lonnymq.metrics import REST
from lonnymq.worker.context import HandlerContext
from lonnymq.worker.error_text import locate_error
from lonnymq.worker.settings import TenantClass, parse_address

if TYPE_CHECKING:
    from lonnymq.worker.session import Session

logger = logging.getLogger("lonnymq.worker")

BUCKETS = (0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0, 60.0, 300.0)
MAX_CHANNELS = 50
MAX_WATCHED = 1000
MIN_SHARE = 0.01  # of all messages
NO_KIND, OTHER_KIND = "", "(other)"
MAX_CLASSES = 20
DEFAULT_CLASS, OTHER_CLASS = "default", "(other)"
REQUEST_SECONDS = 5.0
TEXT = "text/plain"

Response = tuple[str, str, bytes]


class Registry(CollectorRegistry):
    """A registry without the `_created` series, which would double the number of series."""

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics."""
        for family in super().collect():
            family.samples = [each for each in family.samples if not each.name.endswith("_created")]
            yield family


class ChannelLabels:
    """Chooses a bounded number of channels that get a label of their own: those with a hundredth of all messages.

    A channel keeps its label. Messages from before stay with the rest, so that no counter ever falls.
    """

    def __init__(self) -> None:
        self.labels: set[str] = set()
        self.watched: dict[str, int] = {}
        self.total = 0

    def label(self, channel: str) -> str:
        """Count a message, and return the label under which it counts."""
        self.total += 1
        if channel in self.labels:
            return channel
        if len(self.labels) >= MAX_CHANNELS or channel == REST:
            return REST
        seen = self.watched[channel] = self.watched.get(channel, 0) + 1
        if len(self.watched) > MAX_WATCHED:  # halve all counts: busy channels stay
            self.watched = {each: n // 2 for each, n in self.watched.items() if n > 1}
        if seen <= max(self.total * MIN_SHARE, 1):
            return REST
        self.labels.add(channel)
        return channel


class TenantClasses:
    """Asks your function for the class of a channel. The number of classes with a label of their own is bounded."""

    def __init__(self, function: TenantClass | None) -> None:
        self.function = function
        self.labels: set[str] = set()
        self.has_failed = False

    def label(self, channel: str) -> str:
        """Return the class. Further classes, and channels for which your function fails, count as others."""
        if self.function is None:
            return DEFAULT_CLASS
        try:
            name = str(self.function(channel))
        except Exception as error:
            if not self.has_failed:
                self.has_failed = True
                logger.error("tenant_class failed: %s", locate_error(error))
            return OTHER_CLASS
        if name not in self.labels and len(self.labels) >= MAX_CLASSES:
            return OTHER_CLASS
        self.labels.add(name)
        return name


class WorkerMetrics:
    """The metrics of one worker process."""

    def __init__(self, session: Session) -> None:
        self.registry = Registry()
        runner, database = session.runner, session.database
        self.kinds = {each or NO_KIND for each in runner.handlers.kinds}
        self.channel_labels = ChannelLabels()
        self.tenant_classes = TenantClasses(session.settings.tenant_class)
        self.gauge(
            "lonnymq_worker_up",
            "Whether the database answers the worker.",
            lambda: not database.is_down,
        )
        self.gauge(
            "lonnymq_worker_running_messages",
            "Messages with a running handler.",
            lambda: len(runner.leases),
        )
        self.gauge(
            "lonnymq_worker_slots",
            "Maximum number of messages handled at the same time.",
            lambda: runner.concurrency,
        )
        self.settled = Counter(
            "lonnymq_worker_settled_total",
            "Messages settled, by answer.",
            ["answer"],
            registry=self.registry,
        )
        self.handling = Histogram(
            "lonnymq_worker_handling_seconds",
            "Run time of handlers, by kind.",
            ["kind"],
            buckets=BUCKETS,
            registry=self.registry,
        )
        self.waiting = Histogram(
            "lonnymq_worker_waiting_seconds",
            "Time between the due time and the lease of messages, by tenant class.",
            ["tenant_class"],
            buckets=BUCKETS,
            registry=self.registry,
        )
        self.channels = Counter(
            "lonnymq_worker_channel_settled_total",
            "Messages settled, by channel. Only busy channels have a label of their own.",
            ["channel"],
            registry=self.registry,
        )

    def gauge(self, name: str, about: str, value: Callable[[], float]) -> None:
        """Add a metric that is read when Prometheus asks."""
        Gauge(name, about, registry=self.registry).set_function(value)

    def count(self, context: HandlerContext, answer: str) -> None:
        """Count a settled message."""
        message, kind = context.message, context.kind or NO_KIND
        self.settled.labels(answer).inc()
        if context.ended_at:
            label = kind if kind in self.kinds else OTHER_KIND
            self.handling.labels(label).observe(context.ended_at - context.started_at)
        waited = message.dequeued_at - max(message.dequeue_at, message.created_at)
        self.waiting.labels(self.tenant_classes.label(message.channel)).observe(
            max(waited, 0) / 1000
        )
        self.channels.labels(self.channel_labels.label(message.channel)).inc()


class Endpoints:
    """The WSGI application of a worker."""

    def __init__(self, session: Session, metrics: WorkerMetrics) -> None:
        self.session, self.metrics = session, metrics

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Answer a request."""
        method = environ["REQUEST_METHOD"]
        if method in ("GET", "HEAD"):
            status, kind, body = self.get(environ["PATH_INFO"], environ.get("HTTP_ACCEPT", ""))
        else:
            status, kind, body = "405 Method Not Allowed", TEXT, b"Use GET.\n"
        start_response(status, [("Content-Type", kind), ("Content-Length", str(len(body)))])
        return [] if method == "HEAD" else [body]

    def get(self, path: str, accept: str) -> Response:
        """Return the response for a path."""
        if path == "/metrics":
            encode, kind = choose_encoder(accept)
            return "200 OK", kind, encode(self.metrics.registry)
        if path == "/health":
            return "200 OK", TEXT, b"The worker is running.\n"
        if path == "/ready":
            problem = self.find_problem()
            if problem:
                return "503 Service Unavailable", TEXT, problem
            return "200 OK", TEXT, b"The worker is ready.\n"
        return "404 Not Found", TEXT, b"Use /metrics, /health or /ready.\n"

    def find_problem(self) -> bytes | None:
        """Return why the worker takes no messages, or None."""
        if self.session.stopping.is_set():
            return b"The worker is stopping.\n"
        if self.session.database.is_down:
            return b"The database is unreachable.\n"
        if self.session.fetch_task is None:
            return b"The worker is starting.\n"
        return None


class RequestHandler(WSGIRequestHandler):
    """Handles one request, quietly and with a time limit."""

    timeout = REQUEST_SECONDS

    def log_message(self, *_: Any) -> None:
        """Log no requests."""


class Server(ThreadingMixIn, WSGIServer):
    """An HTTP server that the event loop serves: it accepts in the loop and answers in threads.

    A blocked event loop therefore shows as a health check without an answer.
    """

    daemon_threads = True
    allow_reuse_port = False  # each process takes a port of its own
    timeout = 0  # the loop calls `handle_request` only when a client connects

    def __init__(self, host: str, port: int) -> None:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        self.address_family = family
        super().__init__(address, RequestHandler)  # type: ignore[arg-type]  # IPv6 has four fields

    def server_bind(self) -> None:
        """Bind without the slow search for the host's name that HTTPServer does."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = self.socket.getsockname()[:2]
        self.setup_environ()

    def handle_error(self, *_: Any) -> None:
        """Ignore clients that break off."""


@contextmanager
def serve_metrics(session: Session, address: str | int, *, tries: int = 1) -> Iterator[None]:
    """Serve metrics and health while a session runs. Each of several processes takes the next free port."""
    metrics = WorkerMetrics(session)
    session.reporter.listener = metrics.count
    server = open_server(*parse_address(address), tries=tries)
    if server is None:
        yield
        return
    loop = asyncio.get_running_loop()
    server.set_app(Endpoints(session, metrics))
    loop.add_reader(server.fileno(), server.handle_request)
    try:
        yield
    finally:
        loop.remove_reader(server.fileno())
        server.server_close()


def open_server(host: str, port: int, *, tries: int) -> Server | None:
    """Open the first free port. A worker without a free port logs the problem and works without metrics."""
    for at in range(port, port + tries):
        try:
            server = Server(host, at)
        except OSError as error:
            problem = error
            continue
        where = server.socket.getsockname()[:2]
        logger.info("metrics at http://%s:%s/metrics", *where, extra={"port": where[1]})
        return server
    logger.error("cannot serve metrics at %s:%s: %s", host, port, problem.strerror)
    return None
