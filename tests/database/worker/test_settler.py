"""How outcomes are stored: together, before anybody is told, and none of them at the cost of another."""

import asyncio

import psycopg

from lonnymq import Queue, Worker
from lonnymq.testing import run, with_database
from lonnymq.worker import Context, Defer
from running_worker import outcomes, running_worker, soon


async def test_many_completions_are_stored_in_few_transactions(dsn, queue) -> None:
    worker, gate, count = Worker(concurrency=200), asyncio.Event(), 0

    @worker.handler()
    async def together(content: bytes) -> None:
        nonlocal count
        count += 1
        if count == 200:
            gate.set()
        await gate.wait()

    queue.create_many([b"x"] * 200, channel="acme")
    async with running_worker(worker, dsn):
        await soon(lambda: outcomes(queue) == ["completed"] * 200)
    assert len({row.xid for row in queue.history_read()}) <= 5


async def test_a_message_is_reported_done_when_that_is_committed(dsn, queue) -> None:
    worker, seen = Worker(), []

    @worker.handler()
    async def short(content: bytes) -> None: ...

    @worker.after
    def look(context, answer: str) -> None:
        with psycopg.connect(dsn) as fresh:
            row = fresh.execute(
                "select outcome from lonnymq.history where message_id = %s", (context.id,)
            ).fetchone()
        seen.append((answer, row and row[0]))

    queue.create_many([b"x"] * 3, channel="acme")
    async with running_worker(worker, dsn):
        await soon(lambda: len(seen) == 3)
    assert seen == [("completed", "completed")] * 3


async def test_an_outcome_that_cannot_be_stored_fails_alone(dsn, queue) -> None:
    worker, gate, waiting = Worker(concurrency=3), asyncio.Event(), []

    @worker.handler()
    async def together(content: bytes, context: Context) -> None:
        waiting.append(context)
        if len(waiting) == 3:
            gate.set()
        await gate.wait()
        late = 10**18 if content == b"bad" else 600_000
        context.outcome = Defer(delay_ms=late)

    for content in (b"good", b"bad", b"good"):
        queue.create("acme", content)
    async with running_worker(worker, dsn):
        await soon(lambda: len(outcomes(queue)) >= 3)
    assert outcomes(queue)[:3] == ["deferred", "failed", "deferred"]
    [failed] = [each for each in queue.peek("acme") if each.error]
    assert failed.error == "cannot store the outcome: InvalidArgument"


async def test_an_error_that_the_database_s_encoding_lacks_is_kept_in_plain_letters(
    server_18, dsn_18
) -> None:
    run(dsn_18, "create database latin encoding 'LATIN1' locale 'C' template template0")
    dsn, worker = with_database(dsn_18, "latin"), Worker()

    @worker.handler(max_attempts=1)
    async def raises(content: bytes) -> None:
        raise ValueError("no snow \N{SNOWMAN}")

    with Queue(dsn) as queue:
        queue.install()
        queue.create("acme", b"x")
        async with running_worker(worker, dsn):
            [dead] = await soon(queue.dead_list)
    assert str(dead.error).endswith("ValueError: no snow ?")
    run(dsn_18, "drop database latin with (force)")


async def test_a_call_that_the_database_refuses_is_told_of_and_tried_again(
    dsn_18, queue_18, connect, caplog
) -> None:
    worker, owner = Worker(poll_interval_ms=20), connect(dsn_18)
    worker.handler()(lambda content: None)
    async with running_worker(worker, dsn_18):
        owner.execute("alter table lonnymq.seat_seq rename to hidden")
        queue_18.create("acme", b"x")
        await soon(lambda: "database rejected a call" in caplog.text)
        owner.execute("alter table lonnymq.hidden rename to seat_seq")
        await soon(lambda: outcomes(queue_18) == ["completed"])
    assert caplog.text.count("database rejected a call") == 1
