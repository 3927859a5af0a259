"""What may be registered as a handler, and what is rejected with which words."""

from functools import partial

import pytest

from lonnymq.errors import InvalidArgument
from lonnymq.worker import Context, Contexts, SyncContext, SyncContexts, Worker
from lonnymq.worker.handlers import Handlers


def registered(function, **options):
    handlers = Handlers()
    handlers.add(function, "k", **options)
    return handlers.by_kind["k"]


async def nothing() -> None: ...
async def payload(data: str) -> None: ...
async def both(data: str, context: Context) -> None: ...
async def context_only(context: Context) -> None: ...
async def unannotated(data, context) -> None: ...
async def with_default(data: str, times: int = 3) -> None: ...
async def optional_context(data: str, context: Context | None = None) -> None: ...
async def default_context(data: str, context: Context = None) -> None: ...  # type: ignore[assignment]  # as some write it


@pytest.mark.parametrize(
    ("function", "takes_payload", "takes_context"),
    [
        (nothing, False, False),
        (payload, True, False),
        (both, True, True),
        (context_only, False, True),
        (unannotated, True, True),
        (with_default, True, False),
        (default_context, True, True),
        (optional_context, True, True),
        (partial(both), True, True),
    ],
)
def test_a_handler_gets_what_it_takes(function, takes_payload: bool, takes_context: bool) -> None:
    handler = registered(function)
    assert (handler.decode is not None, handler.takes_context) == (takes_payload, takes_context)


def test_async_and_plain_functions_and_callable_objects_are_told_apart() -> None:
    class Plain:
        def __call__(self, data: bytes) -> None: ...

    class Async:
        async def __call__(self, data: bytes) -> None: ...

    assert [registered(each).is_async for each in (payload, Async(), partial(payload))] == [
        True
    ] * 3
    assert [registered(each).is_async for each in (lambda data: None, Plain())] == [False] * 2


def test_a_batch_is_a_list_of_payloads() -> None:
    def many(data: list[str], contexts: SyncContexts) -> None: ...

    assert registered(many, batch=5).decode(b"a") == "a"
    with pytest.raises(
        InvalidArgument, match=r"takes a list of payloads: annotate .* as list\[…\]"
    ):
        registered(payload, batch=5)


async def too_many(a: str, b: str, c: str) -> None: ...
async def wrong_order(context: Context, data: str) -> None: ...


@pytest.mark.parametrize("function", [too_many, wrong_order])
def test_a_function_that_takes_something_else_is_refused(function) -> None:
    with pytest.raises(InvalidArgument, match="takes the payload and optionally the context"):
        registered(function)


async def two_payloads(a: str, b: dict) -> None: ...  # type: ignore[type-arg]  # as a newcomer writes
async def by_name(*, data: str) -> None: ...
async def any_number(*arguments) -> None: ...
async def any_names(**names) -> None: ...
async def with_self(self, data: str) -> None: ...
async def plain_context(data: str, context: SyncContext) -> None: ...
async def generator(data: str): yield data  # fmt: skip


async def context_of_a_batch(data: str, contexts: Contexts) -> None: ...
async def context_of_one(data: list[str], context: Context) -> None: ...
async def bare_list(data: list) -> None: ...  # type: ignore[type-arg]  # as a newcomer writes
def async_context(data: str, context: Context) -> None: ...


class Unreadable: ...


async def unknown(data: Unreadable) -> None: ...


@pytest.mark.parametrize(
    ("function", "options", "fix"),
    [
        (two_payloads, {}, "two_payloads takes two payloads, .* put both into one dataclass"),
        (too_many, {}, "too_many takes 3 arguments. Put the values of the payload into one"),
        (wrong_order, {}, "swap the parameters of wrong_order"),
        (by_name, {}, "parameter data of by_name .* remove the \\* before"),
        (any_number, {}, r"any_number takes \*arguments: name .* functools.wraps"),
        (any_names, {}, r"any_names takes \*\*names: name the payload and the context"),
        (with_self, {}, r"with_self is a method without its object.*\(object.method\)"),
        (plain_context, {}, "annotate the context as Context, not SyncContext"),
        (async_context, {}, "annotate the context as SyncContext, not Context"),
        (context_of_a_batch, {}, "without batch and gets Context: annotate .* not Contexts"),
        (context_of_one, {"batch": 5}, "with batch and gets Contexts: annotate the context as"),
        (bare_list, {"batch": 5}, r"bare_list as list\[…\], such as list\[Video\]"),
        (generator, {}, "generator contains yield, .* Remove yield"),
        (unknown, {}, "no payload can be read as Unreadable: annotate bytes, str, a JSON type"),
        (Unreadable, {}, "a handler is a function, such as async def .*, not type"),
        (3, {}, "a handler is a function, such as async def .*, not int 3"),
        (staticmethod(payload), {}, "Put @staticmethod above @worker.handler"),
    ],
)
def test_a_mistake_is_an_error_with_the_fix(function, options, fix: str) -> None:
    with pytest.raises(InvalidArgument, match=fix):
        registered(function, **options)


def test_a_decorator_without_parentheses_is_an_error_with_the_fix() -> None:
    worker = Worker()
    with pytest.raises(InvalidArgument, match=r"write @worker.handler\(\) with parentheses"):
        worker.handler(payload)  # type: ignore[arg-type]  # the mistake
    with pytest.raises(InvalidArgument, match=r"write @worker.task\('payload'\)"):
        worker.task(payload)  # type: ignore[arg-type]  # the mistake
    with pytest.raises(InvalidArgument, match=r"write @worker.before above a function, not str"):
        worker.before("payload")  # type: ignore[arg-type]  # the mistake
    assert worker.kinds == ()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"retry_delays_ms": 1000}, "retry_delays_ms must be a list of .*, not int 1000"),
        ({"retry_jitter": -1}, "retry_jitter must be a number from 0 to 1, not int -1"),
        ({"retry_jitter": "a"}, "retry_jitter must be a number from 0 to 1, not str 'a'"),
        ({"timeout_ms": 0}, "timeout_ms must be from 1 ms, not int 0"),
        ({"batch": 0}, "batch must be a whole number from 1"),
        ({"max_attempts": 0}, "max_attempts must be"),
        ({"retry_delays_ms": [-1]}, "retry_delays_ms must be"),
        ({"timeout_ms": -1}, "timeout_ms must be"),
    ],
)
def test_options_out_of_range_are_refused(options, text: str) -> None:
    with pytest.raises(InvalidArgument, match=text):
        registered(nothing, **options)


def test_a_plain_function_has_no_timeout_because_a_thread_cannot_be_stopped() -> None:
    def plain(data: bytes, context: SyncContext) -> None: ...

    with pytest.raises(InvalidArgument, match="a thread cannot be stopped"):
        registered(plain, timeout_ms=5)


def test_a_kind_has_one_handler() -> None:
    worker = Worker()
    worker.handler("k")(payload)
    with pytest.raises(InvalidArgument, match="kind 'k' has a handler already: payload"):
        worker.handler("k")(both)
    assert worker.kinds == ("k",)


def test_an_annotation_that_is_not_there_yet_is_refused() -> None:
    async def early(data: "Later") -> None: ...  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(InvalidArgument, match="cannot be resolved: name 'Later'"):
        registered(early)


def test_a_kind_goes_to_its_handler_then_to_that_of_any_kind() -> None:
    handlers = Handlers()
    handlers.add(payload, "k")
    handlers.add(nothing, None)
    assert handlers.get("other") is None
    handlers.add(both, "*")
    found = [handlers.get(kind) for kind in ("k", None, "other")]
    assert [each and each.function for each in found] == [payload, nothing, both]


def test_delays_go_by_the_attempt_and_the_last_one_repeats_with_jitter_on_top() -> None:
    handler = registered(payload, retry_delays_ms=[1000, 5000], retry_jitter=0.5)
    assert all(1000 <= handler.retry_ms(1) <= 1500 for _ in range(20))
    assert all(5000 <= handler.retry_ms(attempt) <= 7500 for attempt in (2, 3, 99))
    assert registered(payload).retry_ms(1) is None


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"concurrency": 0}, "concurrency must be a whole number from 1"),
        ({"processes": 0}, "processes must be"),
        ({"lease_ms": -1}, "lease_ms must be"),
        ({"lease_ms": 99}, "lease_ms must be from 100 ms to 30 days"),
        ({"schema": "No"}, "cannot be a queue's schema"),
    ],
)
def test_settings_out_of_range_are_refused(settings, text: str) -> None:
    with pytest.raises(InvalidArgument, match=text):
        Worker(**settings)


@pytest.mark.parametrize(
    ("schedule", "text"),
    [
        ({"cron": "61 * * * *"}, "is not a cron line"),
        ({"cron": "0 3 * * *", "timezone": "Atlantis"}, "unknown time zone"),
        ({"every_ms": -5}, "every_ms must be"),
        ({"every_ms": 5000, "content": "text"}, "content must be bytes"),
    ],
)
def test_a_schedule_that_cannot_be_is_refused_where_it_is_declared(schedule, text: str) -> None:
    with pytest.raises(InvalidArgument, match=text):
        Worker().schedule("nightly", channel="reports", **schedule)


def test_a_generator_is_no_handler() -> None:
    def plain(data: bytes):
        yield data

    async def asynchronous(data: bytes):
        yield data

    for function in (plain, asynchronous):
        with pytest.raises(InvalidArgument, match="a handler cannot be a generator"):
            Worker().handler()(function)


async def test_a_worker_without_a_database_does_not_start_a_private_one(monkeypatch) -> None:
    monkeypatch.delenv("LONNYMQ_DSN", raising=False)
    monkeypatch.setattr("lonnymq.worker.worker.start_embedded", lambda: pytest.fail("started"))
    worker = Worker()
    worker.handler()(lambda: None)
    with pytest.raises(InvalidArgument, match="pass a DSN, set LONNYMQ_DSN, or pass embedded=True"):
        worker.run()
    with pytest.raises(InvalidArgument, match="no database"):
        await worker.run_async()


def test_a_worker_without_handlers_does_not_start() -> None:
    with pytest.raises(InvalidArgument, match="no handlers"):
        Worker("postgresql:///nowhere").run()
