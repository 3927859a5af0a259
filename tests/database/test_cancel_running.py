"""`message_cancel` of messages that run: the token is worthless, the slots are free, and the worker is told."""

import asyncio
import threading
from typing import Any

import pytest

from lonnymq import AsyncQueue, Context, Queue, SyncContext, Worker
from running_worker import running_worker, soon
from support import fetch_row, message_id

CHECK = "select count(*) from lonnymq.queue_check()"


@pytest.fixture
def queue(dsn):
    with Queue(dsn) as queue:
        yield queue


def test_a_cancelled_message_is_lost_to_its_worker_and_history_says_so(queue) -> None:
    job = message_id(queue.create("acme", b"x", key="k"))
    [message] = queue.dequeue(worker="w")
    assert queue.cancel(job) == "cancelled"
    assert message.heartbeat() == "not_found"
    assert message.complete(result=b"late") == "not_found"
    assert message.defer() == message.fail("x") == "not_found"
    [row] = queue.history_read()
    assert (row.outcome, row.attempt, row.worker, row.error) == ("cancelled", 1, "w", None)
    assert (queue.status(job).state, queue.result(job)) == ("cancelled", None)
    assert queue.cancel(job) == "not_found"
    assert queue.create("acme", b"y", key="k").id != job


def test_a_message_cancelled_while_it_waits_has_no_attempt_in_history(queue) -> None:
    job = message_id(queue.create("acme", b"x"))
    queue.dequeue()[0].fail("once", retry_ms=0)
    queue.cancel(job)
    assert [(row.outcome, row.attempt) for row in queue.history_read()] == [
        ("failed", 1),
        ("cancelled", 0),
    ]
    assert queue.status(job).state == "cancelled"


def test_the_slots_of_cancelled_messages_are_free_at_once(queue, connection) -> None:
    queue.set(max_concurrency=3)
    queue.channel_set("acme", max_concurrency=2, max_size=4)
    ids = [message_id(queue.create("acme", b"x")) for _ in range(4)]
    assert len(queue.dequeue(10)) == 2
    assert len(queue.dequeue(10)) == 0
    assert [each.answer for each in queue.cancel_many(ids[:3])] == ["cancelled"] * 3
    assert len(queue.dequeue(10)) == 1
    assert fetch_row(connection, CHECK) == (0,)
    for _ in range(3):  # three of four places are free again
        queue.create("acme", b"y")
    assert queue.channel("acme").stats().size == 4
    assert len(queue.dequeue(10)) == 1
    assert fetch_row(connection, CHECK) == (0,)


def test_leases_from_before_a_limit_are_cancelled_exactly(queue, connection) -> None:
    ids = [message_id(queue.create("acme", b"x")) for _ in range(6)]
    queue.dequeue(3)
    queue.channel_set("acme", max_concurrency=3, max_size=6)
    queue.dequeue(10)
    queue.cancel_many(ids[:2])
    assert len(queue.dequeue(10)) == 2
    queue.cancel_many(ids)
    queue.dequeue(1)
    assert fetch_row(connection, CHECK) == (0,)
    assert queue.channel("acme").stats().in_flight == 0


def test_a_message_that_is_being_settled_is_busy(queue, connect, direct_dsn) -> None:
    settling = connect(direct_dsn)
    job = message_id(queue.create("acme", b"x"))
    [message] = queue.dequeue()
    with settling.transaction(force_rollback=True):
        message.complete(using=settling)
        assert queue.cancel(job) == "busy"
    assert queue.cancel(job) == "cancelled"


def test_a_cancel_that_is_rolled_back_leaves_the_lease(queue, connect, direct_dsn) -> None:
    cancelling = connect(direct_dsn)
    job = message_id(queue.create("acme", b"x"))
    [message] = queue.dequeue()
    with cancelling.transaction(force_rollback=True):
        assert queue.cancel(job, using=cancelling) == "cancelled"
    assert message.complete() == "completed"


async def test_a_worker_cancels_the_async_handler_of_a_cancelled_message(dsn_18) -> None:
    worker, seen = Worker(lease_ms=600), list[Any]()

    @worker.handler()
    async def waits(context: Context) -> None:
        seen.append("began")
        try:
            await asyncio.Event().wait()
        finally:
            seen.append(context.lost)

    async with AsyncQueue(dsn_18) as queue:
        job = message_id(await queue.create("acme", b"x"))
        async with running_worker(worker, dsn_18):
            await soon(lambda: seen)
            assert await queue.cancel(job) == "cancelled"
            await soon(lambda: len(seen) == 2)
        assert seen == ["began", True]
        assert (await queue.status(job)).state == "cancelled"


async def test_a_plain_function_is_told_and_its_result_is_discarded(dsn_18) -> None:
    worker, began, told = Worker(lease_ms=600), threading.Event(), threading.Event()

    @worker.handler()
    def waits(context: SyncContext) -> bytes:
        began.set()
        while not context.lost and not told.wait(0.01):
            pass
        told.set()
        return b"late"

    async with AsyncQueue(dsn_18) as queue:
        job = message_id(await queue.create("acme", b"x"))
        async with running_worker(worker, dsn_18):
            await soon(began.is_set)
            await queue.cancel(job)
            await soon(told.is_set)
        assert (await queue.status(job)).state == "cancelled"
        assert await queue.result(job) is None
