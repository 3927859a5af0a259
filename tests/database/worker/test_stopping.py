"""How a worker inside somebody's loop ends: told to, cancelled, or broken."""

import asyncio

import pytest

from lonnymq import Context, Worker
from working import outcomes, soon, working


async def test_a_worker_whose_task_is_cancelled_gives_back_what_it_has(dsn, queue) -> None:
    worker, began = Worker(), asyncio.Event()

    @worker.handler()
    async def long(content: bytes, context: Context) -> None:
        began.set()
        await asyncio.Event().wait()

    queue.create("acme", b"x")
    task = asyncio.create_task(worker.run_async(dsn))
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    [message] = queue.peek("acme")
    assert (message.leased, message.attempt, outcomes(queue)) == (False, 0, ["deferred"])
    assert queue.worker_list() == []


async def test_a_long_handler_may_defer_when_the_worker_is_told_to_stop(dsn, queue) -> None:
    worker, began = Worker(), asyncio.Event()

    @worker.handler()
    async def long(content: bytes, context: Context) -> None:
        began.set()
        await soon(lambda: context.stopping)
        context.defer(delay_ms=0, state=b"half")

    queue.create("acme", b"x")
    task = asyncio.create_task(worker.run_async(dsn))
    await began.wait()
    worker.stop()
    await task
    assert queue.peek("acme")[0].state == b"half"


async def test_a_stopped_worker_may_run_again(dsn, queue) -> None:
    worker = Worker()
    worker.handler()(lambda content: None)
    for number in (1, 2):
        queue.create("acme", b"x")
        async with working(worker, dsn):
            await soon(lambda number=number: outcomes(queue) == ["completed"] * number)


async def test_a_worker_of_which_a_part_breaks_ends_with_the_error(dsn_18, monkeypatch) -> None:
    worker = Worker(dsn_18)
    worker.handler()(lambda content: None)
    task = asyncio.create_task(worker.run_async())
    await soon(lambda: worker._session and worker._session.tasks)

    async def breaks() -> None:
        raise ZeroDivisionError

    worker._session.begin(breaks())
    with pytest.raises(ZeroDivisionError):
        await task
