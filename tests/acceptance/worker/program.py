"""A worker as a user would write one, for the tests to start, stop and kill. What it does, it notes in a file."""

import asyncio
import json
import logging
import os
import sys
import threading
from pathlib import Path

from lonnymq import Context, SyncContext, Worker

logging.basicConfig(level=logging.INFO, stream=sys.stderr)
settings = json.loads(os.environ["SETTINGS"])
schedules = settings.pop("schedules", 0)
worker = Worker(os.environ["DSN"], **settings)
notes = os.open(os.environ["NOTES"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)


def note(what: str, context: Context | SyncContext) -> None:
    os.write(notes, f"{what} {context.id} {os.getpid()}\n".encode())


@worker.handler("short")
async def short(content: bytes, context: Context) -> None:
    note("short", context)


@worker.handler("gate")
async def gate(path: str, context: Context) -> None:
    note("began", context)
    try:
        while not Path(path).exists():
            await asyncio.sleep(0.01)
    except asyncio.CancelledError:
        note("cancelled", context)
        raise
    note("ended", context)


@worker.handler("stubborn")
async def stubborn(path: str, context: Context) -> None:
    note("began", context)
    while not Path(path).exists():
        try:
            await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            note("unmoved", context)


@worker.handler("stuck")
async def stuck(path: str, context: Context) -> None:
    note("began", context)
    await asyncio.to_thread(threading.Event().wait)


@worker.handler("thread")
def thread(path: str, context: SyncContext) -> None:
    note("began", context)
    waiting = threading.Event()
    while not Path(path).exists():
        waiting.wait(0.01)
    note("ended", context)


@worker.handler("crash")
def crash(content: bytes) -> None:
    os._exit(3)


@worker.handler("tick")
async def tick() -> None: ...


for number in range(schedules):
    worker.schedule(f"schedule {number}", channel="ticks", every_ms=1000, kind="tick")

if __name__ == "__main__":
    worker.run()
