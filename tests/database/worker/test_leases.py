"""Leases of running handlers: kept as long as they run, and told of when they are lost."""

import asyncio
import threading
import time

import pytest

from lonnymq import Context, LeaseLost, SyncContext, Worker
from running_worker import outcomes, running_worker, soon

STEAL = "update lonnymq.message set token = gen_random_uuid()"


async def test_heartbeats_keep_handlers_that_run_longer_than_their_lease(dsn, queue) -> None:
    worker = Worker(lease_ms=1500)

    @worker.handler("async")
    async def long(content: bytes, context: Context) -> None:
        until = context.lease_until
        await soon(lambda: context.lease_until > until + 1800)

    @worker.handler("plain")
    def long_too(content: bytes, context: SyncContext) -> None:
        until, waiting = context.lease_until, threading.Event()
        while context.lease_until <= until + 1800:
            waiting.wait(0.01)

    for kind in ("async", "async", "plain"):
        queue.create("acme", b"x", kind=kind)
    async with running_worker(worker, dsn):
        await soon(lambda: outcomes(queue) == ["completed"] * 3)


async def test_a_lease_that_ended_while_the_loop_was_blocked_is_extended_if_it_is_still_ours(
    dsn_18, queue_18
) -> None:
    worker, began = Worker(lease_ms=1500, concurrency=1), []

    @worker.handler()
    async def blocks(content: bytes, context: Context) -> None:
        began.append(context.attempt)
        time.sleep(2)
        until = context.lease_until
        await soon(lambda: context.lease_until > until)

    queue_18.create("acme", b"x")
    async with running_worker(worker, dsn_18):
        await soon(lambda: outcomes(queue_18) == ["completed"])
    assert began == [1]


async def test_a_handler_whose_lease_is_lost_is_cancelled_and_told_so(
    dsn, queue, connect, direct_dsn
) -> None:
    worker, results, answers = Worker(lease_ms=300), [], []

    @worker.handler()
    async def stuck(content: bytes, context: Context) -> None:
        connect(direct_dsn).execute(STEAL)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            results.append(context.lost)
            raise

    worker.after(lambda context, answer: answers.append(answer))
    queue.create("acme", b"x")
    async with running_worker(worker, dsn):
        await soon(lambda: answers)
    assert (results, answers, outcomes(queue)) == ([True], ["lease_lost"], [])


async def test_a_thread_whose_lease_is_lost_is_told_so_and_its_result_is_dropped(
    dsn, queue, connect, direct_dsn
) -> None:
    worker, results, answers = Worker(lease_ms=300), [], []
    waiting = threading.Event()

    @worker.handler()
    def stuck(content: bytes, context: SyncContext) -> None:
        connect(direct_dsn).execute(STEAL)
        while not context.lost:
            waiting.wait(0.01)
        try:
            context.heartbeat()
        except LeaseLost as error:
            results.append(error)

    worker.after(lambda context, answer: answers.append(answer))
    queue.create("acme", b"x")
    async with running_worker(worker, dsn):
        await soon(lambda: results)
        await soon(lambda: answers)
    assert (len(results), answers, outcomes(queue)) == (1, ["lease_lost"], [])


async def test_a_batch_goes_on_with_the_leases_that_are_left(
    dsn, queue, connect, direct_dsn
) -> None:
    worker = Worker(lease_ms=1500)

    @worker.handler(batch=2)
    async def both(contents: list[bytes], contexts) -> None:
        connect(direct_dsn).execute(f"{STEAL} where id = {contexts[0].id}")
        await soon(lambda: contexts[0].lost)

    queue.create_many([b"x"] * 2, channel="acme")
    async with running_worker(worker, dsn):
        await soon(lambda: outcomes(queue) == ["completed"])


async def test_a_handler_may_extend_its_lease_itself(dsn, queue) -> None:
    worker, lengths = Worker(lease_ms=30_000), []

    @worker.handler("async")
    async def asks(content: bytes, context: Context) -> None:
        before = context.deadline
        await context.heartbeat(600_000)
        lengths.append((context.deadline - before).total_seconds())

    @worker.handler("plain")
    def asks_too(content: bytes, context: SyncContext) -> None:
        before = context.deadline
        context.heartbeat(600_000)
        lengths.append((context.deadline - before).total_seconds())

    queue.create("acme", b"x", kind="async")
    queue.create("acme", b"x", kind="plain")
    async with running_worker(worker, dsn):
        await soon(lambda: outcomes(queue) == ["completed"] * 2)
    assert lengths == [pytest.approx(570, abs=10)] * 2


async def test_a_lost_lease_is_found_out_by_the_handler_s_own_heartbeat(
    dsn, queue, connect, direct_dsn
) -> None:
    worker, results = Worker(), []

    @worker.handler()
    async def asks(content: bytes, context: Context) -> None:
        connect(direct_dsn).execute(STEAL)
        try:
            await context.heartbeat()
        except LeaseLost as error:
            results.append(error)
            raise

    queue.create("acme", b"x")
    async with running_worker(worker, dsn):
        await soon(lambda: results)
    assert outcomes(queue) == []


async def test_what_another_worker_has_by_now_is_not_settled_by_a_late_handler(
    dsn, queue, connect, direct_dsn
) -> None:
    worker, answers = Worker(), []

    @worker.handler()
    async def late(content: bytes) -> None:
        connect(direct_dsn).execute(STEAL)

    worker.after(lambda context, answer: answers.append(answer))
    queue.create("acme", b"x")
    async with running_worker(worker, dsn):
        await soon(lambda: answers)
    assert (answers, outcomes(queue)) == (["lease_lost"], [])
    assert queue.peek("acme")[0].leased
