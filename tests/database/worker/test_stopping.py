"""How a worker inside somebody's loop ends: told to, cancelled, or broken."""

import asyncio
from functools import partial

import pytest

from lonnymq import Context, Worker
from running_worker import is_completed, outcomes, running_worker, session_of, soon


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
        async with running_worker(worker, dsn):
            await soon(partial(is_completed, queue, number))


async def test_a_worker_of_which_a_part_breaks_ends_with_the_error(dsn_18, monkeypatch) -> None:
    worker = Worker(dsn_18)
    worker.handler()(lambda content: None)
    task = asyncio.create_task(worker.run_async())
    await soon(lambda: worker._session and worker._session.tasks)

    async def breaks() -> None:
        raise ZeroDivisionError

    session_of(worker).start(breaks())
    with pytest.raises(ZeroDivisionError):
        await task


async def test_what_a_dequeue_brings_after_the_worker_was_told_to_stop_is_given_back(
    dsn_18, queue_18, connect
) -> None:
    worker, seen, watcher = Worker(), list[bytes](), connect(dsn_18)
    other = connect(dsn_18, autocommit=False)
    worker.handler()(seen.append)
    queue_18.create("acme", b"x")
    other.execute("lock table lonnymq.queue in access exclusive mode")
    task = asyncio.create_task(worker.run_async(dsn_18))
    await soon(lambda: watcher.execute(WAITING).fetchone()[0])
    worker.stop()
    await soon(lambda: session_of(worker).fetcher.is_stopping)
    other.commit()
    await task
    [message] = queue_18.peek("acme")
    assert (message.leased, message.attempt, seen) == (False, 0, [])


WAITING = """
select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query like '%message_dequeue%'
  and datname = current_database()
"""
