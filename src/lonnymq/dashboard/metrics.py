"""Metrics for Prometheus, and the health checks of the dashboard."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from lonnymq.client import calls
from lonnymq.dashboard.api.queue import read_overview
from lonnymq.dashboard.errors import ApiError
from lonnymq.dashboard.queues import MonitoredQueue, Row
from lonnymq.dashboard.state import AppState, get_state
from lonnymq.metrics import CONTENT_TYPE, REST, Family, exposition

MAX_CHANNELS = 20
QUEUE_GAUGES = {
    "waiting.value": ("waiting_messages",
                      "Messages that wait, including scheduled messages. An estimate for large queues."),
    "running.value": ("running_messages", "Messages that are leased."),
    "dead.value": ("dead_messages", "Messages without attempts left."),
    "channels.value": ("channels", "Channels of the queue."),
    "ready_channels.value": ("ready_channels",
                             "Channels with a message that a worker can take now, counted up to 500."),
    "workers.alive": ("workers_alive", "Workers with a recent heartbeat."),
    "workers.concurrency": ("workers_slots",
                            "Messages that all live workers together can handle at the same time."),
    "in_per_s": ("created_per_second", "Messages created per second, recently."),
    "out_per_s": ("completed_per_second", "Messages completed per second, recently."),
    "failed_per_s": ("failed_per_second", "Attempts per second that failed, expired or died, recently."),
    "fairness.jain": ("fairness_jain",
                      "How evenly channels with a backlog and without limits were served recently. 1 is even."),
}  # fmt: skip
CHANNEL_GAUGES = {
    "waiting": ("channel_waiting_messages", "Messages of a channel that are due, counted up to 100."),
    "in_flight": ("channel_running_messages", "Messages of a channel that are leased."),
}  # fmt: skip
ANSWER_SECONDS = 8.0  # Prometheus waits for 10

Document = dict[str, Any]


async def send_metrics(request: Request) -> Response:
    """Send the metrics of all queues. A queue that does not answer has only the metric `up`, which is 0."""
    state = get_state(request)
    await state.authenticator.require_user(request)
    text = await state.cache.get("metrics", lambda: format_metrics(state))
    return PlainTextResponse(text, media_type=CONTENT_TYPE)


async def format_metrics(state: AppState) -> str:
    """The metrics in the text format of Prometheus."""
    families, queues = DashboardMetrics(), list(state.queues.values())
    for queue, found in zip(
        queues, await asyncio.gather(*(read_queue(state, each) for each in queues)), strict=True
    ):
        families.up.add(int(found is not None), queue=queue.key)
        if found is not None:
            families.add_queue(queue, found[0])
            families.add_channels(queue, found[1])
    return exposition(families.all)


async def read_queue(state: AppState, queue: MonitoredQueue) -> tuple[Document, list[Row]] | None:
    """Read the overview and the active channels of a queue, or None if the queue does not answer in time."""
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            overview = await state.cache.get((queue.key, "overview"), partial(read_overview, queue))
            return overview, await queue.rows(calls.channel_active, limit=100, count=100)
    except (ApiError, TimeoutError):
        return None


class DashboardMetrics:
    """The metrics of the dashboard."""

    def __init__(self) -> None:
        self.all: list[Family] = []
        self.up = self.gauge("up", "Whether the database of the queue answers.")
        self.queue_gauges = {
            path: self.gauge(name, about) for path, (name, about) in QUEUE_GAUGES.items()
        }
        self.created = Family(
            "lonnymq_messages_created_total", "counter",
            "Highest message id. Rolled back messages and duplicates count as well.",
        )  # fmt: skip
        self.all.append(self.created)
        self.oldest = self.gauge(
            "oldest_waiting_seconds", "How long the oldest message that is due has waited."
        )
        self.channel_gauges = {
            word: self.gauge(name, about) for word, (name, about) in CHANNEL_GAUGES.items()
        }

    def gauge(self, name: str, about: str) -> Family:
        """Add a gauge."""
        family = Family(f"lonnymq_{name}", "gauge", about)
        self.all.append(family)
        return family

    def add_queue(self, queue: MonitoredQueue, overview: Document) -> None:
        """Add one queue."""
        for path, family in self.queue_gauges.items():
            family.add(find_value(overview, path), queue=queue.key)
        self.created.add(overview["last_id"], queue=queue.key)
        since = overview["oldest_at"]
        waited = 0 if since is None else max(overview["now_at"] - since, 0) / 1000
        self.oldest.add(waited, queue=queue.key)

    def add_channels(self, queue: MonitoredQueue, active: list[Document]) -> None:
        """Add the busiest channels, and all other active channels as one."""
        by_work = sorted(active, key=lambda each: -each["waiting"] - 10 * each["in_flight"])
        top = [each for each in by_work[:MAX_CHANNELS] if each["channel"] != REST]
        rest = [each for each in by_work if each not in top]
        for word, family in self.channel_gauges.items():
            for each in top:
                family.add(each[word], queue=queue.key, channel=each["channel"])
            if rest:
                total = sum(each[word] or 0 for each in rest)
                family.add(total, queue=queue.key, channel=REST)


def find_value(document: Document, path: str) -> float | None:
    """A number of the overview, by its path."""
    value: Any = document
    for word in path.split("."):
        value = value[word]
    return value if value is None else float(value)


async def send_health(_: Request) -> Response:
    """Say that the process is running."""
    return JSONResponse({"status": "ok"})


async def send_readiness(request: Request) -> Response:
    """Say whether every queue answers."""
    state = get_state(request)
    found = await asyncio.gather(*(is_reachable(state, each) for each in state.queues.values()))
    answers = dict(zip(state.queues, found, strict=True))
    is_ready = all(answers.values())
    is_known = await state.authenticator.find_user(request) is not None
    document = {"ready": is_ready, "queues": answers if is_known else {}}
    return JSONResponse(document, status_code=200 if is_ready else 503)


async def is_reachable(state: AppState, queue: MonitoredQueue) -> bool:
    """Whether the database of a queue answers."""
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            await state.cache.get((queue.key, "ping"), lambda: queue.rows(calls.epoch))
    except (ApiError, TimeoutError):
        return False
    return True
