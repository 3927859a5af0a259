"""The engine without a worker and without a queue: what comes of a message by what its handler does."""

import asyncio
from typing import Any
from uuid import uuid4

import pytest

from lonnymq.results import LeasedMessage
from lonnymq.worker import Complete, Context, Dead, Defer, Fail, RetryAfter, SyncContext
from lonnymq.worker.execution import execute, execute_sync, fail_without_handler
from lonnymq.worker.handlers import Handlers


def message(content: bytes = b"x", *, attempt: int = 1, kind: str | None = "k") -> LeasedMessage:
    return LeasedMessage(
        7, uuid4(), "acme", content, b"state", attempt, kind, {"h": 1}, "key", 1, 2, 3, 4
    )


def handler_of(function, **options):
    handlers = Handlers()
    handlers.add(function, "k", **options)
    return handlers.by_kind["k"]


async def run(function, *messages: LeasedMessage, **options):
    handler = handler_of(function, **options)
    nowhere: Any = None  # a session, which the engine does not use
    given = messages or (message(),)
    if handler.is_async:
        return await execute(handler, [Context(each, nowhere) for each in given])
    return execute_sync(handler, [SyncContext(each, nowhere) for each in given])


async def test_a_handler_that_returns_completes_its_message() -> None:
    async def returns(data: bytes) -> str:
        return "done"

    assert await run(returns) == [Complete(b'"done"')]
    assert await run(lambda: None) == [Complete()]


async def test_a_handler_that_raises_fails_its_message_with_the_traceback() -> None:
    async def raises(data: bytes) -> None:
        raise ValueError("no such video")

    [outcome] = await run(raises)
    assert isinstance(outcome, Fail)
    assert outcome.error.endswith("ValueError: no such video")
    assert "in raises" in outcome.error
    assert "lonnymq/worker/execution.py" not in outcome.error
    assert (outcome.retry_ms, outcome.dead) == (None, False)


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit()])
async def test_even_an_exit_is_a_failed_attempt(error: BaseException) -> None:
    def exits() -> None:
        raise error

    async def exits_async() -> None:
        raise error

    for function in (exits, exits_async):
        [outcome] = await run(function)
        assert isinstance(outcome, Fail)


async def test_retry_after_and_dead_say_what_comes_next() -> None:
    def retries() -> None:
        raise RetryAfter(1500, "busy")

    def dies() -> None:
        raise Dead("never")

    [retried], [died] = await run(retries), await run(dies)
    assert (retried.retry_ms, retried.dead) == (1500, False)
    assert retried.error.endswith("RetryAfter: busy")
    assert died.dead
    assert died.error.endswith("Dead: never")


async def test_a_failure_says_the_delay_and_the_limit_of_attempts_that_the_handler_wants() -> None:
    def raises() -> None:
        raise ValueError

    options = {"retry_delays_ms": [10, 20], "retry_jitter": 0, "max_attempts": 3}
    outcomes = [(await run(raises, message(attempt=n), **options))[0] for n in (1, 2, 3)]
    assert [(each.retry_ms, each.max_attempts, each.dead) for each in outcomes] == [
        (10, 3, False),
        (20, 3, False),
        (20, 3, False),
    ]


async def test_a_payload_that_does_not_fit_is_dead_and_its_handler_is_not_called() -> None:
    called = []

    async def takes(data: dict[str, int]) -> None:
        called.append(data)

    [outcome] = await run(takes, message(b"[]"))
    assert outcome == Fail(
        "payload does not match dict[str, int]: Expected `object`, got `array`", dead=True
    )
    assert called == []


async def test_of_a_batch_what_does_not_fit_is_dead_and_the_rest_is_handled() -> None:
    called = []

    def takes(data: list[int]) -> None:
        called.append(data)

    outcomes = await run(takes, message(b"1"), message(b"x"), message(b"3"), batch=10)
    assert [type(each).__name__ for each in outcomes] == ["Complete", "Fail", "Complete"]
    assert called == [[1, 3]]


async def test_a_handler_may_defer_or_fail_and_return() -> None:
    async def defers(data: bytes, context: Context) -> None:
        assert (context.state, context.headers, context.key) == (b"state", {"h": 1}, "key")
        context.defer(delay_ms=5, state=b"half")

    def fails(data: bytes, context: SyncContext) -> None:
        context.fail("later", retry_ms=9)

    def dies(data: bytes, context: SyncContext) -> None:
        context.dead("never")

    assert await run(defers) == [Defer(5, None, b"half")]
    assert await run(fails) == [Fail("later", 9)]
    assert await run(dies) == [Fail("never", dead=True)]


async def test_an_error_after_a_defer_counts() -> None:
    async def both(data: bytes, context: Context) -> None:
        context.defer(delay_ms=5)
        raise ValueError

    [outcome] = await run(both)
    assert isinstance(outcome, Fail)


async def test_the_messages_of_a_batch_may_end_differently() -> None:
    def takes(data: list[bytes], contexts) -> None:
        contexts[0].defer(delay_ms=1)
        contexts[1].dead("never")

    outcomes = await run(takes, message(), message(), message(), batch=3)
    assert [type(each).__name__ for each in outcomes] == ["Defer", "Fail", "Complete"]


async def test_a_handler_that_takes_too_long_is_stopped_and_fails() -> None:
    async def sleeps() -> None:
        await asyncio.Event().wait()

    [outcome] = await run(sleeps, timeout_ms=1)
    assert isinstance(outcome, Fail)
    assert outcome.error.endswith("TimeoutError")


async def test_a_handler_that_cancels_itself_fails() -> None:
    async def cancels() -> None:
        raise asyncio.CancelledError

    [outcome] = await run(cancels)
    assert isinstance(outcome, Fail)


def test_a_message_of_a_kind_nobody_takes_says_which_are_taken() -> None:
    handlers = Handlers()
    handlers.add(lambda: None, "encode")
    handlers.add(lambda: None, None)
    text = fail_without_handler(message(kind="later"), handlers)
    assert text == Fail(
        "this worker has no handler for messages of kind 'later' (kinds with a handler: encode)"
    )


async def later() -> None: ...


async def returns_coroutine() -> object:
    return later()


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda: later(), "returned a coroutine"),
        (lambda: (each for each in "ab"), "returned a generator"),
        (lambda: asyncio.get_running_loop().create_future(), "returned a _asyncio.Future"),
        (returns_coroutine, "returned a coroutine"),
    ],
)
@pytest.mark.filterwarnings("error")  # a coroutine that was never awaited
async def test_a_handler_that_returns_work_nobody_does_fails(function, text: str) -> None:
    [outcome] = await run(function)
    assert isinstance(outcome, Fail)
    assert text.replace("_asyncio.", "") in outcome.error
    assert "which nobody runs: declare the handler with async def" in outcome.error
