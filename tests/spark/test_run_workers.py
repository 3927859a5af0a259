"""A worker's handlers on executors."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

from lonnymq import Context, NewMessage, Queue, Worker
from lonnymq.errors import InvalidArgument, NotInstalled, Unreachable
from lonnymq.spark import run_workers
from lonnymq.spark.cluster.runner import HANDLER_OPTIONS
from lonnymq.worker.handlers import Handlers
from spark.streams import finished, left
from support import message_id

pytestmark = pytest.mark.timeout(900)  # a Spark on a machine that may be busy


@pytest.fixture
def queue(dsn_18: str) -> Iterator[Queue]:
    with Queue(dsn_18) as queue:
        yield queue


def handlers(dsn: str) -> Worker:
    worker = Worker(dsn, concurrency=5)

    @worker.handler("count")
    async def count(number: int, context: Context) -> None:
        if number == 1:
            raise ValueError("one")
        if number == 2:
            context.defer(delay_ms=3_600_000, state=b"half")
        if number == 3:
            context.dead("never")

    @worker.handler("many", batch=10)
    def many(numbers: list[int]) -> None:
        assert 0 < len(numbers) <= 5

    return worker


def test_what_came_of_each_message_is_a_row(spark: SparkSession, queue: Queue, dsn_18: str) -> None:
    made = [NewMessage(b"%d" % each, "a", kind="count", key=f"n{each}") for each in range(5)]
    ids = [message_id(each) for each in queue.create_many(made)]
    more = queue.create_many([NewMessage(b"1", f"c{each}", kind="many") for each in range(20)])
    rows = run_workers(spark, handlers(dsn_18), num_workers=2, until_empty=True, duration=120_000)
    seen = {row.id: row for row in rows.collect()}
    assert [seen[each].answer for each in ids] == [
        *("completed", "retrying", "deferred", "dead", "completed")
    ]
    first = seen[ids[1]]
    known = (first.channel, first.kind, first.key, first.attempt, first.error)
    assert known == ("a", "count", "n1", 1, "ValueError: one")
    assert {seen[message_id(each)].answer for each in more} == {"completed"}
    assert rows.count() == 25
    assert len(finished(dsn_18)) == 25
    assert queue.check() == []


@pytest.mark.long
def test_workers_end_when_their_time_is_over(
    spark: SparkSession, queue: Queue, dsn_18: str
) -> None:
    queue.create("a", b"1", kind="count", delay_ms=3_600_000)
    assert run_workers(spark, handlers(dsn_18), num_workers=1, duration=500).collect() == []


@pytest.mark.long
def test_one_function_may_handle_all_messages(
    spark: SparkSession, queue: Queue, dsn_18: str
) -> None:
    queue.create("a", b"x", kind="any")
    queue.create("a", b"y")

    def look(content: bytes) -> None:
        assert content in (b"x", b"y")

    rows = run_workers(spark, look, url=dsn_18, num_workers=1, until_empty=True, duration=120_000)
    assert [row.answer for row in rows.collect()] == ["completed"] * 2
    assert left(dsn_18) == []


def test_what_is_wrong_is_said_before_any_task_starts(spark: SparkSession, dsn_18: str) -> None:
    with pytest.raises(InvalidArgument, match="needs the url of the database"):
        run_workers(spark, print)
    with pytest.raises(InvalidArgument, match="the worker has no handlers"):
        run_workers(spark, Worker(dsn_18))
    no_worker: Any = 5
    with pytest.raises(
        InvalidArgument, match="takes a Worker, the handlers of a Worker, or a function, not int"
    ):
        run_workers(spark, no_worker)
    with pytest.raises(InvalidArgument, match="num_workers must be a whole number"):
        run_workers(spark, print, url=dsn_18, num_workers=0)
    with pytest.raises(NotInstalled):
        run_workers(spark, print, url=dsn_18, schema="elsewhere")
    with pytest.raises(Unreachable, match="the database cannot be reached"):
        run_workers(spark, print, url="postgresql://nobody@127.0.0.1:1/none")


def test_every_option_of_a_handler_reaches_the_executors() -> None:
    parameters = inspect.signature(Handlers.add).parameters.values()
    options = {each.name for each in parameters if each.kind is each.KEYWORD_ONLY}
    assert set(HANDLER_OPTIONS) == options
