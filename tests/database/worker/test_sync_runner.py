"""Registered handlers, run in the calling thread: the same reading, judging and settling as a worker's."""

import pytest

from lonnymq import Context, Dead, SyncContext, SyncContexts
from lonnymq.worker import Handlers, SyncRunner
from running_worker import outcomes


@pytest.fixture
def handlers() -> Handlers:
    return Handlers()


@pytest.fixture
def inline(dsn: str, handlers: Handlers):
    with SyncRunner(handlers, dsn) as inline:
        yield inline


def test_messages_are_handled_and_settled_in_the_order_given(queue, handlers, inline) -> None:
    seen: list[object] = []

    async def later(number: int, context: Context) -> None:
        seen.append(number)
        context.defer(delay_ms=600_000)

    def batch(numbers: list[int], contexts: SyncContexts) -> None:
        seen.append(numbers)

    def never(content: bytes) -> None:
        raise Dead("no")

    handlers.add(later, "later")
    handlers.add(batch, "batch", batch=10)
    handlers.add(never, "never")
    for kind, content in (
        ("batch", b"1"),
        ("later", b"2"),
        ("never", b"3"),
        ("batch", b"4"),
        ("batch", b"x"),
        ("other", b"5"),
    ):
        queue.create("acme", content, kind=kind)
    settlements = inline.handle(queue.dequeue(10))
    assert sorted(
        zip([each.id for each, _ in settlements], inline.settle(settlements), strict=True)
    ) == [
        (1, "completed"),
        (2, "deferred"),
        (3, "dead"),
        (4, "completed"),
        (5, "dead"),
        (6, "retrying"),
    ]
    assert sorted(seen, key=str) == [2, [1, 4]]


def test_what_a_handler_has_settled_in_its_transaction_is_not_settled_again(
    queue, handlers, inline
) -> None:
    async def own(content: bytes, context: Context) -> None:
        async with context.transaction() as connection:
            await connection.execute("select 1")

    def plain(content: bytes, context: SyncContext) -> None:
        with context.transaction() as connection:
            connection.execute("select 1")

    handlers.add(own, "own")
    handlers.add(plain, "plain")
    queue.create("acme", b"x", kind="own")
    queue.create("acme", b"x", kind="plain")
    assert inline.handle(queue.dequeue(10)) == []
    assert outcomes(queue) == ["completed"] * 2


def test_settlements_may_join_somebody_s_transaction(
    queue, handlers, inline, connect, direct_dsn
) -> None:
    handlers.add(lambda content: None, None)
    queue.create("acme", b"x")
    settlements = inline.handle(queue.dequeue(10))
    connection = connect(direct_dsn, autocommit=False)
    assert inline.settle(settlements, using=connection) == ["completed"]
    assert outcomes(queue) == []
    connection.commit()
    assert outcomes(queue) == ["completed"]
