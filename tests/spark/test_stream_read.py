"""The queue as a stream, in a running Spark."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 (everybody calls them so)

import lonnymq.spark
from lonnymq import NewMessage, Queue
from lonnymq.embedded_postgres import temporary
from spark.streams import Table, finished, left
from support import eventually, message_id

pytestmark = pytest.mark.timeout(900)  # a Spark on a machine that may be busy


def fill(queue: Queue, count: int, channels: int = 5) -> list[int]:
    made = queue.create_many(
        [NewMessage(b"%d" % each, f"c{each % channels}") for each in range(count)]
    )
    return [message_id(each) for each in made]


@pytest.fixture
def queue(dsn_18: str):
    with Queue(dsn_18) as queue:
        yield queue


@pytest.fixture
def table(spark: SparkSession, dsn_18: str, tmp_path: Path) -> Table:
    return Table(spark, dsn_18, tmp_path, maxMessagesPerTrigger=60)


def test_all_that_waits_is_read_once_and_settled(queue: Queue, table: Table, dsn_18: str) -> None:
    made = fill(queue, 100)
    query = table.run()
    assert [each.numInputRows for each in query.recentProgress if each.numInputRows] == [60, 40]
    assert table.ids() == made
    assert finished(dsn_18) == {each: ["completed"] for each in made}
    assert left(dsn_18) == []


@pytest.mark.long
def test_a_query_goes_on_where_it_was_stopped(queue: Queue, table: Table, dsn_18: str) -> None:
    made = fill(queue, 20)
    query = table.start(now=False)
    eventually(lambda: any(each.numInputRows for each in query.recentProgress), within=120)
    made += fill(queue, 20)
    eventually(lambda: len(finished(dsn_18)) == 40, within=120)
    query.stop()
    made += fill(queue, 20)
    table.run()
    assert table.ids() == made
    assert finished(dsn_18) == {each: ["completed"] for each in made}
    assert left(dsn_18) == []


@pytest.mark.long
def test_messages_may_end_in_other_ways_than_done(
    spark: SparkSession, queue: Queue, dsn_18: str, tmp_path: Path
) -> None:
    made = fill(queue, 40, channels=1)
    answers = []

    class Judged(Table):
        def write(self, batch, number):
            super().write(batch, number)
            number = F.col("content").cast("string").cast("int") % 4
            verdicts = batch.where(number > 0).select(
                "id",
                "token",
                F.element_at(F.array(F.lit("defer"), F.lit("fail"), F.lit("dead")), number).alias(
                    "outcome"
                ),
                F.lit(3_600_000).alias("delay_ms"),
                F.lit("no").alias("error"),
            )
            answers.append(lonnymq.spark.set_outcomes(verdicts, url=self.dsn))
            one = batch.where(number == 0).limit(1).select("id", "token").collect()
            rows = [{**row.asDict(), "outcome": "defer", "delay_ms": 3_600_000} for row in one]
            answers.append(lonnymq.spark.set_outcomes(rows, url=self.dsn))

    Judged(spark, dsn_18, tmp_path, maxMessagesPerTrigger=100).run()
    assert answers == [{"decided": 30}, {"decided": 1}]
    ended = [each for [each] in finished(dsn_18).values()]
    counts = {each: ended.count(each) for each in set(ended)}
    assert counts == {"completed": 9, "deferred": 11, "failed": 10, "dead": 10}
    assert len(finished(dsn_18)) == len(made)


def test_the_progress_of_a_query_tells_counts_and_lag(
    spark: SparkSession, queue: Queue, dsn_18: str, tmp_path: Path
) -> None:
    fill(queue, 30)
    query = Table(spark, dsn_18, tmp_path, maxMessagesPerTrigger=10).run()
    told = [json.loads(each["sources"][0]["latestOffset"]) for each in query.recentProgress]
    assert [each["claimed"] for each in told][-1] == 30
    assert [each["acknowledged"] for each in told] == sorted(each["acknowledged"] for each in told)
    assert told[-1]["acknowledged"] >= 10
    assert (told[-1]["givenBack"], told[-1]["dead"], told[-1]["lost"]) == (0, 0, 0)
    assert told[0]["lagMessages"] in range(31)
    assert told[0]["lagSeconds"] >= 0


@pytest.mark.long
def test_an_older_query_is_told_that_it_is_fenced(
    spark: SparkSession, queue: Queue, dsn_18: str, tmp_path: Path
) -> None:
    old = Table(spark, dsn_18, tmp_path / "old").start(now=False)
    eventually(lambda: old.recentProgress or old.status["isTriggerActive"], within=120)
    made = fill(queue, 10)
    eventually(lambda: len(finished(dsn_18)) == 10, within=120)
    new = Table(spark, dsn_18, tmp_path / "new")
    new.run()
    eventually(lambda: not old.isActive, within=120)
    assert "StreamFenced" in str(old.exception())
    assert finished(dsn_18) == {each: ["completed"] for each in made}


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            {"subscribe": "a", "subscribePattern": "b"},
            "set subscribe or subscribePattern, not both",
        ),
        ({"maxMessagesPerTrigger": "many"}, "must be a whole number of at least 1"),
        ({"colour": "red"}, "unknown option for a stream read: colour\\. The known options are"),
    ],
)
def test_what_is_wrong_is_said_before_anything_starts(
    spark: SparkSession, options: dict[str, str], text: str
) -> None:
    given = {"url": "postgresql://host/db", "stream": "s", **options}
    with pytest.raises(PySparkException, match=text):
        spark.readStream.format("lonnymq").options(**given).load("messages")


@pytest.mark.parametrize(
    ("options", "columns", "said"),
    [
        ({}, None, "a stream read needs a stream name"),
        ({"stream": "s"}, "id string", "the column id of a stream is bigint, not string"),
    ],
    ids=["no name", "another type"],
)
def test_a_stream_that_cannot_start_says_so_in_its_first_line(
    spark: SparkSession,
    dsn_18: str,
    tmp_path: Path,
    options: dict[str, str],
    columns: str | None,
    said: str,
) -> None:
    reader = spark.readStream.format("lonnymq").options(url=dsn_18, **options)
    frame = (reader.schema(columns) if columns else reader).load("messages")
    query = Table(spark, dsn_18, tmp_path).start(frame=frame)
    eventually(lambda: not query.isActive, within=60)
    assert said in str(query.exception()).splitlines()[0]
    assert "Traceback" not in str(query.exception())


@pytest.mark.long
@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"url": "postgresql://nobody@127.0.0.1:1/none"}, "the database cannot be reached"),
        ({"schema": "elsewhere"}, "The schema lacks the queue"),
    ],
)
def test_where_there_is_no_queue_a_stream_says_so_and_ends(
    spark: SparkSession, dsn_18: str, tmp_path: Path, options: dict[str, str], text: str
) -> None:
    query = Table(spark, dsn_18, tmp_path, **options).start()
    eventually(lambda: not query.isActive, within=120)
    assert text in str(query.exception())


@pytest.mark.long
def test_a_database_that_restarts_in_the_middle_of_a_batch_is_waited_for(
    spark: SparkSession, tmp_path: Path
) -> None:
    with temporary() as server, Queue(server.dsn) as queue:
        queue.install()
        made = fill(queue, 100)

        class Interrupted(Table):
            def write(self, batch, number):
                if number == 0:  # the claim is made, and no task has read of it
                    server.stop("immediate")
                    threading.Timer(1.0, server.start).start()
                super().write(batch, number)

        table = Interrupted(spark, server.dsn, tmp_path, maxMessagesPerTrigger=60)
        table.run()
        assert table.ids() == made
        assert finished(server.dsn) == {each: ["completed"] for each in made}
        assert left(server.dsn) == []
