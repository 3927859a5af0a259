"""A call inside a transaction of psycopg, on a connection or a cursor of any kind."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from caller_transactions import (
    AsyncTransaction,
    AsyncTransactionTests,
    Transaction,
    TransactionTests,
)


class TestConnection(TransactionTests):
    @pytest.fixture
    def transaction(self, dsn: str) -> Transaction:
        @contextmanager
        def begin(commit: bool) -> Iterator[Any]:
            with psycopg.connect(dsn) as connection:
                yield connection
                connection.commit() if commit else connection.rollback()

        return begin


class TestConnectionInTransactionBlock(TransactionTests):
    @pytest.fixture
    def transaction(self, dsn: str) -> Transaction:
        @contextmanager
        def begin(commit: bool) -> Iterator[Any]:
            with (
                psycopg.connect(dsn, autocommit=True) as connection,
                connection.transaction(force_rollback=not commit),
            ):
                yield connection

        return begin


class TestCursor(TransactionTests):
    @pytest.fixture(params=[psycopg.Cursor, psycopg.ClientCursor, psycopg.RawCursor])
    def transaction(self, dsn: str, request: pytest.FixtureRequest) -> Transaction:
        @contextmanager
        def begin(commit: bool) -> Iterator[Any]:
            with psycopg.connect(
                dsn, cursor_factory=request.param, row_factory=dict_row
            ) as connection:
                yield connection.cursor()
                connection.commit() if commit else connection.rollback()

        return begin


class TestAsyncConnection(AsyncTransactionTests):
    @pytest.fixture
    def transaction(self, dsn: str) -> AsyncTransaction:
        @asynccontextmanager
        async def begin(commit: bool) -> AsyncIterator[Any]:
            async with await psycopg.AsyncConnection.connect(
                dsn, row_factory=dict_row
            ) as connection:
                yield connection
                await (connection.commit() if commit else connection.rollback())

        return begin


class TestAsyncCursor(AsyncTransactionTests):
    @pytest.fixture
    def transaction(self, dsn: str) -> AsyncTransaction:
        @asynccontextmanager
        async def begin(commit: bool) -> AsyncIterator[Any]:
            async with await psycopg.AsyncConnection.connect(dsn) as connection:
                yield connection.cursor()
                await (connection.commit() if commit else connection.rollback())

        return begin
