"""The video service's worker, run by processes of its own: `lonnymq worker examples.demo.jobs:worker`."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from pathlib import Path

from lonnymq.worker import Context, Worker

PARENT = "LONNYMQ_DEMO_PARENT"
CODEC = "LONNYMQ_DEMO_CODEC"  # a file: while there is none, a kind of video cannot be decoded
PARTS = 3  # of an upload

worker = Worker(concurrency=8, lease_ms=3_000, shutdown_timeout_ms=10_000)
worker.schedule("report", channel="reports", every_ms=1_000, kind="report")


@worker.handler("transcode")
async def transcode(video: str) -> None:
    """Take a little time, as work does."""
    await asyncio.sleep(0.03)


@worker.handler("upload")
async def upload(video: str, context: Context) -> None:
    """Wait for all parts: not there yet is a defer, which remembers how far it is."""
    arrived = int(context.state or b"0") + 1
    if arrived < PARTS:
        context.defer(delay_ms=300, state=str(arrived).encode())


@worker.handler("broken")
async def broken(video: str) -> None:
    """Fail until the codec is there."""
    if not Path(os.environ[CODEC]).exists():
        raise ValueError(f"{video}: codec unknown")


@worker.handler("report")
async def report() -> None:
    """Do what the schedule asks for."""


def leave_with(parent: int) -> None:
    """End when the show has ended, however it did."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGKILL)


if PARENT in os.environ:
    threading.Thread(target=leave_with, args=(int(os.environ[PARENT]),), daemon=True).start()
