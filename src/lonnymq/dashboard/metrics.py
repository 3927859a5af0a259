"""What the page tells Prometheus, and whoever asks whether it is well."""

from __future__ import annotations

from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from lonnymq.dashboard.overview import overview
from lonnymq.dashboard.problems import Problem
from lonnymq.dashboard.queues import NOW, Shown, fetch
from lonnymq.dashboard.site import Site, site_of
from lonnymq.metrics import CONTENT_TYPE, REST, Family, exposition

ACTIVE = "select * from {schema}.channel_active(100, 100)"
TOP = 20

Document = dict[str, Any]


async def metrics(request: Request) -> Response:
    """All queues in Prometheus's text format; one that does not answer is down, and says nothing else."""
    site = site_of(request)
    await site.guard.admit(request)
    text = await site.kept.get("metrics", lambda: written(site))
    return PlainTextResponse(text, media_type=CONTENT_TYPE)


async def written(site: Site) -> str:
    """The text."""
    families = Families()
    for queue in site.queues.values():
        try:
            seen = await site.kept.get((queue.key, "overview"), partial(overview, queue))
            async with queue.reading() as connection:
                active = await fetch(connection, queue.schema, ACTIVE)
        except Problem:
            families.up.add(0, queue=queue.key)
            continue
        families.up.add(1, queue=queue.key)
        families.add_queue(queue, seen)
        families.add_channels(queue, active)
    return exposition(families.all)


class Families:
    """The metrics of the page."""

    def __init__(self) -> None:
        self.all: list[Family] = []
        self.up = self.gauge("up", "Whether the queue's database answers.")
        self.plain = {path: self.gauge(name, about) for path, (name, about) in PLAIN.items()}
        self.created = Family(
            "lonnymq_messages_created_total", "counter",
            "How far messages were numbered; rolled back ones and duplicates count as well.",
        )  # fmt: skip
        self.all.append(self.created)
        self.oldest = self.gauge(
            "oldest_waiting_seconds", "How long the first message has waited that is due."
        )
        self.of_channel = {
            word: self.gauge(name, about) for word, (name, about) in OF_CHANNEL.items()
        }

    def gauge(self, name: str, about: str) -> Family:
        """A figure that goes up and down."""
        family = Family(f"lonnymq_{name}", "gauge", about)
        self.all.append(family)
        return family

    def add_queue(self, queue: Shown, seen: Document) -> None:
        """One queue."""
        for path, family in self.plain.items():
            family.add(found(seen, path), queue=queue.key)
        self.created.add(seen["last_id"], queue=queue.key)
        since = seen["oldest_at"]
        waited = 0 if since is None else max(seen["now_at"] - since, 0) / 1000
        self.oldest.add(waited, queue=queue.key)

    def add_channels(self, queue: Shown, active: list[Document]) -> None:
        """Its busiest channels, and the rest of those in which something goes on as one."""
        by_work = sorted(active, key=lambda each: -each["waiting"] - 10 * each["in_flight"])
        top = [each for each in by_work[:TOP] if each["channel"] != REST]
        rest = [each for each in by_work if each not in top]
        for word, family in self.of_channel.items():
            for each in top:
                family.add(each[word], queue=queue.key, channel=each["channel"])
            if rest:
                total = sum(each[word] or 0 for each in rest)
                family.add(total, queue=queue.key, channel=REST)


def found(document: Document, path: str) -> float | None:
    """A figure of the overview, by its path."""
    value: Any = document
    for word in path.split("."):
        value = value[word]
    return value if value is None else float(value)


async def health(_: Request) -> Response:
    """The process runs."""
    return JSONResponse({"status": "ok"})


async def ready(request: Request) -> Response:
    """Whether every queue answers."""
    site = site_of(request)
    answers = {key: await answers_now(site, queue) for key, queue in site.queues.items()}
    is_ready = all(answers.values())
    is_known = await site.guard.visitor(request) is not None
    document = {"ready": is_ready, "queues": answers if is_known else {}}
    return JSONResponse(document, status_code=200 if is_ready else 503)


async def answers_now(site: Site, queue: Shown) -> bool:
    """Whether a queue's database answers."""
    try:
        await site.kept.get((queue.key, "ping"), lambda: queue.rows(NOW))
    except Problem:
        return False
    return True


PLAIN = {
    "waiting.value": (
        "waiting_messages",
        "Messages that wait, scheduled ones too; estimated where there are many.",
    ),
    "running.value": ("running_messages", "Messages that are leased."),
    "dead.value": ("dead_messages", "Messages that are out of attempts."),
    "channels.value": ("channels", "Channels that the queue knows."),
    "ready_channels.value": (
        "ready_channels",
        "Channels that have something due and may be served; counted up to 500.",
    ),
    "workers.alive": ("workers_alive", "Workers that said lately that they are there."),
    "workers.concurrency": ("workers_slots", "Messages that the workers alive handle at once."),
    "in_per_s": ("created_per_second", "Messages created a second, lately."),
    "out_per_s": ("completed_per_second", "Messages completed a second, lately."),
    "failed_per_s": (
        "failed_per_second",
        "Attempts a second that failed, ran out of time or were the last, lately.",
    ),
    "fairness.jain": (
        "fairness_jain",
        "How evenly backlogged channels without limits were served lately: 1 is even.",
    ),
}
OF_CHANNEL = {
    "waiting": (
        "channel_waiting_messages",
        "Messages of a channel that are due; counted up to 100.",
    ),
    "in_flight": ("channel_running_messages", "Messages of a channel that are leased."),
}
