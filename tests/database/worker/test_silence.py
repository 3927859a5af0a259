"""A network that goes silent between a worker and its database: every wait of the worker ends by itself."""

import asyncio
import logging
import time
from collections.abc import Iterator

import psycopg
import pytest
from faults.tcp_proxy import TcpProxy, tcp_proxy

from lonnymq import Context, Queue, SyncContext, Worker
from lonnymq.client._sync.pool import DsnSource
from running_worker import outcomes, running_worker, session_of, soon
from support import fetch_row

LEASE_MS = 1500
COUNT = """
select count(*) from pg_stat_activity where application_name = 'lonnymq worker' and datname = current_database()
"""
CUT = """
select pg_terminate_backend(pid) from pg_stat_activity
where application_name = 'lonnymq worker' and datname = current_database()
"""


@pytest.fixture
def proxy(dsn_18: str) -> Iterator[TcpProxy]:
    with tcp_proxy(dsn_18) as proxy:
        yield proxy


def make_worker(**options) -> tuple[Worker, list[bytes]]:
    worker, handled = Worker(lease_ms=LEASE_MS, poll_interval_ms=200, **options), []

    @worker.handler()
    async def handle(content: bytes) -> None:
        handled.append(content)

    return worker, handled


async def test_a_worker_whose_connections_go_silent_works_again_within_its_lease(
    proxy: TcpProxy, queue_18: Queue, caplog
) -> None:
    worker, handled = make_worker()
    async with running_worker(worker, proxy.dsn):
        queue_18.create("acme", b"before")
        await soon(lambda: handled == [b"before"])
        assert await asyncio.to_thread(proxy.silence) > 1
        started = time.monotonic()
        queue_18.create("acme", b"after")
        await soon(lambda: b"after" in handled, within=20)
        assert time.monotonic() - started < 6
    assert "no answer" in caplog.text


async def test_a_handler_is_cancelled_at_the_end_of_its_lease_although_nobody_answers(
    proxy: TcpProxy, dsn_18: str, queue_18: Queue
) -> None:
    events: list[tuple[str, str, float]] = []

    def make(name: str) -> Worker:
        worker = Worker(lease_ms=LEASE_MS, poll_interval_ms=100)

        @worker.handler()
        async def handle(content: bytes) -> None:
            events.append((name, "began", time.monotonic()))
            try:
                await asyncio.sleep(60 if name == "cut off" else 0)
            finally:
                events.append((name, "ended", time.monotonic()))

        return worker

    queue_18.create("acme", b"x")
    async with running_worker(make("cut off"), proxy.dsn):
        await soon(lambda: events)
        await asyncio.to_thread(proxy.silence, new=True)
        async with running_worker(make("other"), dsn_18):
            queue_18.maintain()
            await soon(lambda: ("other", "ended") in [each[:2] for each in events], within=40)
        assert [each[:2] for each in events] == [
            ("cut off", "began"), ("cut off", "ended"), ("other", "began"), ("other", "ended")
        ]  # fmt: skip
        await asyncio.to_thread(proxy.heal)


async def test_a_start_says_which_database(dsn_18: str, caplog) -> None:
    caplog.set_level(logging.INFO, "lonnymq")
    worker, _ = make_worker(schema="lonnymq")
    secret = f"{dsn_18}&password=canary"
    async with running_worker(worker, secret):
        await soon(lambda: "started: database test_" in caplog.text)
    assert "schema lonnymq" in caplog.text
    assert "canary" not in caplog.text


async def test_plain_handlers_share_a_bounded_number_of_connections_and_do_not_keep_them(
    dsn_18: str, queue_18: Queue, monkeypatch
) -> None:
    worker, handled = Worker(max_connections=3), []

    @worker.handler()
    def handle(content: bytes, context: SyncContext) -> None:
        with context.transaction() as connection:
            connection.execute("select 1")
            context.heartbeat()
            context.queue.create("other", b"", delay_ms=3_600_000)
        handled.append(context.id)

    queue_18.create_many([b"x"] * 200, channel="acme")
    async with running_worker(worker, dsn_18):
        await soon(lambda: len(handled) == 200)
        with psycopg.connect(dsn_18) as watcher:
            assert fetch_row(watcher, COUNT)[0] <= 8 + 3 + 5
        connections = session_of(worker).connections[1]
        assert len(connections.source.idle) <= 3
        monkeypatch.setattr("lonnymq.client._sync.pool.IDLE_SECONDS", 0.0)
        connections.trim()
        assert connections.source.idle == []
        assert isinstance(connections.queue._source, DsnSource)
        assert connections.queue._source.idle == []


async def test_a_worker_stops_in_time_although_nobody_answers(
    proxy: TcpProxy, queue_18: Queue
) -> None:
    worker, handled = make_worker()
    async with running_worker(worker, proxy.dsn) as task:
        queue_18.create("acme", b"before")
        await soon(lambda: handled)
        await asyncio.to_thread(proxy.silence, new=True)
        started = time.monotonic()
        worker.stop()
        worker.stop()
        await task
        assert time.monotonic() - started < 8


async def test_a_worker_that_is_cancelled_while_it_connects_ends_in_time(
    proxy: TcpProxy, queue_18: Queue
) -> None:
    worker, _ = make_worker()
    await asyncio.to_thread(proxy.silence, new=True)
    before = proxy.accepted
    task = asyncio.create_task(worker.run_async(proxy.dsn))
    await soon(lambda: proxy.accepted > before)
    started = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - started < 3


async def test_a_silent_listener_is_replaced(proxy: TcpProxy, queue_18: Queue, monkeypatch) -> None:
    monkeypatch.setattr("lonnymq.worker.fetcher.CHECK_CONNECTION_SECONDS", 0.3)
    worker, _ = make_worker()
    async with running_worker(worker, proxy.dsn):
        await soon(lambda: session_of(worker).fetcher.is_listening)
        await asyncio.to_thread(proxy.silence)
        await soon(lambda: not session_of(worker).fetcher.is_listening, within=10)
        await soon(lambda: session_of(worker).fetcher.is_listening, within=10)


async def test_a_handler_with_a_timeout_ends_although_its_transaction_gets_no_answer(
    proxy: TcpProxy, queue_18: Queue
) -> None:
    worker, took = Worker(lease_ms=6000, poll_interval_ms=200), []

    @worker.handler(timeout_ms=1000, max_attempts=1)
    async def handle(content: bytes, context: Context) -> None:
        started = time.monotonic()
        try:
            async with context.transaction() as connection:
                await connection.execute("select 1")
                await asyncio.to_thread(proxy.silence)
                await connection.execute("select 2")
        finally:
            took.append(time.monotonic() - started)

    queue_18.create("acme", b"x")
    async with running_worker(worker, proxy.dsn):
        await soon(lambda: took, within=30)
    assert took[0] < 3


async def test_what_ends_in_a_silence_is_settled_once(proxy: TcpProxy, queue_18: Queue) -> None:
    worker, began = Worker(lease_ms=LEASE_MS, poll_interval_ms=200), []

    @worker.handler()
    async def handle(content: bytes) -> None:
        began.append(content)
        if len(began) == 1:
            await asyncio.to_thread(proxy.silence)

    queue_18.create("acme", b"x")
    async with running_worker(worker, proxy.dsn):
        await soon(lambda: outcomes(queue_18) == ["completed"], within=20)
    assert began == [b"x"]


async def test_a_half_closed_connection_is_replaced(
    proxy: TcpProxy, queue_18: Queue, caplog
) -> None:
    worker, handled = make_worker()
    async with running_worker(worker, proxy.dsn):
        queue_18.create("acme", b"before")
        await soon(lambda: handled)
        await asyncio.to_thread(proxy.half_close)
        queue_18.create("acme", b"after")
        await soon(lambda: b"after" in handled, within=10)


async def test_a_server_that_stands_still_is_said_to_and_waited_for(
    proxy: TcpProxy, queue_18: Queue, caplog
) -> None:
    caplog.set_level(logging.INFO, "lonnymq")
    worker, handled = make_worker()
    async with running_worker(worker, proxy.dsn):
        queue_18.create("acme", b"before")
        await soon(lambda: handled)
        await asyncio.to_thread(proxy.silence, new=True)
        await soon(lambda: "database unreachable" in caplog.text, within=10)
        await asyncio.to_thread(proxy.heal)
        queue_18.create("acme", b"after")
        await soon(lambda: b"after" in handled, within=20)
        assert "database reachable again" in caplog.text


async def test_a_worker_leaves_a_read_only_session(dsn_18: str, queue_18: Queue, caplog) -> None:
    worker, handled = make_worker()
    with psycopg.connect(dsn_18, autocommit=True) as admin:
        name = admin.info.dbname
        async with running_worker(worker, dsn_18):
            queue_18.create("acme", b"before")
            await soon(lambda: handled)
            admin.execute(f"alter database {name} set default_transaction_read_only = on")
            admin.execute(CUT)
            await soon(lambda: "session is read-only" in caplog.text)
            admin.execute("set default_transaction_read_only = off")
            admin.execute(f"alter database {name} reset default_transaction_read_only")
            with Queue(dsn_18) as fresh:
                fresh.create("acme", b"after")
            started = time.monotonic()
            await soon(lambda: b"after" in handled, within=60)
            assert time.monotonic() - started < 5


def test_a_plain_handler_whose_transaction_gets_no_answer_ends_with_its_lease(
    proxy: TcpProxy, queue_18: Queue
) -> None:
    worker, took = Worker(lease_ms=LEASE_MS, poll_interval_ms=200), []

    @worker.handler()
    def handle(content: bytes, context: SyncContext) -> None:
        started = time.monotonic()
        try:
            with context.transaction() as connection:
                connection.execute("select 1")
                proxy.silence(new=True)
                connection.execute("select 2")
        finally:
            proxy.heal()
            took.append(time.monotonic() - started)

    async def run() -> None:
        async with running_worker(worker, proxy.dsn):
            await soon(lambda: took, within=30)

    queue_18.create("acme", b"x")
    asyncio.run(run())
    assert took[0] < 3
