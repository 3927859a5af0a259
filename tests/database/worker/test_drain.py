"""A worker in a test: `drain` handles what is due and returns, and a moved clock wakes a running worker."""

import asyncio
from typing import Any

import psycopg
import pytest

from lonnymq import AsyncQueue, Context, Queue, RetryAfter, SyncContext, Worker
from lonnymq.errors import InvalidArgument, NotInstalled
from lonnymq.testing import Clock, database
from running_worker import running_worker, session_of, soon


def test_drain_handles_what_is_due_and_returns_the_answers(lonnymq_queue: Queue) -> None:
    worker, seen = Worker(), list[str]()

    @worker.handler("plain")
    def plain(name: str, context: SyncContext) -> None:
        seen.append(name)
        if name == "first":
            context.queue.create("acme", b"second", kind="quick")

    @worker.handler("quick")
    async def quick(name: str) -> None:
        seen.append(name)

    @worker.handler("broken", max_attempts=2)
    async def broken(context: Context) -> None:
        raise RetryAfter(0, "no")

    lonnymq_queue.create("acme", b"first", kind="plain")
    lonnymq_queue.create("acme", b"", kind="broken")
    lonnymq_queue.create("acme", b"later", kind="plain", delay_ms=3_600_000)
    assert worker.drain(lonnymq_queue) == {"completed": 2, "retrying": 1, "dead": 1}
    assert seen == ["first", "second"]
    assert worker.drain(lonnymq_queue) == {}
    assert lonnymq_queue.worker_list() == []


def test_drain_handles_a_channel_that_allows_one_message_at_a_time(lonnymq_queue: Queue) -> None:
    worker, seen = Worker(concurrency=3), list[bytes]()

    @worker.handler()
    async def note(content: bytes) -> None:
        seen.append(content)

    lonnymq_queue.channel("acme").set(max_concurrency=1)
    lonnymq_queue.create_many([b"%d" % number for number in range(10)], channel="acme")
    assert worker.drain(lonnymq_queue) == {"completed": 10}
    assert seen == sorted(seen)


def test_a_retry_is_handled_after_the_clock_has_moved(
    lonnymq_queue: Queue, lonnymq_clock: Clock
) -> None:
    worker, attempts = Worker(), list[int]()

    @worker.handler(retry_delays_ms=[60_000], retry_jitter=0)
    def fail_once(context: SyncContext) -> None:
        attempts.append(context.attempt)
        if context.attempt == 1:
            raise ValueError("not yet")

    lonnymq_queue.create("acme", b"")
    assert worker.drain(lonnymq_queue) == {"retrying": 1}
    lonnymq_clock.advance(59_999)
    assert worker.drain(lonnymq_queue) == {}
    lonnymq_clock.advance(1)
    assert worker.drain(lonnymq_queue) == {"completed": 1}
    assert attempts == [1, 2]


def test_drain_runs_declared_schedules_that_are_due(
    lonnymq_queue: Queue, lonnymq_clock: Clock
) -> None:
    worker, seen = Worker(), list[Any]()
    worker.schedule("nightly", channel="reports", cron="0 3 * * *")

    @worker.handler()
    def report(context: SyncContext) -> None:
        seen.append(context.headers["schedule"])

    lonnymq_clock.set(1_893_456_000_000)  # 2030-01-01
    assert worker.drain(lonnymq_queue) == {}
    lonnymq_clock.advance(3 * 3_600_000)
    assert worker.drain(lonnymq_queue) == {"completed": 1}
    assert seen == ["nightly"]


def test_the_error_of_a_handler_has_no_other_error_as_its_cause(lonnymq_queue: Queue) -> None:
    worker, seen = Worker(), list[BaseException]()

    @worker.handler(max_attempts=1)
    async def fails() -> None:
        raise ValueError("no video")

    worker.error(lambda context, error: seen.append(error))
    lonnymq_queue.create("acme", b"")
    assert worker.drain(lonnymq_queue) == {"dead": 1}
    assert [(str(error), error.__context__) for error in seen] == [("no video", None)]


async def test_an_async_test_drains_an_async_queue(lonnymq_dsn: str) -> None:
    worker = Worker()

    @worker.handler()
    async def nothing(content: bytes) -> None: ...

    async with AsyncQueue(lonnymq_dsn) as queue:
        await queue.create("acme", b"")
        assert await worker.drain_async(queue) == {"completed": 1}
        assert await worker.drain_async(lonnymq_dsn) == {}
        with pytest.raises(InvalidArgument, match=r"write await worker.drain_async\(queue\)"):
            worker.drain(queue)


def test_drain_needs_a_queue_with_a_dsn_and_an_installed_schema(lonnymq_dsn: str) -> None:
    worker = Worker()
    worker.handler()(lambda: None)
    with (
        psycopg.connect(lonnymq_dsn) as connection,
        pytest.raises(InvalidArgument, match="drain takes a DSN or a queue that has a DSN"),
    ):
        worker.drain(Queue(connection))
    with pytest.raises(InvalidArgument, match=r"drain takes a DSN or a queue .* not int 3"):
        worker.drain(3)  # type: ignore[arg-type]  # the mistake
    with pytest.raises(NotInstalled):
        worker.drain(Queue(lonnymq_dsn, schema="other"))


async def test_a_moved_clock_wakes_a_running_worker_and_its_schedules(
    lonnymq_dsn: str, lonnymq_queue: Queue, lonnymq_clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lonnymq.worker.scheduler.LOOK_SECONDS", 3600.0)
    worker, seen = Worker(poll_interval_ms=3_600_000), list[bytes]()
    worker.schedule("nightly", channel="reports", cron="0 3 * * *", content=b"report")

    @worker.handler()
    async def note(content: bytes) -> None:
        seen.append(content)

    lonnymq_clock.set(1_893_456_000_000)  # 2030-01-01
    lonnymq_queue.create("acme", b"reminder", delay_ms=3_600_000)
    async with running_worker(worker, lonnymq_dsn):
        session = session_of(worker)
        await soon(lambda: session.fetcher.is_listening and not session.fetcher.wake.is_set())
        await soon(lambda: (found := lonnymq_queue.schedule_list()) and found[0].next_at)
        await asyncio.to_thread(lonnymq_clock.advance, 3 * 3_600_000)
        await soon(lambda: sorted(seen) == [b"reminder", b"report"])


def test_a_database_is_dropped_even_if_somebody_is_connected(lonnymq_server) -> None:
    with database(lonnymq_server.dsn, "lonnymq_short") as dsn, Queue(dsn) as queue:
        queue.install()
    with pytest.raises(Exception, match="does not exist"):
        Queue(dsn).stats()
