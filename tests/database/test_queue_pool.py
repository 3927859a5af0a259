"""The connections that a queue opens by itself: bounded, with time limits, and never kept when they are of no use."""

import asyncio
import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import psycopg
import pytest
from faults.tcp_proxy import TcpProxy, tcp_proxy
from psycopg.conninfo import make_conninfo

from lonnymq import AsyncQueue, Queue
from lonnymq.client._async import pool as pool_async
from lonnymq.client._sync import pool
from lonnymq.client.dsn import read_dsn
from lonnymq.embedded_postgres import temporary
from lonnymq.errors import InvalidArgument, PoolTimeout
from support import Target, eventually, fetch_row

Source = TypeVar("Source")
COUNT = """
select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
"""


@pytest.fixture
def proxy(dsn_18: str) -> Iterator[TcpProxy]:
    with tcp_proxy(dsn_18) as proxy:
        yield proxy


def count_sessions(dsn: str) -> int:
    with psycopg.connect(dsn) as connection:
        return fetch_row(connection, COUNT)[0]


def source_of(queue: AsyncQueue | Queue, kind: type[Source]) -> Source:
    assert isinstance(queue._source, kind)
    return queue._source


# The number of connections


async def test_many_creates_at_once_share_ten_connections(dsn_18: str) -> None:
    async with AsyncQueue(dsn_18) as queue:
        await asyncio.gather(*(queue.create("acme", b"x") for _ in range(150)))
        assert 0 < len(source_of(queue, pool_async.AsyncDsnSource).idle) <= 10
        assert count_sessions(dsn_18) <= 10


def test_many_threads_share_the_connections_of_a_queue(dsn_18: str) -> None:
    with Queue(dsn_18, max_connections=3) as queue, ThreadPoolExecutor(40) as threads:
        list(threads.map(lambda _: queue.create("acme", b"x"), range(150)))
        assert 0 < len(source_of(queue, pool.DsnSource).idle) <= 3


async def test_a_call_that_finds_all_connections_busy_fails_with_advice(dsn_18: str) -> None:
    async with AsyncQueue(dsn_18, max_connections=1, timeout_ms=200) as queue:
        async with queue._source.connection():
            with pytest.raises(PoolTimeout, match=r"all 1 connections were busy for 0\.2 s"):
                await queue.create("acme", b"x")
        await queue.create("acme", b"x")


def test_a_thread_that_finds_all_connections_busy_fails_with_advice(dsn_18: str) -> None:
    with Queue(dsn_18, max_connections=1, timeout_ms=200) as queue:
        with queue._source.connection(), pytest.raises(PoolTimeout, match="raise `max_conn"):
            queue.create("acme", b"x")
        queue.create("acme", b"x")


async def test_a_cancelled_wait_for_a_connection_leaves_its_turn_to_others(dsn_18: str) -> None:
    async with AsyncQueue(dsn_18, max_connections=1) as queue:
        async with queue._source.connection():
            waiting = [asyncio.create_task(queue.create("acme", b"x")) for _ in range(3)]
            await asyncio.sleep(0)
            waiting[0].cancel()
        await asyncio.gather(*waiting[1:])
        assert waiting[0].cancelled()
        assert source_of(queue, pool_async.AsyncDsnSource).slots.free == 1


async def test_a_queue_that_was_full_works_in_another_event_loop(dsn_18: str) -> None:
    queue = AsyncQueue(dsn_18, max_connections=1)

    async def fill() -> None:
        await asyncio.gather(*(queue.create("acme", b"x") for _ in range(5)))
        await queue.close()

    for _ in range(2):
        await asyncio.to_thread(asyncio.run, fill())


async def test_idle_connections_are_closed_after_a_while(dsn_18: str, monkeypatch) -> None:
    monkeypatch.setattr(pool_async, "IDLE_SECONDS", 0.2)
    async with AsyncQueue(dsn_18) as queue:
        await asyncio.gather(*(queue.create("acme", b"x") for _ in range(30)))
        assert len(source_of(queue, pool_async.AsyncDsnSource).idle) > 1
        until = time.monotonic() + 0.3
        while time.monotonic() < until:
            await queue.create("acme", b"x")
        assert len(source_of(queue, pool_async.AsyncDsnSource).idle) == 1


def test_a_child_process_does_not_wait_for_slots_of_its_parent(dsn_18: str) -> None:
    with Queue(dsn_18, max_connections=1, timeout_ms=5000) as queue, queue._source.connection():
        child = os.fork()
        if child == 0:
            try:
                queue.create("acme", b"x")
                os._exit(0)
            except BaseException:
                os._exit(1)
        assert os.waitpid(child, 0)[1] == 0


def test_bad_options_are_refused() -> None:
    for bad in ({"max_connections": 0}, {"max_connections": True}, {"timeout_ms": 5}):
        with pytest.raises(InvalidArgument):
            Queue("host=x", **bad)


# Silence


def test_a_call_on_a_silent_connection_ends_and_the_next_call_works(proxy: TcpProxy) -> None:
    with Queue(proxy.dsn, timeout_ms=500) as queue:
        queue.create("acme", b"x")
        assert proxy.silence() == 1
        started = time.monotonic()
        with pytest.raises(psycopg.OperationalError, match=r"no answer .* within 0\.\d+ s"):
            queue.create("acme", b"x")
        assert time.monotonic() - started < 2
        queue.create("acme", b"x")


async def test_an_async_call_on_a_silent_connection_ends_and_the_next_call_works(
    proxy: TcpProxy,
) -> None:
    async with AsyncQueue(proxy.dsn, timeout_ms=500) as queue:
        await queue.create("acme", b"x")
        assert await asyncio.to_thread(proxy.silence) == 1
        started = time.monotonic()
        with pytest.raises(psycopg.OperationalError, match=r"no answer .* within 0\.\d+ s"):
            await queue.create("acme", b"x")
        assert time.monotonic() - started < 2
        await queue.create("acme", b"x")


async def test_after_a_call_without_an_answer_no_idle_connection_is_trusted(
    proxy: TcpProxy,
) -> None:
    async with AsyncQueue(proxy.dsn, timeout_ms=500) as queue:
        await asyncio.gather(*(queue.create("acme", b"x") for _ in range(30)))
        assert len(source_of(queue, pool_async.AsyncDsnSource).idle) > 2
        await asyncio.to_thread(proxy.silence)
        with pytest.raises(psycopg.OperationalError, match="no answer"):
            await queue.create("acme", b"x")
        await queue.create("acme", b"x")


async def test_after_a_cancelled_call_without_an_answer_neither(proxy: TcpProxy) -> None:
    async with AsyncQueue(proxy.dsn) as queue:
        await asyncio.gather(*(queue.create("acme", b"x") for _ in range(30)))
        await asyncio.to_thread(proxy.silence)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await queue.create("acme", b"x")
        assert source_of(queue, pool_async.AsyncDsnSource).idle == []


async def test_a_cancelled_call_on_a_silent_connection_ends_at_once(proxy: TcpProxy) -> None:
    async with AsyncQueue(proxy.dsn) as queue:
        await queue.create("acme", b"x")
        await asyncio.to_thread(proxy.silence, new=True)
        started = time.monotonic()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await queue.create("acme", b"x")
        assert time.monotonic() - started < 1.5
        await asyncio.to_thread(proxy.heal)
        await queue.create("acme", b"x")


async def test_a_cancelled_call_ends_its_statement_and_keeps_its_connection(dsn_18: str) -> None:
    source = pool_async.AsyncDsnSource(dsn_18)
    async with source.connection() as connection:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await connection.execute("select pg_sleep(60)")
        row = await (await connection.execute("select 1")).fetchone()
        assert row == (1,)
    await source.close()


def test_a_statement_that_takes_too_long_is_cancelled_on_the_server(dsn_18: str, connect) -> None:
    watcher = connect(dsn_18)
    source = pool.DsnSource(dsn_18, timeout=0.3)
    with (
        source.connection() as connection,
        pytest.raises(psycopg.OperationalError, match="no answer"),
    ):
        connection.execute("select pg_sleep(60)")
    eventually(
        lambda: (
            watcher.execute(
                "select count(*) from pg_stat_activity where query ~ 'pg_sleep' and state = 'active' "
                "and pid <> pg_backend_pid()"
            ).fetchone()
            == (0,)
        )
    )
    source.close()


async def test_a_host_name_that_nobody_resolves_is_waited_for_a_limited_time(monkeypatch) -> None:
    async def hang(*_, **__):
        await asyncio.Event().wait()

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", hang)
    with pytest.raises(psycopg.OperationalError, match=r"cannot connect .* within 0\.3 s"):
        await AsyncQueue("host=db.example dbname=x", timeout_ms=300).create("acme", b"x")


async def test_a_connection_cancelled_while_it_is_made_frees_its_slot(proxy: TcpProxy) -> None:
    await asyncio.to_thread(proxy.silence, new=True)
    queue = AsyncQueue(proxy.dsn, max_connections=1)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await queue.create("acme", b"x")
    await asyncio.to_thread(proxy.heal)
    await queue.create("acme", b"x")
    await queue.close()


async def test_calls_whose_time_grows_with_the_queue_have_no_limit(dsn_18: str, connect) -> None:
    other = connect(dsn_18, autocommit=False)
    other.execute("lock table lonnymq.message")
    async with AsyncQueue(dsn_18, timeout_ms=100) as queue:
        slow = asyncio.create_task(queue.check())
        with pytest.raises(psycopg.OperationalError, match="no answer"):
            await queue.create("acme", b"x")
        assert not slow.done()
        other.rollback()
        assert await slow == []


# Read-only sessions


def test_among_several_hosts_a_queue_finds_the_one_that_takes_writes(server_18: Target) -> None:
    with (
        temporary(default_transaction_read_only=True) as standby,
        server_18.database() as (primary, _),
    ):
        known = read_dsn(primary)
        hosts = f"{read_dsn(standby.dsn)['host']},{known['host']}"
        with Queue(make_conninfo(primary, host=hosts, port="5432,5432")) as queue:
            queue.create("acme", b"x")
            assert queue.stats().waiting == 1


def test_a_read_only_session_is_left(dsn_18: str) -> None:
    with (
        psycopg.connect(dsn_18, autocommit=True) as admin,
        Queue(dsn_18, max_connections=3) as queue,
    ):
        name = admin.info.dbname
        admin.execute(f"alter database {name} set default_transaction_read_only = on")
        with queue._source.connection(), queue._source.connection():
            pass  # two idle sessions
        admin.execute("set default_transaction_read_only = off")
        admin.execute(f"alter database {name} reset default_transaction_read_only")
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            queue.create("acme", b"x")
        for _ in range(3):
            queue.create("acme", b"x")


def test_threads_take_and_trim_idle_connections_at_the_same_time(dsn_18: str) -> None:
    with Queue(dsn_18, max_connections=4) as queue:
        stop = threading.Event()

        def trim() -> None:
            while not stop.is_set():
                source_of(queue, pool.DsnSource).trim(0)

        other = threading.Thread(target=trim)
        other.start()
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda _: queue.create("acme", b"x"), range(60)))
        stop.set()
        other.join()
