"""When a worker takes messages, and how many."""

import asyncio
from functools import partial

import pytest

from lonnymq import Worker
from running_worker import is_completed, outcomes, running_worker, session_of, soon

NEVER = 600_000  # a poll that comes after the test has failed


async def test_no_more_is_leased_than_there_are_free_slots(dsn, queue) -> None:
    worker, gate = Worker(concurrency=5), asyncio.Event()

    @worker.handler()
    async def waits(content: bytes) -> None:
        await gate.wait()

    queue.create_many([b"x"] * 20, channel="acme")
    async with running_worker(worker, dsn):
        await soon(lambda: session_of(worker).runner.free == 0)
        assert queue.channel_stats("acme")[0].leased == 5
        gate.set()
        await soon(lambda: outcomes(queue) == ["completed"] * 20)


async def test_a_worker_wakes_when_it_is_notified(dsn_18, queue_18) -> None:
    worker = Worker(poll_interval_ms=NEVER)
    worker.handler()(lambda content: None)
    async with running_worker(worker, dsn_18):
        await soon(lambda: session_of(worker).fetcher.is_listening)
        for number in range(1, 4):
            queue_18.create("acme", b"x")
            await soon(partial(is_completed, queue_18, number))


async def test_a_worker_wakes_when_a_message_is_due(dsn_18, queue_18) -> None:
    worker, at = Worker(poll_interval_ms=NEVER), []

    @worker.handler()
    async def notes(content: bytes) -> None:
        at.append(queue_18.epoch())

    due = queue_18.epoch() + 700
    queue_18.create("acme", b"x", dequeue_at=due)
    async with running_worker(worker, dsn_18):
        await soon(lambda: outcomes(queue_18) == ["completed"])
    assert at[0] >= due


async def test_a_worker_goes_on_with_a_channel_whose_place_it_has_freed(dsn_18, queue_18) -> None:
    worker = Worker(poll_interval_ms=NEVER)

    @worker.handler()
    async def short(content: bytes) -> None: ...

    queue_18.channel_set("acme", max_concurrency=1)
    queue_18.create_many([b"x"] * 10, channel="acme")
    async with running_worker(worker, dsn_18):
        await soon(lambda: outcomes(queue_18) == ["completed"] * 10)


async def test_a_worker_takes_the_leases_over_that_another_let_run_out(dsn, queue) -> None:
    worker = Worker(poll_interval_ms=NEVER)
    worker.handler()(lambda content: None)
    queue.create("acme", b"x")
    assert len(queue.dequeue(lease_ms=500)) == 1
    async with running_worker(worker, dsn):
        await soon(lambda: outcomes(queue) == ["expired", "completed"])


@pytest.mark.parametrize("server", ["server_behind_pgbouncer"], indirect=True, ids=["pgbouncer"])
async def test_behind_a_pooler_a_worker_polls(dsn, queue, caplog) -> None:
    caplog.set_level("INFO", "lonnymq.worker")
    worker = Worker()
    worker.handler()(lambda content: None)
    async with running_worker(worker, dsn):
        await soon(lambda: "polling instead" in caplog.text)
        assert not session_of(worker).fetcher.is_listening
        queue.create("acme", b"x")
        await soon(lambda: outcomes(queue) == ["completed"])


async def test_messages_of_all_tenants_take_turns_in_a_worker(dsn_18, queue_18) -> None:
    worker, seen = Worker(concurrency=1), []

    @worker.handler()
    async def notes(content: bytes, context) -> None:
        seen.append(context.channel)

    for channel in ("flood", "quiet", "small"):
        queue_18.create_many([b"x"] * (20 if channel == "flood" else 4), channel=channel)
    async with running_worker(worker, dsn_18):
        await soon(lambda: len(seen) == 28)
    assert all(set(seen[at : at + 3]) == {"flood", "quiet", "small"} for at in range(0, 12, 3))
