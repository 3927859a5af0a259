"""Where a Queue's calls run: connections of its own, a pool, the caller's connection."""

import os
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
import pytest_asyncio
from psycopg.conninfo import make_conninfo
from psycopg.pq import TransactionStatus
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from lonnymq import AsyncQueue, NewMessage, Queue
from lonnymq.client._sync.pool import DsnSource
from lonnymq.errors import InTransaction, UnknownConnection
from support import Target


def own(queue: Queue) -> DsnSource:
    assert isinstance(queue._source, DsnSource)
    return queue._source


@pytest.fixture
def queue(dsn: str) -> Iterator[Queue]:
    with Queue(dsn) as queue:
        yield queue


@pytest_asyncio.fixture
async def async_queue(dsn: str) -> AsyncIterator[AsyncQueue]:
    async with AsyncQueue(dsn) as queue:
        yield queue


def work(queue: Queue) -> None:
    """Every kind of call once: plain, batch, dequeue, settle, bulk."""
    queue.channel("acme").create(b"first")
    queue.copy([b"second", NewMessage(b"third", key="n", headers={"h": 1})], channel="acme")
    messages = queue.dequeue(limit=10)
    assert [message.content for message in messages] == [b"first", b"second", b"third"]
    assert messages[2].headers == {"h": 1}
    assert messages[0].heartbeat(60_000) == "extended"
    assert [each.answer for each in queue.heartbeat_many(messages)] == ["extended"] * 3
    assert [each.answer for each in queue.fail_many(messages[:1], dead=True)] == ["dead"]
    assert [each.answer for each in queue.defer_many(messages[1:2], delay_ms=0)] == ["deferred"]
    assert messages[2].complete() == "completed"
    assert messages[2].complete() == "not_found"


async def work_async(queue: AsyncQueue) -> None:
    """The same, awaited."""
    await queue.channel("acme").create(b"first")
    await queue.copy([b"second", NewMessage(b"third", key="n", headers={"h": 1})], channel="acme")
    messages = await queue.dequeue(limit=10)
    assert [message.content for message in messages] == [b"first", b"second", b"third"]
    assert await messages[0].heartbeat(60_000) == "extended"
    assert [each.answer for each in await queue.complete_many(messages)] == ["completed"] * 3


def test_a_queue_works_over_a_dsn(queue: Queue) -> None:
    work(queue)


async def test_an_async_queue_works_over_a_dsn(async_queue: AsyncQueue) -> None:
    await work_async(async_queue)


@pytest.mark.parametrize("autocommit", [True, False])
def test_a_queue_works_over_a_pool(dsn: str, autocommit: bool) -> None:
    settings = {"autocommit": autocommit, "row_factory": dict_row}
    with ConnectionPool(dsn, min_size=1, max_size=2, kwargs=settings) as pool:
        work(Queue(pool))


@pytest.mark.parametrize("autocommit", [True, False])
async def test_an_async_queue_works_over_a_pool(dsn: str, autocommit: bool) -> None:
    settings = {"autocommit": autocommit, "row_factory": dict_row}
    async with AsyncConnectionPool(dsn, min_size=1, max_size=2, kwargs=settings) as pool:
        await work_async(AsyncQueue(pool))


@pytest.mark.parametrize("autocommit", [True, False])
def test_on_an_idle_connection_each_call_commits_by_itself(dsn: str, autocommit: bool) -> None:
    with psycopg.connect(dsn, autocommit=autocommit, row_factory=dict_row) as connection:
        work(Queue(connection))
        assert connection.info.transaction_status == TransactionStatus.IDLE


async def test_on_an_idle_async_connection_each_call_commits_by_itself(dsn: str) -> None:
    async with await psycopg.AsyncConnection.connect(dsn) as connection:
        await work_async(AsyncQueue(connection))
        assert connection.info.transaction_status == TransactionStatus.IDLE


def test_in_an_open_transaction_each_call_joins_it(dsn: str, queue: Queue) -> None:
    with psycopg.connect(dsn) as connection:
        connection.execute("select 1")
        Queue(connection).create("acme", b"hello")
        Queue(connection).copy([b"bulk"], channel="acme")
        connection.rollback()
    assert queue.peek("acme") == []


def test_a_dequeue_in_an_open_transaction_is_refused_with_advice(dsn: str) -> None:
    with psycopg.connect(dsn) as connection:
        connection.execute("select 1")
        with pytest.raises(InTransaction, match="a DSN or a pool, or commit first"):
            Queue(connection).dequeue()
        assert connection.info.transaction_status == TransactionStatus.INTRANS


def test_something_that_is_no_source_is_refused_with_a_list_of_those_that_are() -> None:
    with pytest.raises(
        UnknownConnection, match=r"a DSN, a psycopg Connection, or a pool .* not int"
    ):
        Queue(7)
    with pytest.raises(UnknownConnection, match="AsyncConnection"):
        AsyncQueue(None)


def test_an_async_connection_is_no_source_of_a_sync_queue() -> None:
    with pytest.raises(UnknownConnection):
        Queue(psycopg.AsyncConnection.__new__(psycopg.AsyncConnection))


def test_threads_share_a_queue_and_its_connections_are_kept(queue: Queue) -> None:
    start = threading.Barrier(8)

    def produce(_: int) -> None:
        start.wait()
        for _ in range(25):
            queue.create("acme", b"x")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(produce, range(8)))
    assert 1 <= len(own(queue).idle) <= 8
    assert len(queue.dequeue(limit=1000)) == 200


def test_a_closed_queue_keeps_no_connection_and_can_be_used_again(queue: Queue) -> None:
    queue.create("acme", b"x")
    [connection] = own(queue).idle
    queue.close()
    assert connection.closed
    assert [message.content for message in queue.dequeue()] == [b"x"]


def test_connections_that_the_server_closed_meanwhile_are_replaced(dsn: str, queue: Queue) -> None:
    queue.create("acme", b"x")
    pid = own(queue).idle[0].info.backend_pid
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("select pg_terminate_backend(%s, 5000)", (pid,))
    assert [message.content for message in queue.dequeue()] == [b"x"]


async def test_async_connections_that_the_server_closed_are_replaced(
    dsn: str, async_queue: AsyncQueue
) -> None:
    await async_queue.create("acme", b"x")
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(
            "select pg_terminate_backend(pid, 5000) from pg_stat_activity"
            " where datname = current_database() and pid <> pg_backend_pid()"
        )
    assert [message.content for message in await async_queue.dequeue()] == [b"x"]


def test_a_connection_that_broke_in_a_call_is_not_kept(dsn: str, queue: Queue) -> None:
    with pytest.raises(psycopg.OperationalError), own(queue).connection() as connection:
        connection.execute("select pg_terminate_backend(pg_backend_pid())")
    assert own(queue).idle == []


def test_a_fork_does_not_share_its_parents_connections(queue: Queue) -> None:
    queue.create("acme", b"parent")
    child = os.fork()
    if child == 0:
        try:
            queue.create("acme", b"child")
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    queue.create("acme", b"parent")
    assert len(queue.dequeue(limit=10)) == 3


def prepared(queue: Queue) -> int:
    for _ in range(10):
        queue.create("acme", b"x")
    row = (
        own(queue)
        .idle[0]
        .execute("select count(*) from pg_prepared_statements", prepare=False)
        .fetchone()
    )
    return row[0] if row else 0


def test_a_direct_connection_prepares_its_statements(direct_dsn: str) -> None:
    with Queue(direct_dsn) as queue:
        assert prepared(queue) == 1


def test_behind_a_pooler_nothing_is_prepared(server_behind_pgbouncer: Target) -> None:
    with server_behind_pgbouncer.database() as (dsn, _), Queue(dsn) as queue:
        assert prepared(queue) == 0
        assert own(queue).idle[0].prepare_threshold is None


def test_a_database_whose_default_isolation_is_stricter_is_served_all_the_same(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("set default_transaction_isolation to 'repeatable read'")
        work(Queue(connection))
        assert connection.info.transaction_status == TransactionStatus.IDLE


def test_so_is_one_behind_a_dsn_and_it_is_found_out_once(direct_dsn: str) -> None:
    with Queue(
        make_conninfo(direct_dsn, options="-c default_transaction_isolation=serializable")
    ) as queue:
        work(queue)
        assert own(queue).isolate


async def test_so_is_one_of_the_async_half(dsn: str) -> None:
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as connection:
        await connection.execute("set default_transaction_isolation to 'serializable'")
        await work_async(AsyncQueue(connection))


def test_turns_are_kept_between_calls(queue: Queue) -> None:
    for channel in "abc":
        queue.create_many([b"1", b"2", b"3"], channel=channel)
    served = [queue.dequeue()[0].channel for _ in range(9)]
    assert all(sorted(served[lap : lap + 3]) == ["a", "b", "c"] for lap in (0, 3, 6))
