"""Metrics for Prometheus, and the health checks of the dashboard."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import psycopg
from psycopg.rows import dict_row
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from lonnymq.client import calls
from lonnymq.dashboard.api.queue import read_overview
from lonnymq.dashboard.errors import ApiError
from lonnymq.dashboard.queues import MonitoredQueue, QueueTransaction, Row
from lonnymq.dashboard.state import AppState, get_state
from lonnymq.doctor import Report, run_checks
from lonnymq.errors import LonnyMQError
from lonnymq.metrics import CONTENT_TYPE, REST, Family, exposition

MAX_CHANNELS = 20
SERVER_GAUGES = {
    "transaction_id_age": "Age of the oldest transaction id of the database. PostgreSQL stops at 2.1 billion.",
    "held_snapshot_seconds": "How long the oldest transaction has held a snapshot of the database.",
    "maintenance_age_seconds": "Time since the last maintenance of the queue. Unknown before the first.",
}
SERVER = """
select greatest(age(d.datfrozenxid), mxid_age(d.datminmxid))::float8 as transaction_id_age,
  (
    select coalesce(extract(epoch from max(clock_timestamp() - a.xact_start)), 0)::float8
    from pg_stat_activity a
    where a.datname = d.datname and a.backend_xmin is not null and a.pid <> pg_backend_pid()
      and a.backend_type = 'client backend'
  ) as held_snapshot_seconds
from pg_database d where d.datname = current_database()
"""
MINUTE_MS, DAY_MS = 60_000, 86_400_000
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
    "waiting": ("channel_waiting_messages",
                "Messages of a channel that wait, including scheduled messages, counted up to 10,000."),
    "running": ("channel_running_messages", "Messages of a channel that are leased."),
}  # fmt: skip
DOCTOR_WAIT_SECONDS = 2.0
OUTCOMES = {
    "completed": "completed", "failed": "failed", "deferred": "deferred", "expired": "expired", "dead": "died",
}  # fmt: skip
REASONS = ("no_workers", "failing", "dying", "paused", "saturated", "throttled", "old")
MAX_COUNTED = 10_000
HOUR_MS = 3_600_000
ANSWER_SECONDS = 8.0  # Prometheus waits for 10

Document = dict[str, Any]


async def send_metrics(request: Request) -> Response:
    """Send the metrics of all queues. A queue that does not answer has only the metric `up`, which is 0."""
    state = get_state(request)
    text = await state.cache.get("metrics", lambda: format_metrics(state))
    return PlainTextResponse(text, media_type=CONTENT_TYPE)


async def format_metrics(state: AppState) -> str:
    """The metrics in the text format of Prometheus."""
    families, queues = DashboardMetrics(), list(state.queues.values())
    for queue, (found, report) in zip(
        queues, await asyncio.gather(*(read_all(state, each) for each in queues)), strict=True
    ):
        families.up.add(int(found is not None), queue=queue.key)
        if found is not None:
            families.add_queue(queue.key, found)
        if report is not None:
            families.add_report(queue.key, report)
    return exposition(families.all)


async def read_all(
    state: AppState, queue: MonitoredQueue
) -> tuple[QueueReading | None, Report | None]:
    """Read a queue and, if the queue answers, what the doctor says of it."""
    found = await read_queue(state, queue)
    return found, None if found is None else await read_doctor(state, queue)


@dataclass(frozen=True, slots=True)
class QueueReading:
    """What the database says about a queue."""

    overview: Document
    channels: list[Row]
    totals: list[Row]
    attention: list[Row]
    server: Document
    kinds: list[Row]


async def read_queue(state: AppState, queue: MonitoredQueue) -> QueueReading | None:
    """Read a queue, or None if the queue does not answer in time."""
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            overview = await state.cache.get((queue.key, "overview"), partial(read_overview, queue))
            async with queue.read_transaction() as transaction:
                names = await choose_channels(transaction, queue)
                return QueueReading(
                    overview,
                    await transaction.rows(calls.channel_active, names, count=MAX_COUNTED),
                    await transaction.rows(calls.attempt_totals, names),
                    await transaction.rows(calls.queue_attention, limit=1000),
                    await read_server(transaction),
                    await transaction.rows(calls.kind_list),
                )
    except (ApiError, TimeoutError):
        return None


async def read_server(transaction: QueueTransaction) -> Document:
    """Read the ages that an operator watches: of transaction ids, of snapshots, of maintenance."""
    cursor = transaction.connection.cursor(row_factory=dict_row)
    await cursor.execute(SERVER.encode())
    [found] = await cursor.fetchall()
    now_at = await transaction.call(calls.epoch)
    # Every maintenance takes a sample, at most every 5 s: the last one tells when there was maintenance.
    samples = await transaction.rows(calls.sample_list, now_at - MINUTE_MS, step_ms=1000)
    samples = samples or await transaction.rows(
        calls.sample_list, now_at - DAY_MS, step_ms=MINUTE_MS
    )
    age = (now_at - max(each["at"] for each in samples)) / 1000 if samples else None
    return {**found, "maintenance_age_seconds": age}


async def read_doctor(state: AppState, queue: MonitoredQueue) -> Report | None:
    """Run the quick checks of the doctor once a minute. If the doctor takes long, the last report counts."""
    if queue.dsn is None:
        return None
    check = partial(asyncio.to_thread, run_checks, queue.dsn, schema=queue.schema, quick=True)
    try:
        async with asyncio.timeout(DOCTOR_WAIT_SECONDS):
            state.reports[queue.key] = await state.doctor_cache.get(queue.key, check)
    except TimeoutError:
        pass
    except (psycopg.Error, LonnyMQError):
        state.reports.pop(queue.key, None)
    return state.reports.get(queue.key)


async def choose_channels(transaction: QueueTransaction, queue: MonitoredQueue) -> list[str]:
    """The channels with series of their own: a chosen channel keeps its series while it is in use.

    Free places go to the channels with the most waiting messages, then to those with the most attempts of an hour.
    """
    now_at = await transaction.call(calls.epoch)
    active = await transaction.rows(calls.channel_rank, "waiting", limit=MAX_CHANNELS)
    ended = await transaction.rows(
        calls.attempt_stats, "channel", start=now_at - HOUR_MS, limit=MAX_CHANNELS
    )
    found = [each["channel"] for each in active] + [each["name"] for each in ended]
    kept = list(queue.metric_channels)
    if kept:
        used = await transaction.rows(calls.channel_active, kept, count=1)
        busy = {each["channel"] for each in used if each["state"] != "idle"}
        kept = [name for name in kept if name in busy or name in found]
    chosen = [name for name in dict.fromkeys(kept + found) if name != REST][:MAX_CHANNELS]
    queue.metric_channels = chosen
    return chosen


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
        self.attention = self.gauge(
            "attention_channels", "Channels that need attention, by reason, counted up to 1,000."
        )
        self.attempts = self.family(
            "attempts_total", "counter", "Attempts that ended, by outcome, up to the latest sample."
        )
        self.channel_attempts = self.family(
            "channel_attempts_total", "counter", "Attempts of a channel that ended, by outcome."
        )
        self.waited = self.family(
            "wait_seconds", "histogram", "How long attempts waited after their messages were due."
        )
        self.ran = self.family("run_seconds", "histogram", "How long attempts ran.")
        self.server_gauges = {
            name: self.gauge(name, about) for name, about in SERVER_GAUGES.items()
        }
        self.checks = self.gauge("doctor_checks", "Checks that the doctor has run.")
        self.problems = self.gauge(
            "doctor_problems", "Problems that the doctor has found, by check and level."
        )
        self.unserved = self.gauge(
            "messages_unserved",
            "Waiting messages of a kind that no active worker takes, counted up to 1000.",
        )

    def gauge(self, name: str, about: str) -> Family:
        """Add a gauge."""
        return self.family(name, "gauge", about)

    def family(
        self, name: str, kind: Literal["counter", "gauge", "histogram"], about: str
    ) -> Family:
        """Add a metric."""
        family = Family(f"lonnymq_{name}", kind, about)
        self.all.append(family)
        return family

    def add_queue(self, key: str, found: QueueReading) -> None:
        """Add one queue."""
        overview = found.overview
        for path, family in self.queue_gauges.items():
            family.add(find_value(overview, path), queue=key)
        self.created.add(overview["last_id"], queue=key)
        since = overview["oldest_at"]
        waited = 0 if since is None else max(overview["now_at"] - since, 0) / 1000
        self.oldest.add(waited, queue=key)
        reasons = Counter(each["reason"] for each in found.attention)
        for reason in REASONS:
            self.attention.add(reasons[reason], queue=key, reason=reason)
        self.add_channels(key, found)
        self.add_totals(key, found.totals)
        self.add_server(key, found.server)
        self.add_kinds(key, found.kinds)

    def add_server(self, key: str, found: Document) -> None:
        """Add what was read of the server."""
        for name, family in self.server_gauges.items():
            family.add(found[name], queue=key)

    def add_report(self, key: str, report: Report) -> None:
        """Add what the doctor found."""
        self.checks.add(len(report.checked), queue=key)
        for (check, level), many in Counter((p.check, p.level) for p in report.problems).items():
            self.problems.add(many, queue=key, check=check, level=level)

    def add_channels(self, key: str, found: QueueReading) -> None:
        """Add the chosen channels, and all other channels as one."""
        sums = {"waiting": 0, "running": 0}
        for each in found.channels:
            figures = {
                "waiting": each["waiting"] + each["scheduled"],
                "running": each["in_flight"] or 0,
            }
            for word, value in figures.items():
                sums[word] += value
                self.channel_gauges[word].add(value, queue=key, channel=each["channel"])
        for word, value in sums.items():
            rest = max(found.overview[word]["value"] - value, 0)
            self.channel_gauges[word].add(rest, queue=key, channel=REST)

    def add_totals(self, key: str, totals: list[Row]) -> None:
        """Add the counters and histograms."""
        for each in totals:
            name = each["channel"]
            for outcome, column in OUTCOMES.items():
                if name:
                    self.channel_attempts.add(
                        each[column], queue=key, channel=name, outcome=outcome
                    )
                else:
                    self.attempts.add(each[column], queue=key, outcome=outcome)
            if each["waits"]:
                bounds = [bound / 1000 for bound in each["bounds_ms"]]
                self.waited.add_histogram(bounds, each["waits"], each["wait_ms"] / 1000, queue=key)
                self.ran.add_histogram(bounds, each["runs"], each["run_ms"] / 1000, queue=key)

    def add_kinds(self, key: str, kinds: list[Row]) -> None:
        """Add the kinds that no active worker takes."""
        for each in kinds:
            if not each["workers"] and each["waiting"]:
                self.unserved.add(each["waiting"], queue=key, kind=each["kind"] or "")


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
