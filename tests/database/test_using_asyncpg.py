"""A call inside a transaction of asyncpg, on a connection or on one that its pool lends."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import pytest

from caller_transactions import AsyncTransaction, AsyncTransactionTests, asyncpg_arguments


@asynccontextmanager
async def inside(connection: Any, commit: bool) -> AsyncIterator[Any]:
    transaction = connection.transaction()
    await transaction.start()
    yield connection
    await (transaction.commit() if commit else transaction.rollback())


class TestConnection(AsyncTransactionTests):
    @pytest.fixture
    def transaction(self, dsn: str) -> AsyncTransaction:
        @asynccontextmanager
        async def begin(commit: bool) -> AsyncIterator[Any]:
            connection = await asyncpg.connect(**asyncpg_arguments(dsn))
            async with inside(connection, commit) as using:
                yield using
            await connection.close()

        return begin


class TestPooledConnection(AsyncTransactionTests):
    @pytest.fixture
    def transaction(self, dsn: str) -> AsyncTransaction:
        @asynccontextmanager
        async def begin(commit: bool) -> AsyncIterator[Any]:
            async with (
                asyncpg.create_pool(**asyncpg_arguments(dsn), min_size=1, max_size=1) as pool,
                pool.acquire() as connection,
                inside(connection, commit) as using,
            ):
                yield using

        return begin
