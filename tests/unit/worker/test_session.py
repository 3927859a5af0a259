"""Tasks that take a cancellation for trouble end all the same."""

from __future__ import annotations

import asyncio

from lonnymq.worker.session import cancel_tasks


async def test_a_task_that_takes_its_first_cancellation_for_trouble_is_cancelled_again() -> None:
    troubles = 0

    async def go_on() -> None:
        nonlocal troubles
        while True:
            try:
                await call()
            except OSError:
                troubles += 1

    async def call() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if not troubles:
                raise OSError("the connection broke meanwhile") from None
            raise

    task = asyncio.create_task(go_on())
    await asyncio.sleep(0)
    assert await cancel_tasks([task], 60)
    assert (troubles, task.cancelled()) == (1, True)


async def test_a_task_that_refuses_to_end_is_left_and_told_of() -> None:
    is_over = asyncio.Event()

    async def reject() -> None:
        while not is_over.is_set():
            try:
                await is_over.wait()
            except asyncio.CancelledError:
                continue

    task = asyncio.create_task(reject())
    await asyncio.sleep(0)
    assert not await cancel_tasks([task], 0.01)
    is_over.set()
    await task


async def test_tasks_that_have_ended_are_no_trouble() -> None:
    task = asyncio.create_task(asyncio.sleep(0))
    await task
    assert await cancel_tasks([task], 0)
    assert await cancel_tasks([], 0)
