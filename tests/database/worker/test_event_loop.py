"""An event loop that a handler blocks is said to be blocked, with the handler and the time."""

import asyncio
import logging
import threading
import time

import pytest

from lonnymq import Queue, Worker
from lonnymq.worker import loop_monitor
from running_worker import running_worker, soon
from support import message_id


@pytest.fixture(autouse=True)
def quick(monkeypatch) -> None:
    monkeypatch.setattr(loop_monitor, "CHECK_SECONDS", 0.05)
    monkeypatch.setattr(loop_monitor, "BLOCKED_SECONDS", 0.2)


async def test_a_handler_that_blocks_the_event_loop_is_named_while_it_does(
    dsn_18: str, queue_18: Queue, caplog
) -> None:
    caplog.set_level(logging.WARNING, "lonnymq")
    worker, seen = Worker(), []
    output = threading.Event()

    class Notice(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if "has blocked" in record.getMessage():
                output.set()

    notice = Notice()
    logging.getLogger("lonnymq.worker").addHandler(notice)

    @worker.handler()
    async def encode(content: bytes) -> None:
        seen.append(output.wait(10))  # blocks the loop until the log says so

    made = message_id(queue_18.create("acme", b"x"))
    try:
        async with running_worker(worker, dsn_18):
            await soon(lambda: caplog.text.count("blocked the event loop for") == 2)
    finally:
        logging.getLogger("lonnymq.worker").removeHandler(notice)
    assert seen == [True]
    first, last = [each for each in caplog.messages if "blocked" in each]
    assert f"encode of message {made} has blocked the event loop for" in first
    assert "run blocking code in a plain function or with asyncio.to_thread" in first
    assert f"encode of message {made} blocked the event loop for" in last


async def test_handlers_that_wait_or_run_in_threads_do_not_block(
    dsn_18: str, queue_18: Queue, caplog
) -> None:
    worker, ended = Worker(), []

    @worker.handler("waits")
    async def waits(content: bytes) -> None:
        await asyncio.sleep(0.5)
        ended.append("waits")

    @worker.handler("thread")
    def thread(content: bytes) -> None:
        time.sleep(0.5)
        ended.append("thread")

    for kind in ("waits", "thread"):
        queue_18.create("acme", b"x", kind=kind)
    async with running_worker(worker, dsn_18):
        await soon(lambda: len(ended) == 2)
    assert not [each for each in caplog.messages if "handler" in each and "blocked" in each]
