"""Open pages are told what goes on, all by the same look at the database, and nobody looks when none is open."""

import asyncio
import json
import time
from collections.abc import Iterator
from typing import Any

import httpx
import psycopg

from dashboard.server import served
from lonnymq import Queue
from lonnymq.dashboard import create_app
from lonnymq.dashboard.state import CACHE_SECONDS, EVENT_SECONDS, ResponseCache
from support import eventually


class Statements:
    """Counts what the page asks the database, by what the pages' connection is handed."""

    def __init__(self, app: Any) -> None:
        self.texts: list[str] = []
        for queue in app.state.dashboard.queues.values():
            source = queue.source
            opened = source.open

            async def counted(seconds: float, opened: Any = opened) -> Any:
                connection = await opened(seconds)
                connection.cursor_factory = self.watching(connection.cursor_factory)
                return connection

            source.open = counted

    def watching(self, kind: Any) -> Any:
        texts = self.texts

        async def execute(cursor: Any, query: Any, *more: Any, **named: Any) -> Any:
            texts.append(query.decode() if isinstance(query, bytes) else str(query))
            return await kind.execute(cursor, query, *more, **named)

        return type("Watched", (kind,), {"execute": execute})


def next_event(lines: Iterator[str]) -> tuple[str, Any]:
    """The next event of a stream."""
    name = ""
    for line in lines:
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        if line.startswith("data: "):
            return name, json.loads(line.removeprefix("data: "))
    raise AssertionError("the stream has ended")


def test_a_page_is_told_at_once_and_again_when_something_has_changed(dsn_18):
    with (
        Queue(dsn_18) as queue,
        served(create_app({"jobs": dsn_18})) as address,
        httpx.stream("GET", f"{address}/api/queues/jobs/events", timeout=60) as answer,
    ):
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = answer.iter_lines()
        name, first = next_event(lines)
        assert (name, first["waiting"]["value"]) == ("overview", 0)
        queue.create("acme", b"x")
        assert any('"waiting": {"value": 1' in line for line in lines)


def test_ten_open_pages_cost_one_set_of_queries_and_none_cost_nothing(dsn_18):
    app = create_app({"jobs": dsn_18})
    state = app.state.dashboard
    statements = Statements(app)
    with served(app) as address, httpx.Client(timeout=60) as client:
        client.get(f"{address}/api/queues/jobs/overview")
        one_look = len(statements.texts)
        assert one_look >= 5
        began, before = time.monotonic(), len(statements.texts)
        streams = [
            httpx.stream("GET", f"{address}/api/queues/jobs/events", timeout=60) for _ in range(10)
        ]
        pages = [each.__enter__().iter_lines() for each in streams]
        stream = eventually(lambda: state.streams.get("jobs"))
        eventually(lambda: len(stream.listeners) == 10)
        for _ in range(3):
            assert [next_event(each)[0] for each in pages] == ["overview"] * 10
        # A look each two seconds, and for new pages one a second, whatever time thirty events took here.
        looks = (len(statements.texts) - before) / one_look
        seconds = time.monotonic() - began
        assert looks <= 2 + seconds / EVENT_SECONDS + seconds / CACHE_SECONDS
        for each in streams:
            each.__exit__(None, None, None)
        eventually(lambda: not stream.listeners)
        eventually(lambda: stream.task is None or stream.task.done())


def test_a_page_hears_that_the_database_is_away_and_that_it_is_back(dsn_18):
    with psycopg.connect(dsn_18, autocommit=True) as connection:
        connection.execute("alter function lonnymq.queue_metrics rename to away")
    with (
        served(create_app({"jobs": dsn_18})) as address,
        httpx.stream("GET", f"{address}/api/queues/jobs/events", timeout=60) as answer,
    ):
        lines = answer.iter_lines()
        assert any(line == "event: trouble" for line in lines)
        with psycopg.connect(dsn_18, autocommit=True) as connection:
            connection.execute("alter function lonnymq.away rename to queue_metrics")
        assert any(line == "event: overview" for line in lines)


async def test_who_asks_the_same_at_once_shares_an_answer():
    cache, reads = ResponseCache(), 0

    async def read() -> int:
        nonlocal reads
        reads += 1
        await asyncio.sleep(0.01)
        return reads

    answers = await asyncio.gather(*(cache.get("a", read) for _ in range(10)))
    assert answers == [1] * 10
    assert await cache.get("b", read) == 2


async def test_who_leaves_does_not_take_the_answer_from_the_others():
    cache, go_on = ResponseCache(), asyncio.Event()

    async def read() -> str:
        await go_on.wait()
        return "read"

    first = asyncio.create_task(cache.get("a", read))
    await asyncio.sleep(0)
    second = asyncio.create_task(cache.get("a", read))
    await asyncio.sleep(0)
    first.cancel()
    go_on.set()
    assert await second == "read"


async def test_what_could_not_be_read_is_not_cached():
    cache, tries = ResponseCache(), 0

    async def read() -> int:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise OSError
        return tries

    for expected in (None, 2):
        try:
            assert await cache.get("a", read) == expected
        except OSError:
            assert expected is None
