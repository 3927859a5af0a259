"""Middleware around handlers: async and plain, one message and batches."""

import asyncio
import contextvars
import threading
from typing import Any

import pytest

from lonnymq import Context, Contexts, Queue, SyncContext, SyncContexts, Worker
from lonnymq.errors import InvalidArgument

REQUEST: contextvars.ContextVar[str] = contextvars.ContextVar("request", default="none")


def test_middleware_wraps_every_handler_the_first_outermost(lonnymq_queue: Queue) -> None:
    worker, seen = Worker(), list[Any]()

    @worker.middleware
    async def outer(context: Context, call_next: Any) -> None:
        seen.append(f"outer {type(context).__name__}")
        REQUEST.set("mine")
        await call_next()
        seen.append("outer ends")

    @worker.middleware
    async def inner(context: Context, call_next: Any) -> None:
        answer = await call_next()
        seen.append(f"answer {answer}")

    @worker.handler("async")
    async def one(context: Context) -> str:
        seen.append(REQUEST.get())
        return "a"

    @worker.handler("plain")
    def plain(context: SyncContext) -> str:
        seen.append((REQUEST.get(), threading.current_thread() is threading.main_thread()))
        return "b"

    @worker.handler("batch", batch=5)
    async def batch(names: list[str], contexts: Contexts) -> None:
        seen.append(names)

    @worker.handler("plain batch", batch=5)
    def plain_batch(names: list[str], contexts: SyncContexts) -> None:
        seen.append(names)

    found = {}
    for kind in worker.kinds:
        lonnymq_queue.create("acme", b"x", kind=kind)
        assert worker.drain(lonnymq_queue) == {"completed": 1}
        found[kind] = list(seen)
        seen.clear()
    assert found == {
        "async": ["outer Context", "mine", "answer a", "outer ends"],
        "plain": ["outer SyncContext", ("mine", False), "answer b", "outer ends"],
        "batch": ["outer Contexts", ["x"], "answer None", "outer ends"],
        "plain batch": ["outer SyncContexts", ["x"], "answer None", "outer ends"],
    }


def test_the_result_is_that_of_the_handler(lonnymq_queue: Queue) -> None:
    worker = Worker()

    @worker.middleware
    async def forgetful(context: Context, call_next: Any) -> None:
        await call_next()

    @worker.handler()
    async def one() -> bytes:
        return b"done"

    message = lonnymq_queue.create("acme", b"")
    worker.drain(lonnymq_queue)
    assert lonnymq_queue.result(message.id) == b"done"  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", ["async", "plain"])
def test_middleware_sees_the_exception_and_may_raise_its_own(
    lonnymq_queue: Queue, kind: str
) -> None:
    worker, seen = Worker(), list[str]()

    @worker.middleware
    async def catches(context: Context, call_next: Any) -> None:
        try:
            await call_next()
        except ValueError as error:
            seen.append(str(error))
            raise LookupError("translated") from error

    @worker.handler("async", max_attempts=1)
    async def fails() -> None:
        raise ValueError("of the handler")

    @worker.handler("plain", max_attempts=1)
    def fails_too() -> None:
        raise ValueError("of the handler")

    lonnymq_queue.create("acme", b"", kind=kind)
    assert worker.drain(lonnymq_queue) == {"dead": 1}
    [dead] = lonnymq_queue.dead_list()
    assert seen == ["of the handler"]
    assert "LookupError: translated" in str(dead.error)


def test_middleware_that_does_not_call_the_handler_decides_the_outcome(
    lonnymq_queue: Queue,
) -> None:
    worker, ran = Worker(), list[int]()

    @worker.middleware
    async def skips(context: Context, call_next: Any) -> None:
        if context.headers.get("late"):
            context.defer(delay_ms=3_600_000)
        elif not context.headers.get("skip"):
            await call_next()

    @worker.handler()
    def one(context: SyncContext) -> None:
        ran.append(context.id)

    for headers in ({"late": True}, {"skip": True}, None):
        last = lonnymq_queue.create("acme", b"", headers=headers)
    assert worker.drain(lonnymq_queue) == {"deferred": 1, "completed": 2}
    assert ran == [last.id]  # type: ignore[union-attr]


def test_a_timeout_counts_middleware_too(lonnymq_queue: Queue) -> None:
    worker = Worker()

    @worker.middleware
    async def hangs(context: Context, call_next: Any) -> None:
        await asyncio.Event().wait()

    @worker.handler(timeout_ms=10, max_attempts=1)
    async def one() -> None: ...

    lonnymq_queue.create("acme", b"")
    assert worker.drain(lonnymq_queue) == {"dead": 1}


def test_middleware_that_cannot_be_called_is_refused() -> None:
    def plain(context: Any, call_next: Any) -> None: ...
    async def short(context: Any) -> None: ...

    with pytest.raises(InvalidArgument, match=r"above an async function, such as async def around"):
        Worker().middleware(plain)
    with pytest.raises(InvalidArgument, match=r"write async def short\(context, call_next\)"):
        Worker().middleware(short)
