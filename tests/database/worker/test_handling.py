"""A worker at a real queue: which handler gets what, and what becomes of the message."""

import asyncio
import threading
from dataclasses import dataclass
from typing import Any

import pytest

from lonnymq import Context, Dead, RetryAfter, SyncContext, Worker
from lonnymq.errors import InvalidArgument
from running_worker import outcomes, running_worker, session_of, soon


@dataclass
class Video:
    name: str


async def test_messages_go_to_the_handler_of_their_kind_and_are_completed(dsn, queue) -> None:
    worker, seen = Worker(), list[Any]()

    @worker.handler("encode")
    async def encode(video: Video, context: Context) -> None:
        seen.append((video, context.channel, context.attempt, dict(context.headers)))

    @worker.handler()
    async def plain(content: bytes) -> None:
        seen.append(content)

    queue.create("acme", b'{"name": "a"}', kind="encode", headers={"trace": "t"})
    queue.create("acme", b"\xff")
    async with running_worker(worker, dsn):
        await soon(lambda: outcomes(queue) == ["completed"] * 2)
    assert sorted(seen, key=str) == [(Video("a"), "acme", 1, {"trace": "t"}), b"\xff"]


async def test_plain_functions_run_in_threads_as_many_at_once_as_there_are_slots(
    dsn, queue
) -> None:
    worker, together = Worker(concurrency=8), threading.Barrier(8)

    @worker.handler()
    def waits_for_the_others(content: bytes, context: SyncContext) -> None:
        together.wait(timeout=90)

    queue.create_many([b"x"] * 16, channel="acme")
    async with running_worker(worker, dsn):
        await soon(lambda: outcomes(queue) == ["completed"] * 16)


async def test_a_batch_handler_gets_many_at_once_and_each_has_its_end(dsn, queue) -> None:
    worker, sizes = Worker(concurrency=10), []

    @worker.handler("thumbnail", batch=5)
    def thumbnails(videos: list[Video], contexts) -> None:
        sizes.append(len(videos))
        for video, context in zip(videos, contexts, strict=True):
            if video.name == "bad":
                context.dead("no picture")

    contents = [b'{"name": "a"}'] * 8 + [b'{"name": "bad"}', b"nonsense"]
    for content in contents:
        queue.create("acme", content, kind="thumbnail")
    async with running_worker(worker, dsn):
        await soon(lambda: len(outcomes(queue)) == 10)
    assert outcomes(queue) == ["completed"] * 8 + ["dead"] * 2
    assert sum(sizes) == 9
    assert max(sizes) <= 5
    assert {each.error for each in queue.dead_list()} == {
        "no picture",
        "payload does not match Video: JSON is malformed: invalid character (byte 4)",
    }


async def test_a_kind_that_nobody_takes_waits_without_an_attempt_and_its_reason_is_told(
    dsn, queue
) -> None:
    worker = Worker()
    worker.handler("encode")(lambda content: None)
    made = queue.create("acme", b"x", kind="new")
    queue.create("acme", b"x", kind="encode")
    async with running_worker(worker, dsn):
        await soon(lambda: outcomes(queue) == ["completed"])
        await soon(lambda: queue.explain(made.id).answer == "unserved")
        assert "No worker serves kind new." in queue.explain(made.id).explanation
    [message] = queue.peek("acme")
    assert (message.attempt, message.leased, message.error) == (0, False, None)


async def test_two_services_on_a_queue_take_what_each_can_handle(dsn_18, queue_18) -> None:
    services = []
    for kind in ("email", "video"):
        service = Worker(concurrency=7)
        service.handler(kind)(lambda content: None)
        services.append(service)
    for number in range(400):
        queue_18.create(f"channel {number % 50}", b"x", kind=("email", "video")[number // 50 % 2])
    async with running_worker(services[0], dsn_18), running_worker(services[1], dsn_18):
        await soon(lambda: len(outcomes(queue_18)) == 400)
    assert outcomes(queue_18) == ["completed"] * 400
    assert queue_18.dead_list() == []


async def test_a_worker_of_the_old_version_leaves_the_new_kind_to_the_new_version(
    dsn_18, queue_18
) -> None:
    old, new = Worker(), Worker()
    for worker, kinds in ((old, ("encode",)), (new, ("encode", "publish", None))):
        for kind in kinds:
            worker.handler(kind)(lambda content: None)
    async with running_worker(old, dsn_18):
        for number in range(40):
            kind = ("encode", "publish", None)[number % 3]
            queue_18.create(f"channel {number % 5}", b"x", kind=kind)
        await soon(lambda: len(outcomes(queue_18)) == 14)
        async with running_worker(new, dsn_18):
            await soon(lambda: len(outcomes(queue_18)) == 40)
    assert outcomes(queue_18) == ["completed"] * 40


async def test_a_worker_can_be_restricted_to_kinds_and_channels(dsn_18, queue_18) -> None:
    worker = Worker(kinds=["encode"], channels=["a"])
    worker.handler("*")(lambda content: None)
    for channel in ("a", "b"):
        for kind in ("encode", "publish"):
            queue_18.create(channel, b"x", kind=kind)
    async with running_worker(worker, dsn_18):
        await soon(lambda: outcomes(queue_18) == ["completed"])
    assert [(each.kind, each.waiting) for each in queue_18.kind_list()] == [
        ("encode", 1),
        ("publish", 2),
    ]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"kinds": ["nothing"]}, "kinds: the worker has no handler for 'nothing'"),
        ({"kinds": []}, "kinds must name at least one kind"),
        ({"kinds": "encode"}, "kinds must be a list"),
        ({"channels": []}, "channels must be from 1 to 1000 names, not 0"),
        ({"channels": [1]}, "one of the channels must be"),
    ],
)
def test_kinds_and_channels_that_a_worker_cannot_take_are_refused(dsn_18, options, says) -> None:
    def run() -> None:
        worker = Worker(dsn_18, **options)
        worker.handler("encode")(lambda content: None)
        worker.run()

    with pytest.raises(InvalidArgument, match=says):
        run()


async def test_a_payload_that_does_not_fit_is_dead_with_the_reason(dsn, queue) -> None:
    worker = Worker()

    @worker.handler("encode")
    async def encode(video: Video) -> None: ...

    queue.create("acme", b'{"title": "a"}', kind="encode")
    async with running_worker(worker, dsn):
        [dead] = await soon(queue.dead_list)
    assert dead.error == "payload does not match Video: Object missing required field `name`"


@pytest.mark.parametrize(
    "hostile",
    [
        pytest.param("a\0b", id="NUL"),
        pytest.param("\ud800", id="a lone surrogate"),
        pytest.param("x" * 10_000_000, id="ten million letters"),
        pytest.param("%s {} \\ ' $$ \x1b[31m", id="marks of other languages"),
    ],
)
async def test_whatever_an_error_says_it_is_kept_clean_and_cut(dsn_18, queue_18, hostile) -> None:
    worker = Worker()

    @worker.handler()
    async def raises(content: bytes) -> None:
        raise ValueError(hostile)

    queue_18.channel_set("acme", max_attempts=1)
    queue_18.create("acme", b"x")
    async with running_worker(worker, dsn_18):
        [dead] = await soon(queue_18.dead_list)
    assert dead.error is not None
    assert len(dead.error.encode()) <= 8192
    assert "in raises" in dead.error
    assert "ValueError: " in dead.error


async def test_retry_after_and_dead_decide_what_comes_next(dsn, queue) -> None:
    worker = Worker()

    @worker.handler("later")
    async def later(content: bytes) -> None:
        raise RetryAfter(600_000, "busy")

    @worker.handler("never")
    def never(content: bytes) -> None:
        raise Dead("broken for good")

    queue.create("acme", b"x", kind="later")
    queue.create("acme", b"x", kind="never")
    async with running_worker(worker, dsn):
        await soon(lambda: outcomes(queue) == ["failed", "dead"])
    [message] = queue.peek("acme")
    assert message.dequeue_at > queue.epoch() + 500_000
    assert queue.dead_list()[0].error.endswith("Dead: broken for good")


async def test_the_handler_s_back_off_comes_before_the_channel_s(dsn, queue) -> None:
    worker = Worker()

    @worker.handler(retry_delays_ms=[1, 1, 600_000], retry_jitter=0)
    async def raises(content: bytes) -> None:
        raise ValueError

    queue.channel_set("acme", retry_delays_ms=[0])
    queue.create("acme", b"x")
    async with running_worker(worker, dsn):
        await soon(lambda: outcomes(queue) == ["failed"] * 3)
    assert queue.peek("acme")[0].dequeue_at > queue.epoch() + 500_000


async def test_a_deferred_message_comes_back_with_its_state_and_all_its_attempts(
    dsn, queue
) -> None:
    worker, seen = Worker(), []

    @worker.handler()
    async def step(content: bytes, context: Context) -> None:
        seen.append((context.state, context.attempt))
        if len(seen) < 3:
            context.defer(delay_ms=1, state=b"%d" % len(seen))

    queue.create("acme", b"x")
    async with running_worker(worker, dsn):
        await soon(lambda: outcomes(queue) == ["deferred", "deferred", "completed"])
    assert seen == [(None, 1), (b"1", 1), (b"2", 1)]


async def test_a_handler_may_create_further_messages(dsn, queue) -> None:
    worker = Worker()

    @worker.handler("first")
    async def first(content: bytes, context: Context) -> None:
        await context.queue.create(context.channel, b"x", kind="second")

    @worker.handler("second")
    def second(content: bytes, context: SyncContext) -> None:
        context.queue.create(context.channel, b"x", kind="third")

    worker.handler("third")(lambda content: None)
    queue.create("acme", b"x", kind="first")
    async with running_worker(worker, dsn):
        await soon(lambda: outcomes(queue) == ["completed"] * 3)


async def test_a_worker_works_in_any_schema(dsn_18) -> None:
    from lonnymq import Queue

    queue, worker = Queue(dsn_18, schema="other"), Worker(schema="other", poll_interval_ms=600_000)
    queue.install()
    worker.handler()(lambda content: None)
    async with running_worker(worker, dsn_18):
        await soon(lambda: session_of(worker).fetcher.is_listening)
        await asyncio.sleep(0)
        queue.create("acme", b"x")
        await soon(lambda: outcomes(queue) == ["completed"])
    queue.close()


async def test_a_database_without_the_queue_is_refused_with_advice(dsn_18) -> None:
    from lonnymq.errors import NotInstalled

    worker = Worker(dsn_18, schema="nowhere")
    worker.handler()(lambda content: None)
    with pytest.raises(NotInstalled, match=r"queue\.install\(\)"):
        await worker.run_async()
    for processes in (1, 2):
        with pytest.raises(NotInstalled):
            await asyncio.to_thread(
                worker._require_installed, worker._settings(dsn_18, processes, None, None, None)
            )


@pytest.mark.parametrize(
    ("limits", "attempts"), [({"handler": 2, "channel": 3}, 2), ({"handler": 3, "channel": 2}, 3)]
)
async def test_the_handlers_limit_of_attempts_counts_instead_of_the_channels(
    dsn_18, queue_18, limits, attempts
) -> None:
    worker = Worker()

    @worker.handler(max_attempts=limits["handler"], retry_delays_ms=[0])
    async def fails(content: bytes) -> None:
        raise ValueError

    queue_18.channel("acme").set(max_attempts=limits["channel"])
    queue_18.create("acme", b"x")
    async with running_worker(worker, dsn_18):
        await soon(queue_18.dead_list)
    assert outcomes(queue_18) == ["failed"] * (attempts - 1) + ["dead"]
