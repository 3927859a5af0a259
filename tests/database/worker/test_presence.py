"""Workers say that they are there, sweep, and say when they are gone."""

import asyncio
import os

from lonnymq import Worker
from lonnymq.worker import heartbeats
from running_worker import outcomes, running_worker, soon


async def test_a_worker_is_listed_while_it_works(dsn, queue) -> None:
    worker = Worker(concurrency=7, name="here")
    worker.handler("encode")(lambda: None)
    async with running_worker(worker, dsn):
        [seen] = await soon(queue.worker_list)
        assert (seen.alive, seen.concurrency, seen.stopping) == (True, 7, False)
        assert seen.name.startswith(f"here:{os.getpid()}:")
        assert (seen.about["pid"], seen.about["kinds"]) == (os.getpid(), ["encode"])
    assert queue.worker_list() == []


async def test_a_worker_says_again_and_again_how_far_it_is(dsn_18, queue_18, monkeypatch) -> None:
    monkeypatch.setattr(heartbeats, "PRESENCE_SECONDS", 0.05)
    worker, gate = Worker(), asyncio.Event()

    @worker.handler()
    async def waits(content: bytes) -> None:
        await gate.wait()

    queue_18.create("acme", b"x")
    async with running_worker(worker, dsn_18):
        await soon(lambda: any(each.running == 1 for each in queue_18.worker_list()))
        gate.set()
        await soon(lambda: any(each.about["completed"] for each in queue_18.worker_list()))


async def test_messages_and_history_name_the_worker(dsn, queue) -> None:
    worker = Worker(name="here")
    worker.handler()(lambda content: None)
    queue.create("acme", b"x")
    async with running_worker(worker, dsn):
        await soon(lambda: outcomes(queue) == ["completed"])
    assert queue.history_read()[0].worker.startswith("here:")


async def test_a_worker_sweeps(dsn_18, queue_18, monkeypatch) -> None:
    monkeypatch.setattr(heartbeats, "MAINTENANCE_SECONDS", 0.05)
    queue_18.set(channel_idle_ms=1)
    worker = Worker()
    worker.handler()(lambda content: None)
    queue_18.create("acme", b"x")
    async with running_worker(worker, dsn_18):
        await soon(lambda: outcomes(queue_18) == ["completed"])
        await soon(lambda: queue_18.stats().channels == 0)


async def test_a_worker_of_many_long_kinds_is_listed_with_some_of_them(dsn_18, queue_18) -> None:
    worker = Worker()
    for number in range(300):
        worker.handler(f"{number} " + "\N{SNOWMAN}" * 80)(lambda: None)
    async with running_worker(worker, dsn_18):
        [seen] = await soon(queue_18.worker_list)
    assert 10 < len(seen.about["kinds"]) < 300
