"""A call inside a transaction of SQLAlchemy 2: Connection and Session, sync and async, on psycopg and asyncpg."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import asyncpg
import psycopg
import pytest
from sqlalchemy import Engine, NullPool, create_engine
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine
from sqlalchemy.orm import Session, scoped_session, sessionmaker

from caller_transactions import (
    AsyncTransaction,
    AsyncTransactionTests,
    Transaction,
    TransactionTests,
    asyncpg_arguments,
)
from lonnymq import Queue
from lonnymq.errors import UnknownConnection


@pytest.fixture
def engine(dsn: str) -> Engine:
    return create_engine(
        "postgresql+psycopg://", creator=lambda: psycopg.connect(dsn), poolclass=NullPool
    )


@pytest.fixture(params=["psycopg", "asyncpg"])
def async_engine(dsn: str, request: pytest.FixtureRequest) -> AsyncEngine:
    async def connect() -> Any:
        if request.param == "asyncpg":
            return await asyncpg.connect(**asyncpg_arguments(dsn))
        return await psycopg.AsyncConnection.connect(dsn)

    return create_async_engine(
        f"postgresql+{request.param}://", async_creator=connect, poolclass=NullPool
    )


class TestConnection(TransactionTests):
    @pytest.fixture
    def transaction(self, engine: Engine) -> Transaction:
        @contextmanager
        def begin(commit: bool) -> Iterator[Any]:
            with engine.connect() as connection:
                yield connection
                connection.commit() if commit else connection.rollback()

        return begin


class TestSession(TransactionTests):
    @pytest.fixture
    def transaction(self, engine: Engine) -> Transaction:
        @contextmanager
        def begin(commit: bool) -> Iterator[Any]:
            with Session(engine) as session:
                yield session
                session.commit() if commit else session.rollback()

        return begin


class TestScopedSession(TransactionTests):
    @pytest.fixture
    def transaction(self, engine: Engine) -> Transaction:
        sessions = scoped_session(sessionmaker(engine))

        @contextmanager
        def begin(commit: bool) -> Iterator[Any]:
            yield sessions
            sessions.commit() if commit else sessions.rollback()
            sessions.remove()

        return begin


class TestAsyncConnection(AsyncTransactionTests):
    @pytest.fixture
    def transaction(self, async_engine: AsyncEngine) -> AsyncTransaction:
        @asynccontextmanager
        async def begin(commit: bool) -> AsyncIterator[Any]:
            async with async_engine.connect() as connection:
                yield connection
                await (connection.commit() if commit else connection.rollback())

        return begin


class TestAsyncSession(AsyncTransactionTests):
    @pytest.fixture
    def transaction(self, async_engine: AsyncEngine) -> AsyncTransaction:
        @asynccontextmanager
        async def begin(commit: bool) -> AsyncIterator[Any]:
            async with AsyncSession(async_engine) as session:
                yield session
                await (session.commit() if commit else session.rollback())

        return begin


def test_a_connection_to_another_database_system_is_refused(dsn: str) -> None:
    with (
        create_engine("sqlite://").connect() as connection,
        pytest.raises(UnknownConnection, match="pysqlite"),
    ):
        Queue(dsn).create("acme", b"", using=connection)


async def test_an_async_connection_is_refused_by_the_sync_half(
    dsn: str, async_engine: AsyncEngine
) -> None:
    async with async_engine.connect() as connection:
        with pytest.raises(UnknownConnection, match="AsyncQueue takes"):
            Queue(dsn).create("acme", b"", using=connection)
