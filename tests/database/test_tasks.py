"""Tasks at a real queue: created by a producer, handled by a worker, as the same type."""

from dataclasses import dataclass
from typing import Any

import psycopg

from lonnymq import AsyncQueue, Queue, Task, Worker
from lonnymq.results import Created, Duplicate
from running_worker import is_completed, outcomes, running_worker, soon


@dataclass
class Video:
    name: str
    seconds: int = 0


ENCODE = Task("encode", Video)


async def test_a_worker_gets_what_a_task_created(dsn_18: str) -> None:
    worker, seen = Worker(), list[Video]()

    @worker.handler(ENCODE)
    async def encode(video: Video) -> None:
        seen.append(video)

    with Queue(dsn_18) as queue:
        ENCODE.create(queue, Video("a"), channel="acme")
        ENCODE.create_many(queue.channel("acme"), [Video("b"), Video("c")])
        async with AsyncQueue(dsn_18) as others, running_worker(worker, dsn_18):
            await ENCODE.create(others.channel("acme"), Video("d"))
            await ENCODE.create_many(others, [Video("e")], channel="acme")
            await soon(lambda: is_completed(queue, 5))
    assert sorted(each.name for each in seen) == ["a", "b", "c", "d", "e"]


def test_a_task_passes_options_and_joins_a_transaction(dsn_18: str) -> None:
    with Queue(dsn_18) as queue, psycopg.connect(dsn_18) as connection:
        acme = queue.channel("acme")
        first = ENCODE.create(acme, Video("a"), key="one", headers={"user": "ada"}, delay_ms=5)
        assert isinstance(first, Created)
        assert ENCODE.create(acme, Video("b"), key="one") == Duplicate(first.id)
        ENCODE.create(acme, Video("c"), using=connection)
        connection.rollback()
        [peeked] = queue.peek("acme")
        assert (peeked.kind, peeked.headers) == ("encode", {"user": "ada"})


def test_messages_of_several_tasks_and_channels_are_created_together(dsn_18: str) -> None:
    note: Task[dict[str, Any]] = Task("note", dict)
    with Queue(dsn_18) as queue:
        queue.create_many(
            [
                ENCODE.message(Video("a"), channel="acme", key="a"),
                note.message({"text": "hello"}, channel="bolt"),
            ]
        )
        ENCODE.create_many(queue, [ENCODE.message(Video("b"), delay_ms=9), Video("c")], channel="c")
        assert queue.copy([ENCODE.message(Video("d"), channel="d")]) == 1
        found = {channel: len(queue.peek(channel)) for channel in ("acme", "bolt", "c", "d")}
    assert found == {"acme": 1, "bolt": 1, "c": 2, "d": 1}


async def test_a_task_declared_with_its_handler_works(dsn_18: str) -> None:
    worker = Worker()

    @worker.task("tick")
    def tick() -> None: ...

    with Queue(dsn_18) as queue:
        tick.create(queue, b"", channel="acme")
        async with running_worker(worker, dsn_18):
            await soon(lambda: outcomes(queue) == ["completed"])
