"""The transaction of a context: the handler's own writes and the end of its message, together or not at all."""

from functools import partial
from typing import Any

import pytest

from lonnymq import Context, Contexts, LeaseLost, SyncContext, Worker
from running_worker import is_completed, outcomes, running_worker, soon

INSERT = "insert into result values (%s)"


@pytest.fixture
def results(connect, dsn):
    connection = connect(dsn)
    connection.execute("create table result (id bigint)")
    return lambda: [row[0] for row in connection.execute("select id from result order by id")]


def has_length(seen: list[Any], length: int) -> bool:
    return len(seen) == length


async def test_writes_and_completion_commit_together(dsn, queue, results) -> None:
    worker, seen = Worker(), []

    @worker.handler("async")
    async def writes(content: bytes, context: Context) -> None:
        async with context.transaction() as connection:
            await connection.execute(INSERT, (context.id,))
            seen.append((results(), outcomes(queue)))
        seen.append((results(), outcomes(queue)))

    @worker.handler("plain")
    def writes_too(content: bytes, context: SyncContext) -> None:
        with context.transaction() as connection:
            connection.execute(INSERT, (context.id,))
            seen.append((results(), outcomes(queue)))
        seen.append((results(), outcomes(queue)))

    for number, kind in enumerate(("async", "plain"), 1):
        created = queue.create("acme", b"x", kind=kind)
        async with running_worker(worker, dsn):
            await soon(partial(is_completed, queue, number))
            await soon(partial(has_length, seen, 2 * number))
        assert created.id in results()
    [one, two] = results()
    assert seen == [
        ([], []),
        ([one], ["completed"]),
        ([one], ["completed"]),
        ([one, two], ["completed", "completed"]),
    ]


async def test_what_raises_inside_is_rolled_back_and_the_attempt_failed(
    dsn, queue, results
) -> None:
    worker = Worker()

    @worker.handler("async", max_attempts=1)
    async def writes(content: bytes, context: Context) -> None:
        async with context.transaction() as connection:
            await connection.execute(INSERT, (context.id,))
            raise ValueError

    @worker.handler("plain", max_attempts=1)
    def writes_too(content: bytes, context: SyncContext) -> None:
        with context.transaction() as connection:
            connection.execute(INSERT, (context.id,))
            connection.execute("select 1 / 0")

    queue.create("acme", b"x", kind="async")
    queue.create("acme", b"x", kind="plain")
    async with running_worker(worker, dsn):
        await soon(lambda: outcomes(queue) == ["dead", "dead"])
    assert results() == []


async def test_an_error_after_the_commit_undoes_nothing(dsn, queue, results) -> None:
    worker, errors = Worker(), []

    @worker.handler()
    async def writes(content: bytes, context: Context) -> None:
        async with context.transaction() as connection:
            await connection.execute(INSERT, (context.id,))
        raise ValueError("too late")

    worker.error(lambda context, error: errors.append(str(error)))
    queue.create("acme", b"x")
    async with running_worker(worker, dsn):
        await soon(lambda: errors)
        await soon(lambda: outcomes(queue) == ["completed"])
    assert (len(results()), errors) == (1, ["too late"])


async def test_a_deferral_commits_with_the_writes_as_well(dsn, queue, results) -> None:
    worker = Worker()

    @worker.handler()
    async def writes(content: bytes, context: Context) -> None:
        async with context.transaction() as connection:
            await connection.execute(INSERT, (context.id,))
            context.defer(delay_ms=600_000, state=b"half")

    queue.create("acme", b"x")
    async with running_worker(worker, dsn):
        await soon(lambda: outcomes(queue) == ["deferred"])
    assert len(results()) == 1
    assert queue.peek("acme")[0].state == b"half"


async def test_a_batch_commits_as_one(dsn, queue, results) -> None:
    worker = Worker()

    @worker.handler(batch=10)
    async def writes(contents: list[bytes], contexts: Contexts) -> None:
        async with contexts.transaction() as connection:
            for context in contexts:
                await connection.execute(INSERT, (context.id,))

    queue.create_many([b"x"] * 10, channel="acme")
    async with running_worker(worker, dsn):
        await soon(lambda: outcomes(queue) == ["completed"] * 10)
    assert len(results()) == 10


async def test_nothing_is_committed_once_the_lease_is_lost(
    dsn, queue, results, connect, direct_dsn
) -> None:
    worker, caught, thief = Worker(), [], connect(direct_dsn)

    @worker.handler()
    async def writes(content: bytes, context: Context) -> None:
        try:
            async with context.transaction() as connection:
                await connection.execute(INSERT, (context.id,))
                thief.execute("update lonnymq.message set token = gen_random_uuid()")
        except LeaseLost as error:
            caught.append(error)
            raise

    queue.create("acme", b"x")
    async with running_worker(worker, dsn):
        await soon(lambda: caught)
    assert (results(), outcomes(queue)) == ([], [])


async def test_a_handler_s_statements_are_prepared_as_psycopg_does_and_behind_a_pooler_never(
    dsn, queue, request
) -> None:
    worker, seen = Worker(), []

    @worker.handler()
    def looks(content: bytes, context: SyncContext) -> None:
        with context.transaction() as connection:
            seen.append(connection.prepare_threshold)

    queue.create("acme", b"x")
    async with running_worker(worker, dsn):
        await soon(lambda: seen)
    assert seen == [None if "pgbouncer" in request.node.name else 5]
