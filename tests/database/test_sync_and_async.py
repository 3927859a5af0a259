"""Every method of AsyncQueue answers as that of Queue does, each on a database of its own."""

import inspect
from collections.abc import Awaitable, Callable, Iterator
from typing import Any
from uuid import UUID

import psycopg
import pytest

from lonnymq import AsyncQueue, Lease, Queue
from lonnymq.client._async.install import install_async
from lonnymq.errors import LonnyMQError
from support import Target

LEASE = Lease(7, UUID(int=9))
# A value for each argument that a caller must give.
GIVEN: dict[str, Any] = {
    "by": "channel", "channel": "acme", "concurrency": 5, "content": b"x", "group_id": 1, "message": LEASE,
    "message_id": 1, "message_ids": [1], "messages": [LEASE], "name": "acme", "position": 5, "reader": "lake",
    "role": "postgres", "runs": [5], "start": 5, "upto": 5, "upto_at": 5, "version": 1,
}  # fmt: skip
BATCH: dict[str, Any] = {"messages": [b"x"]}
OF_QUEUE: dict[str, dict[str, Any]] = {
    "schedule_set": {"name": "acme", "channel": "acme", "every_ms": 5000},
    "create_many": {**BATCH, "channel": "acme"},
    "copy": {**BATCH, "channel": "acme"},
    "wait": {"message_id": 1, "timeout_ms": 0},
    "wait_many": {"message_ids": [1], "timeout_ms": 0},
}
OF_CHANNEL = {"create_many": BATCH, "copy": BATCH}


@pytest.fixture
def databases(server_18: Target) -> Iterator[tuple[str, str]]:
    with server_18.database() as (first, _), server_18.database() as (second, _):
        yield first, second


def arguments(method: Callable[..., Any]) -> dict[str, Any]:
    """What a method must be given."""
    needed = [
        each.name
        for each in inspect.signature(method).parameters.values()
        if each.default is each.empty and each.kind != each.VAR_KEYWORD
    ]
    return {each: GIVEN[each] for each in needed}


def shape(answer: object) -> object:
    """What must be equal of two answers: words, and the types of what differs from call to call."""
    if isinstance(answer, list):
        return [shape(each) for each in answer]
    return answer if isinstance(answer, str | bool) else type(answer).__name__.removeprefix("Async")


def answer_of(call: Callable[..., Any], given: dict[str, Any]) -> object:
    try:
        return shape(call(**given))
    except LonnyMQError as error:
        return type(error).__name__


async def awaited_answer_of(call: Callable[..., Awaitable[Any]], given: dict[str, Any]) -> object:
    try:
        return shape(await call(**given))
    except LonnyMQError as error:
        return type(error).__name__


async def compare(plain: object, waiting: object, others: dict[str, dict[str, Any]]) -> None:
    """Call each method of both."""
    methods = inspect.getmembers(type(waiting), inspect.iscoroutinefunction)
    names = [name for name, _ in methods if name[0] != "_" and name != "close"]
    public = [(name, getattr(waiting, name)) for name in names]
    for name, method in public:
        given = others.get(name) or arguments(method)
        expected = answer_of(getattr(plain, name), given)
        assert await awaited_answer_of(method, given) == expected, name
    assert len(public) >= 10


async def test_each_method_of_a_queue(databases: tuple[str, str]) -> None:
    with Queue(databases[0]) as plain:
        async with AsyncQueue(databases[1]) as waiting:
            await compare(plain, waiting, OF_QUEUE)


async def test_each_method_of_a_channel(databases: tuple[str, str]) -> None:
    with Queue(databases[0]) as plain:
        async with AsyncQueue(databases[1]) as waiting:
            await compare(plain.channel("acme"), waiting.channel("acme"), OF_CHANNEL)


async def test_an_install_into_a_transaction_that_is_open_leaves_it_open(dsn_18: str) -> None:
    async with await psycopg.AsyncConnection.connect(dsn_18) as connection:
        await connection.execute("create table mine (id int)")
        await install_async(connection, schema="other")
        await connection.rollback()
        found = await connection.execute("select to_regclass('mine'), to_regnamespace('other')")
        assert await found.fetchone() == (None, None)
    await install_async(dsn_18, schema="other")
    async with AsyncQueue(dsn_18, schema="other") as queue:
        assert await queue.installed()
