"""What must hold inside a caller's transaction, whichever library opened it: each test file adds its library's way.

A subclass gives the fixture `transaction`: called with `commit=` it is a context manager that opens a transaction,
yields what to hand in as `using=`, and commits or rolls back.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Any

import psycopg
import pytest
import pytest_asyncio
from psycopg.conninfo import conninfo_to_dict

from lonnymq import AsyncQueue, NewMessage, Queue
from lonnymq.errors import ChannelFull, TooLarge
from lonnymq.results import Created, Duplicate

Transaction = Callable[[bool], AbstractContextManager[Any]]
AsyncTransaction = Callable[[bool], AbstractAsyncContextManager[Any]]

BATCH: list[bytes | NewMessage] = [
    b"second",
    NewMessage(b"third", kind="k", key="other", headers={"trace": "1"}, delay_ms=0),
]


def asyncpg_arguments(dsn: str) -> dict[str, Any]:
    """The DSN as asyncpg takes it."""
    names = {
        "dbname": "database",
        "host": "host",
        "port": "port",
        "user": "user",
        "password": "password",
    }
    return {names[key]: value for key, value in conninfo_to_dict(dsn).items() if key in names}


def is_open(dsn: str) -> int:
    """How many other sessions have a transaction open."""
    query = "select count(*) from pg_stat_activity where pid <> pg_backend_pid() and xact_start is not null and datname"
    with psycopg.connect(dsn) as connection:
        row = connection.execute(
            f"{query} = current_database() and backend_type = 'client backend'"
        ).fetchone()
        return row[0] if row else 0


class TransactionTests:
    """The sync half."""

    @pytest.fixture
    def queue(self, dsn: str) -> Iterator[Queue]:
        with Queue(dsn) as queue:
            yield queue

    def test_what_was_created_is_there_once_the_caller_commits(
        self, queue: Queue, transaction: Transaction
    ) -> None:
        with transaction(True) as using:
            first = queue.create("acme", b"first", key="n", headers={"a": "ä"}, using=using)
            again = queue.channel("acme").create(b"first", key="n", using=using)
            results = queue.create_many(BATCH, channel="acme", using=using)
            assert queue.peek("acme") == []
        assert isinstance(first, Created)
        assert again == Duplicate(first.id)
        assert all(isinstance(result, Created) for result in results)
        assert [each.content for each in queue.peek("acme")] == [b"first", b"second", b"third"]
        assert [each.headers for each in queue.peek("acme")] == [{"a": "ä"}, None, {"trace": "1"}]

    def test_what_was_created_is_not_there_if_the_caller_rolls_back(
        self, queue: Queue, transaction: Transaction
    ) -> None:
        with transaction(False) as using:
            queue.create("acme", b"first", using=using)
            queue.create_many(BATCH, channel="acme", using=using)
        assert queue.peek("acme") == []

    def test_what_was_settled_is_settled_once_the_caller_commits(
        self, queue: Queue, transaction: Transaction
    ) -> None:
        queue.create_many([b"0", b"1", b"2", b"3", b"4"], channel="acme")
        messages = queue.dequeue(limit=4)
        with transaction(True) as using:
            assert messages[0].complete(using=using) == "completed"
            assert [each.answer for each in queue.complete_many(messages[1:2], using=using)] == [
                "completed"
            ]
            assert messages[2].defer(delay_ms=0, state=b"half", using=using) == "deferred"
            assert messages[3].fail("broken", retry_ms=0, using=using) == "retrying"
            assert queue.cancel(queue.peek("acme", limit=10)[-1].id, using=using) == "cancelled"
            assert len(queue.peek("acme")) == 5
        assert sorted((each.content, each.state, each.leased) for each in queue.peek("acme")) == [
            (b"2", b"half", False),
            (b"3", None, False),
        ]

    def test_what_was_settled_is_still_leased_if_the_caller_rolls_back(
        self, queue: Queue, transaction: Transaction
    ) -> None:
        queue.create("acme", b"0")
        [message] = queue.dequeue()
        with transaction(False) as using:
            assert message.complete(using=using) == "completed"
        assert [each.leased for each in queue.peek("acme")] == [True]
        assert message.complete() == "completed"

    def test_a_refusal_is_the_queues_own_error(
        self, queue: Queue, transaction: Transaction
    ) -> None:
        with transaction(False) as using, pytest.raises(TooLarge):
            queue.create("acme", b"", headers={"x": "y" * 20_000}, using=using)

    def test_a_full_channel_refuses_and_the_callers_transaction_goes_on(
        self, queue: Queue, transaction: Transaction
    ) -> None:
        queue.channel("acme").set(max_size=1)
        with transaction(True) as using:
            queue.create("acme", b"first", using=using)
            with pytest.raises(ChannelFull):
                queue.create("acme", b"second", using=using)
        assert [each.content for each in queue.peek("acme")] == [b"first"]

    def test_the_callers_transaction_is_left_open(
        self, queue: Queue, transaction: Transaction, dsn: str
    ) -> None:
        with transaction(True) as using:
            queue.create("acme", b"first", using=using)
            assert is_open(dsn) == 1
        assert is_open(dsn) == 0


class AsyncTransactionTests:
    """The async half."""

    @pytest_asyncio.fixture
    async def queue(self, dsn: str) -> AsyncIterator[AsyncQueue]:
        async with AsyncQueue(dsn) as queue:
            yield queue

    async def test_what_was_created_is_there_once_the_caller_commits(
        self, queue: AsyncQueue, transaction: AsyncTransaction
    ) -> None:
        async with transaction(True) as using:
            first = await queue.create("acme", b"first", key="n", headers={"a": "ä"}, using=using)
            again = await queue.channel("acme").create(b"first", key="n", using=using)
            results = await queue.create_many(BATCH, channel="acme", using=using)
            assert await queue.peek("acme") == []
        assert isinstance(first, Created)
        assert again == Duplicate(first.id)
        assert all(isinstance(result, Created) for result in results)
        assert [each.content for each in await queue.peek("acme")] == [
            b"first",
            b"second",
            b"third",
        ]
        assert [each.headers for each in await queue.peek("acme")] == [
            {"a": "ä"},
            None,
            {"trace": "1"},
        ]

    async def test_what_was_created_is_not_there_if_the_caller_rolls_back(
        self, queue: AsyncQueue, transaction: AsyncTransaction
    ) -> None:
        async with transaction(False) as using:
            await queue.create("acme", b"first", using=using)
            await queue.create_many(BATCH, channel="acme", using=using)
        assert await queue.peek("acme") == []

    async def test_what_was_settled_is_settled_once_the_caller_commits(
        self, queue: AsyncQueue, transaction: AsyncTransaction
    ) -> None:
        await queue.create_many([b"0", b"1", b"2", b"3", b"4"], channel="acme")
        messages = await queue.dequeue(limit=4)
        async with transaction(True) as using:
            assert await messages[0].complete(using=using) == "completed"
            assert [
                each.answer for each in await queue.complete_many(messages[1:2], using=using)
            ] == ["completed"]
            assert await messages[2].defer(delay_ms=0, state=b"half", using=using) == "deferred"
            assert await messages[3].fail("broken", retry_ms=0, using=using) == "retrying"
            assert await queue.cancel((await queue.peek("acme"))[-1].id, using=using) == "cancelled"
            assert len(await queue.peek("acme")) == 5
        assert sorted(
            (each.content, each.state, each.leased) for each in await queue.peek("acme")
        ) == [
            (b"2", b"half", False),
            (b"3", None, False),
        ]

    async def test_what_was_settled_is_still_leased_if_the_caller_rolls_back(
        self, queue: AsyncQueue, transaction: AsyncTransaction
    ) -> None:
        await queue.create("acme", b"0")
        [message] = await queue.dequeue()
        async with transaction(False) as using:
            assert await message.complete(using=using) == "completed"
        assert [each.leased for each in await queue.peek("acme")] == [True]
        assert await message.complete() == "completed"

    async def test_a_refusal_is_the_queues_own_error(
        self, queue: AsyncQueue, transaction: AsyncTransaction
    ) -> None:
        async with transaction(False) as using:
            with pytest.raises(TooLarge):
                await queue.create("acme", b"", headers={"x": "y" * 20_000}, using=using)

    async def test_a_full_channel_refuses_and_the_callers_transaction_goes_on(
        self, queue: AsyncQueue, transaction: AsyncTransaction
    ) -> None:
        await queue.channel("acme").set(max_size=1)
        async with transaction(True) as using:
            await queue.create("acme", b"first", using=using)
            with pytest.raises(ChannelFull):
                await queue.create("acme", b"second", using=using)
        assert [each.content for each in await queue.peek("acme")] == [b"first"]

    async def test_the_callers_transaction_is_left_open(
        self, queue: AsyncQueue, transaction: AsyncTransaction, dsn: str
    ) -> None:
        async with transaction(True) as using:
            await queue.create("acme", b"first", using=using)
            assert is_open(dsn) == 1
        assert is_open(dsn) == 0
