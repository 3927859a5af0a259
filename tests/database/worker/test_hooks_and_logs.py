"""Hooks for the user's own metrics, and the worker's log: fields, and neither payloads nor passwords."""

import logging
from functools import partial

import pytest

from lonnymq import Context, Worker
from lonnymq.errors import InvalidArgument
from lonnymq.worker.error_text import format_text
from running_worker import outcomes, running_worker, soon

CANARY = "canary-7f3a"


async def test_hooks_are_called_before_after_and_at_errors(dsn, queue) -> None:
    worker, seen = Worker(), []

    @worker.handler("good")
    async def good(content: bytes) -> None:
        seen.append("handler")

    @worker.handler("bad", max_attempts=1)
    def bad(content: bytes) -> None:
        raise ValueError("no")

    @worker.before
    async def before(context: Context) -> None:
        seen.append(f"before {context.kind}")

    @worker.after
    async def after(context: Context, answer: str) -> None:
        seen.append(f"after {context.kind} {answer} {context.elapsed_ms >= 0}")

    @worker.error
    def error(context: Context, error: BaseException) -> None:
        seen.append(f"error {context.kind} {error!r}")

    def has_ended(kind: str) -> bool:
        return any(each.startswith(f"after {kind}") for each in seen)

    for kind in ("good", "bad"):
        queue.create("acme", b"x", kind=kind)
        async with running_worker(worker, dsn):
            await soon(partial(has_ended, kind))
    assert seen == [
        "before good",
        "handler",
        "after good completed True",
        "before bad",
        "error bad ValueError('no')",
        "after bad dead True",
    ]


async def test_a_hook_that_fails_harms_nobody(dsn, queue, caplog) -> None:
    worker = Worker()
    worker.handler()(lambda content: None)
    for register in (worker.before, worker.after, worker.error):

        @register
        def fails(*_: object) -> None:
            raise RuntimeError(CANARY)

    queue.create("acme", b"x")
    async with running_worker(worker, dsn):
        await soon(lambda: caplog.text.count("a hook failed: RuntimeError at") == 2)
    assert outcomes(queue) == ["completed"]
    assert CANARY not in caplog.text


@pytest.mark.parametrize(
    ("log_errors", "has_text", "has_traceback"),
    [("location", False, False), ("text", True, False), ("traceback", True, True)],
)
async def test_the_words_of_an_error_are_logged_if_asked_for(
    dsn_18, queue_18, caplog, log_errors, has_text, has_traceback
) -> None:
    worker = Worker(log_errors=log_errors)

    @worker.handler(max_attempts=1)
    async def bad(content: bytes) -> None:
        raise ValueError(f"first line\n{CANARY}")

    queue_18.create("acme", b"x")
    async with running_worker(worker, dsn_18):
        await soon(lambda: "dead" in caplog.text)
    [record] = [each for each in caplog.records if getattr(each, "answer", None) == "dead"]
    assert "ValueError at" in record.error
    assert (CANARY in record.error) == has_text
    assert (CANARY in record.getMessage()) == has_text
    assert ("Traceback" in record.getMessage()) == has_traceback
    assert hasattr(record, "traceback") == has_traceback


def test_an_error_whose_words_raise_can_be_logged() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert format_text(Mute()) == "formatting the error failed: RuntimeError"


def test_a_wrong_part_of_errors_is_named() -> None:
    with pytest.raises(InvalidArgument, match=r"log_errors must be .* not 'everything'"):
        Worker(log_errors="everything")  # type: ignore[arg-type]  # that is the test


async def test_even_a_hook_that_exits_leaves_no_message_without_an_end(dsn_18, queue_18) -> None:
    worker = Worker()
    worker.handler(max_attempts=1)(lambda content: None)

    @worker.before
    def exits(context: Context) -> None:
        raise SystemExit(1)

    queue_18.create("acme", b"x")
    async with running_worker(worker, dsn_18):
        await soon(lambda: outcomes(queue_18) == ["dead"])
    assert queue_18.dead_list()[0].error.endswith("SystemExit: 1")


async def test_what_happens_to_a_message_is_logged_with_its_fields(dsn, queue, caplog) -> None:
    caplog.set_level(logging.DEBUG, "lonnymq.worker")
    worker = Worker(name="here")

    @worker.handler("good")
    async def good(content: bytes) -> None: ...

    @worker.handler("bad", max_attempts=1)
    async def bad(content: bytes) -> None:
        raise ValueError

    for kind in ("good", "bad"):
        queue.create("acme", b"x", kind=kind)
    async with running_worker(worker, dsn):
        await soon(lambda: len(outcomes(queue)) == 2)
    records = {record.answer: record for record in caplog.records if hasattr(record, "answer")}
    assert records.keys() == {"completed", "dead"}
    dead = records["dead"]
    assert (dead.levelname, dead.channel, dead.kind, dead.attempt) == ("ERROR", "acme", "bad", 1)
    assert dead.worker.startswith("here:")
    assert dead.error.startswith("ValueError at ")
    assert records["completed"].levelname == "DEBUG"


async def test_neither_payloads_nor_passwords_are_in_the_log(dsn_18, queue_18, caplog) -> None:
    caplog.set_level(logging.DEBUG, "lonnymq")
    worker = Worker()

    @worker.handler("quotes")
    async def quotes(content: str) -> None:
        raise ValueError(f"cannot read {content}")

    @worker.handler("json")
    async def reads(content: list[int]) -> None: ...

    @worker.handler("plain")
    def plain(content: str) -> None:
        raise KeyError(content)

    queue_18.channel_set("acme", max_attempts=1)
    for kind in ("quotes", "json", "plain"):
        queue_18.create(
            "acme", f'"{CANARY}"'.encode(), kind=kind, headers={"h": CANARY}, key=f"{kind} key"
        )
    async with running_worker(worker, f"{dsn_18}&password={CANARY}"):
        await soon(lambda: outcomes(queue_18) == ["dead"] * 3)
    everything = "".join(str(vars(record)) for record in caplog.records)
    assert "message 1 of acme" in everything
    assert CANARY not in everything


async def test_of_a_server_that_refuses_the_password_is_not_told(caplog) -> None:
    worker = Worker(f"postgresql://user:{CANARY}@127.0.0.1:1/nowhere")
    worker.handler()(lambda content: None)
    async with worker_without_server(worker):
        await soon(lambda: "database unreachable" in caplog.text)
    assert CANARY not in "".join(str(vars(record)) for record in caplog.records)


def worker_without_server(worker: Worker):
    import asyncio
    from contextlib import asynccontextmanager

    @asynccontextmanager
    async def running():
        task = asyncio.create_task(worker.run_async())
        yield
        worker.stop()
        await task

    return running()
