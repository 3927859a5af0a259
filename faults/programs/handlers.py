"""What the messages of a run ask their worker to do; the kind says which. Each run of a handler is logged by itself."""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from faults.call_log import CallLog, read_label
from lonnymq import Context, Dead, SyncContext, Worker

Log = Callable[[Context | SyncContext], AbstractContextManager[None]]


def register(worker: Worker, call_log: CallLog, *, rng: random.Random, gate: str = "") -> None:
    """Give a worker all of them."""

    @contextmanager
    def log_run(context: Context | SyncContext) -> Iterator[None]:
        """Write down that a handler begins, and how it ends: returned, deferred or raised."""
        message = context.message
        number = call_log.begin(
            "handle", id=message.id, token=message.token.hex, kind=message.kind,
            label=read_label(message.content), attempt=message.attempt,
        )  # fmt: skip
        try:
            yield
        except BaseException as error:
            call_log.end(number, "handle", "raised", error=type(error).__name__)
            raise
        call_log.end(number, "handle", "returned" if context.outcome is None else "deferred")

    ordinary(worker, rng, Path(gate), log_run)
    poisonous(worker, log_run)


def ordinary(worker: Worker, rng: random.Random, gate: Path, log_run: Log) -> None:
    """Work that ends well, sooner or later."""

    @worker.handler("quick")
    async def quick(content: bytes, context: Context) -> None:
        with log_run(context):
            pass

    @worker.handler("slow")
    async def slow(content: bytes, context: Context) -> None:
        with log_run(context):
            await asyncio.sleep(rng.uniform(0.02, 0.2))

    @worker.handler("long")
    async def long(content: bytes, context: Context) -> None:
        with log_run(context):
            await asyncio.sleep(worker.settings.lease_ms * 1.5 / 1000)

    @worker.handler("hold")
    async def hold(content: bytes, context: Context) -> None:
        with log_run(context):
            while not gate.exists():
                await asyncio.sleep(0.02)

    @worker.handler("thread")
    def thread(content: bytes, context: SyncContext) -> None:
        with log_run(context):
            time.sleep(rng.uniform(0.01, 0.05))

    @worker.handler("again")
    async def again(content: bytes, context: Context) -> None:
        with log_run(context):
            if context.attempt == 1:
                raise RuntimeError("the first attempt fails")

    @worker.handler("later")
    async def later(content: bytes, context: Context) -> None:
        with log_run(context):
            if context.state is None:
                context.defer(delay_ms=50, state=b"half")

    @worker.handler("bill")
    async def bill(content: bytes, context: Context) -> None:
        async with context.transaction() as connection:  # completes the message at its end
            with log_run(context):
                await connection.execute("insert into bill (message) values (%s)", (context.id,))


def poisonous(worker: Worker, log_run: Log) -> None:
    """Work that never ends well."""

    @worker.handler("raises")
    async def raises(content: bytes, context: Context) -> None:
        with log_run(context):
            raise RuntimeError("as always")

    @worker.handler("hangs", timeout_ms=100)
    async def hangs(content: bytes, context: Context) -> None:
        with log_run(context):
            await asyncio.Event().wait()

    @worker.handler("kills")
    def kills(content: bytes, context: SyncContext) -> None:
        with log_run(context):
            os.kill(os.getpid(), 9)

    @worker.handler("unfit")
    async def unfit(content: dict[str, int]) -> None: ...

    @worker.handler("nul")
    async def nul(content: bytes, context: Context) -> None:
        with log_run(context):
            raise RuntimeError("before\x00after")

    @worker.handler("surrogate")
    async def surrogate(content: bytes, context: Context) -> None:
        with log_run(context):
            raise RuntimeError("lone \udc80 surrogate")

    @worker.handler("huge")
    async def huge(content: bytes, context: Context) -> None:
        with log_run(context):
            raise RuntimeError("x" * 10_000_000)

    @worker.handler("dead")
    async def dead(content: bytes, context: Context) -> None:
        with log_run(context):
            raise Dead("at once")
