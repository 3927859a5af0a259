"""Results of handlers: what a function returns, or sets in its context, is stored with the completion."""

import asyncio
import json
import logging
from dataclasses import dataclass
from typing import Any

import pytest

from lonnymq import Context, SyncContext, Worker
from lonnymq.errors import InvalidArgument, TooLarge
from running_worker import outcomes, running_worker, soon
from support import message_id


@dataclass
class Size:
    width: int
    height: int


async def results_of(dsn: str, queue: Any, worker: Worker, *kinds: str) -> list[bytes | None]:
    """The results of a message of each kind, after a worker completed all of them."""
    ids = [message_id(queue.create("acme", b"x", kind=kind)) for kind in kinds]
    async with running_worker(worker, dsn):
        await soon(lambda: outcomes(queue) == ["completed"] * len(kinds))
    return [queue.result(each) for each in ids]


async def test_what_handlers_return_is_their_result(dsn_18, queue_18) -> None:
    worker = Worker()

    @worker.handler("bytes")
    async def returns_bytes(context: Context) -> bytes:
        return b"\x00raw"

    @worker.handler("size")
    def returns_a_dataclass(context: SyncContext) -> Size:
        return Size(1920, 1080)

    @worker.handler("set")
    async def sets_the_result(context: Context) -> None:
        context.result = [1, 2]
        async with context.transaction():
            pass

    @worker.handler("nothing")
    async def returns_nothing(context: Context) -> None:
        pass

    @worker.handler("off", max_result_bytes=0)
    async def is_not_stored(context: Context) -> str:
        return "never"

    kinds = ("bytes", "size", "set", "nothing", "off")
    found = await results_of(dsn_18, queue_18, worker, *kinds)
    assert found[0] == b"\x00raw"
    assert json.loads(found[1] or b"") == {"width": 1920, "height": 1080}
    assert found[2:] == [b"[1,2]", None, None]


async def test_a_result_that_cannot_be_stored_is_logged_and_the_work_is_not_repeated(
    dsn_18, queue_18, caplog
) -> None:
    worker = Worker()

    @worker.handler("large", max_result_bytes=10)
    async def returns_too_much(context: Context) -> bytes:
        return b"x" * 11

    @worker.handler("odd")
    def returns_what_json_cannot_hold(context: SyncContext) -> object:
        return object()

    with caplog.at_level(logging.WARNING, "lonnymq.worker"):
        assert await results_of(dsn_18, queue_18, worker, "large", "odd") == [None, None]
    assert "the result is 11 bytes, and the handler allows 10" in caplog.text
    assert "the result must be bytes or a value that JSON can hold, not object" in caplog.text


async def test_a_result_set_in_the_context_is_checked_at_once(dsn_18, queue_18) -> None:
    worker, raised = Worker(), list[Exception]()

    @worker.handler("small", max_result_bytes=3)
    async def sets_too_much(context: Context) -> None:
        with pytest.raises(TooLarge) as caught:
            context.result = b"1234"
        raised.append(caught.value)
        context.result = b"123"

    assert await results_of(dsn_18, queue_18, worker, "small") == [b"123"]
    assert len(raised) == 1


def test_a_wrong_limit_of_results_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="max_result_bytes must be a whole number from 0"):
        Worker().handler("x", max_result_bytes=-1)(print)


async def test_the_progress_that_a_handler_states_is_stored_by_the_next_heartbeat(
    dsn_18, queue_18
) -> None:
    worker, may_end = Worker(lease_ms=300), asyncio.Event()

    @worker.handler()
    async def renders(context: Context) -> None:
        for step in range(1000):
            context.progress(step / 1000, "rendering")
        await may_end.wait()

    job = message_id(queue_18.create("acme", b"x"))
    async with running_worker(worker, dsn_18):
        await soon(lambda: queue_18.status(job).progress is not None)
        shown = queue_18.status(job)
        may_end.set()
        await soon(lambda: queue_18.status(job).state == "completed")
    assert shown.progress == pytest.approx(0.999)
    assert shown.progress_note == "rendering"
