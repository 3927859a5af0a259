"""What the messages of a run ask their worker to do; the kind says which."""

from __future__ import annotations

import asyncio
import os
import random
import time
from pathlib import Path

from lonnymq import Context, Dead, SyncContext, Worker


def register(worker: Worker, *, rng: random.Random, gate: str = "") -> None:
    """Give a worker all of them."""
    ordinary(worker, rng, Path(gate))
    poisonous(worker)


def ordinary(worker: Worker, rng: random.Random, gate: Path) -> None:
    """Work that ends well, sooner or later."""

    @worker.handler("quick")
    async def quick(content: bytes) -> None: ...

    @worker.handler("slow")
    async def slow(content: bytes) -> None:
        await asyncio.sleep(rng.uniform(0.02, 0.2))

    @worker.handler("long")
    async def long(content: bytes, context: Context) -> None:
        await asyncio.sleep(worker.settings.lease_ms * 1.5 / 1000)

    @worker.handler("hold")
    async def hold(content: bytes) -> None:
        while not gate.exists():
            await asyncio.sleep(0.02)

    @worker.handler("thread")
    def thread(content: bytes, context: SyncContext) -> None:
        time.sleep(rng.uniform(0.01, 0.05))

    @worker.handler("again")
    async def again(content: bytes, context: Context) -> None:
        if context.attempt == 1:
            raise RuntimeError("the first attempt fails")

    @worker.handler("later")
    async def later(content: bytes, context: Context) -> None:
        if context.state is None:
            context.defer(delay_ms=50, state=b"half")

    @worker.handler("bill")
    async def bill(content: bytes, context: Context) -> None:
        async with context.transaction() as connection:
            await connection.execute("insert into bill (message) values (%s)", (context.id,))


def poisonous(worker: Worker) -> None:
    """Work that never ends well."""

    @worker.handler("raises")
    async def raises(content: bytes) -> None:
        raise RuntimeError("as always")

    @worker.handler("hangs", timeout_ms=100)
    async def hangs(content: bytes) -> None:
        await asyncio.Event().wait()

    @worker.handler("kills")
    def kills(content: bytes) -> None:
        os.kill(os.getpid(), 9)

    @worker.handler("unfit")
    async def unfit(content: dict[str, int]) -> None: ...

    @worker.handler("nul")
    async def nul(content: bytes) -> None:
        raise RuntimeError("before\x00after")

    @worker.handler("surrogate")
    async def surrogate(content: bytes) -> None:
        raise RuntimeError("lone \udc80 surrogate")

    @worker.handler("huge")
    async def huge(content: bytes) -> None:
        raise RuntimeError("x" * 10_000_000)

    @worker.handler("dead")
    async def dead(content: bytes) -> None:
        raise Dead("at once")
