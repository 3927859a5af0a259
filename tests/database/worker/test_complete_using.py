"""`context.complete(using=…)`: the handler's own transaction, of another library, and the completion together."""

import logging
from typing import Any

import asyncpg
import django
import psycopg
import pytest
from django.conf import settings
from django.db import connections, transaction
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import NullPool, create_engine, text
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from caller_transactions import asyncpg_arguments
from lonnymq import Context, Contexts, LeaseLost, Queue, SyncContext, Worker

INSERT = "insert into bill values ({})"

if not settings.configured:
    settings.configure(
        DATABASES={"default": {"ENGINE": "django.db.backends.postgresql", "NAME": "unset"}}
    )
    django.setup()


@pytest.fixture
def bills(lonnymq_dsn: str) -> Any:
    with psycopg.connect(lonnymq_dsn, autocommit=True) as connection:
        connection.execute("create table bill (id bigint)")
        yield lambda: [row[0] for row in connection.execute("select id from bill order by id")]


def create_worker(dsn: str) -> Worker:
    """Create a worker with a handler for each library. A message with content fails before the commit."""
    worker = Worker(dsn)
    engine = create_engine(
        "postgresql+psycopg://", creator=lambda: psycopg.connect(dsn), poolclass=NullPool
    )

    @worker.handler("sqlalchemy", max_attempts=1)
    def with_session(content: bytes, context: SyncContext) -> None:
        with Session(engine) as session, session.begin():
            session.execute(text(INSERT.format(context.id)))
            context.complete(using=session)
            if content:
                raise ValueError("before the commit")

    @worker.handler("sqlalchemy async", max_attempts=1)
    async def with_async_session(content: bytes, context: Context) -> None:
        async def connect() -> Any:
            return await asyncpg.connect(**asyncpg_arguments(dsn))

        own = create_async_engine(
            "postgresql+asyncpg://", async_creator=connect, poolclass=NullPool
        )
        async with AsyncSession(own) as session, session.begin():
            await session.execute(text(INSERT.format(context.id)))
            await context.complete(using=session)
            if content:
                raise ValueError("before the commit")

    @worker.handler("asyncpg", max_attempts=1)
    async def with_asyncpg(content: bytes, context: Context) -> None:
        connection = await asyncpg.connect(**asyncpg_arguments(dsn))
        try:
            async with connection.transaction():
                await connection.execute(INSERT.format(context.id))
                await context.complete(using=connection)
                if content:
                    raise ValueError("before the commit")
        finally:
            await connection.close()

    @worker.handler("django", max_attempts=1)
    def with_django(content: bytes, context: SyncContext) -> None:
        known = conninfo_to_dict(dsn)
        connection = connections["default"]
        connection.settings_dict.update(
            NAME=known.pop("dbname"),
            USER=known.pop("user", ""),
            PASSWORD=known.pop("password", ""),
            HOST=known.pop("host", ""),
            PORT=known.pop("port", ""),
            OPTIONS=known,
        )
        try:
            with transaction.atomic():
                connection.cursor().execute(INSERT.format(context.id))
                context.complete(using=connection)
                if content:
                    raise ValueError("before the commit")
        finally:
            connections.close_all()

    return worker


@pytest.mark.parametrize("kind", ["sqlalchemy", "sqlalchemy async", "asyncpg", "django"])
def test_the_handlers_transaction_and_the_completion_commit_together(
    lonnymq_dsn: str, lonnymq_queue: Queue, bills: Any, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "lonnymq.worker")
    message = lonnymq_queue.create("acme", b"", kind=kind)
    assert create_worker(lonnymq_dsn).drain() == {"completed": 1}
    assert bills() == [message.id]  # type: ignore[union-attr]
    assert lonnymq_queue.stats().leased == lonnymq_queue.stats().waiting == 0
    assert [each.message for each in caplog.records if each.levelno >= logging.WARNING] == []


@pytest.mark.parametrize("kind", ["sqlalchemy", "sqlalchemy async", "asyncpg", "django"])
def test_an_exception_undoes_both_and_the_attempt_fails_at_once(
    lonnymq_dsn: str, lonnymq_queue: Queue, bills: Any, kind: str
) -> None:
    lonnymq_queue.create("acme", b"fail", kind=kind)
    assert create_worker(lonnymq_dsn).drain() == {"dead": 1}
    assert bills() == []
    [dead] = lonnymq_queue.dead_list()
    assert "before the commit" in str(dead.error)


def test_a_batch_is_completed_in_the_handlers_transaction(
    lonnymq_dsn: str, lonnymq_queue: Queue, bills: Any
) -> None:
    worker = Worker(lonnymq_dsn)

    @worker.handler(batch=10)
    async def many(contents: list[bytes], contexts: Contexts) -> None:
        async with await psycopg.AsyncConnection.connect(lonnymq_dsn) as connection:
            for context in contexts:
                await connection.execute(INSERT.format(context.id).encode())
            await contexts.complete(using=connection)

    lonnymq_queue.create_many([b"a", b"b", b"c"], channel="acme")
    assert worker.drain() == {"completed": 3}
    assert len(bills()) == 3


def test_a_lost_lease_undoes_the_transaction(
    lonnymq_dsn: str, lonnymq_queue: Queue, bills: Any
) -> None:
    worker, seen = Worker(lonnymq_dsn), list[str]()

    @worker.handler()
    def slow(content: bytes, context: SyncContext) -> None:
        with psycopg.connect(lonnymq_dsn) as other:
            other.execute("update lonnymq.message set token = gen_random_uuid()")
        try:
            with psycopg.connect(lonnymq_dsn) as connection:
                connection.execute(INSERT.format(context.id).encode())
                context.complete(using=connection)
        except LeaseLost as error:
            seen.append(str(error))

    lonnymq_queue.create("acme", b"")
    worker.drain()
    assert bills() == []
    assert "a lease is lost" in seen[0]
