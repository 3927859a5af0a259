"""The first program of the documentation, and its async twin, as they stand."""

import os
import subprocess
import sys

import pytest

SYNC = """
import lonnymq
with lonnymq.embedded() as server:
    queue = lonnymq.Queue(server.dsn)
    queue.install()
    acme = queue.channel("acme")
    acme.set(max_concurrency=2, min_interval_ms=100)
    acme.create(b"hello", delay_ms=0)
    acme.create_many([b"a", b"b"])
    for message in queue.dequeue(limit=10, lease_ms=30_000):
        print(message.channel, message.content, message.attempt)
        message.complete()
"""

ASYNC = """
import asyncio
import lonnymq

async def main():
    with lonnymq.embedded() as server:
        queue = lonnymq.AsyncQueue(server.dsn)
        await queue.install()
        acme = queue.channel("acme")
        await acme.set(max_concurrency=2, min_interval_ms=100)
        await acme.create(b"hello", delay_ms=0)
        await acme.create_many([b"a", b"b"])
        for message in await queue.dequeue(limit=10, lease_ms=30_000):
            print(message.channel, message.content, message.attempt)
            await message.complete()

asyncio.run(main())
"""


@pytest.mark.parametrize("program", [SYNC, ASYNC], ids=["sync", "async"])
def test_the_first_program_runs_as_it_stands(program: str, dsn: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env={**os.environ, "LONNYMQ_DSN": dsn},
        capture_output=True,
        text=True,
    )
    assert (ran.stderr, ran.stdout) == ("", "acme b'hello' 1\n")
