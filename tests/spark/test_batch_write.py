from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, concat, lit, repeat

import lonnymq
from support import first_quick

STORED = "select channel, convert_from(content, 'UTF8'), key, kind, headers from lonnymq.message order by id"
LOADED = """
    select sum(created), sum(duplicate), sum(dropped), sum(rejected), sum(invalid) from lonnymq.load_list()
"""


@pytest.fixture
def queue(dsn_18: str) -> lonnymq.Queue:
    return lonnymq.Queue(dsn_18)


@pytest.fixture
def connection(connect, dsn_18: str) -> psycopg.Connection:
    return connect(dsn_18)


def numbered(spark: SparkSession, rows: int, *, parts: int = 2, bytes_each: int = 1) -> DataFrame:
    """Rows in order, over ten channels; with many bytes each they are staged in tables."""
    content = concat(col("id").cast("string"), repeat(lit("."), bytes_each))
    return spark.range(0, rows, 1, parts).select(
        concat(lit("channel "), (col("id") % 10).cast("string")).alias("channel"),
        content.alias("content"),
    )


def test_all_columns_arrive(
    spark: SparkSession, queue_format, connection: psycopg.Connection
) -> None:
    at = datetime(2030, 1, 1, tzinfo=UTC)
    frame = spark.createDataFrame(
        [("a", b"1", at, None, "n", "k", {"x": "ä"}), ("a", b"2", None, 5_000, None, None, None)],
        "channel string, content binary, dequeue_at timestamp, delay_ms bigint, key string, kind string, "
        "headers map<string,string>",
    ).coalesce(1)
    queue_format.write(frame).save()
    assert connection.execute(STORED).fetchall() == [
        ("a", "1", "n", "k", {"x": "ä"}),
        ("a", "2", None, None, None),
    ]
    times = "select dequeue_at, dequeue_at - created_at from lonnymq.message order by id"
    (moment, _), (_, delay) = connection.execute(times).fetchall()
    assert moment == 1_893_456_000_000
    assert 4_000 < delay <= 5_000


@pytest.mark.parametrize("bytes_each", first_quick(1, 500), ids=["few bytes", "many bytes"])
def test_rows_keep_their_order_and_are_dequeued(
    spark: SparkSession, queue_format, queue, connection, bytes_each: int
) -> None:
    queue_format.write(numbered(spark, 3_000, bytes_each=bytes_each)).save()
    by_channel = "select channel, array_agg(convert_from(content, 'UTF8') order by id) from lonnymq.message group by 1"
    for _, contents in connection.execute(by_channel):
        found = [int(content.rstrip(".")) for content in contents]
        assert found == sorted(found)
        assert len(found) == 300
    assert len(queue.dequeue(limit=5_000)) == 3_000
    assert connection.execute("select count(*) from lonnymq.stage").fetchone() == (0,)
    tables = "select count(*) from pg_class where relname ~ '^stage_[0-9]' and relkind = 'r'"
    assert connection.execute(tables).fetchone() == (0,)


@pytest.mark.parametrize("bytes_each", first_quick(1, 500), ids=["few bytes", "many bytes"])
def test_a_load_that_is_written_again_adds_nothing(
    spark: SparkSession, queue_format, connection, bytes_each: int
) -> None:
    frame = numbered(spark, 1_000, bytes_each=bytes_each)
    for version in (1, 1, 2, 1):
        queue_format.write(frame, txnAppId="nightly", txnVersion=version).save()
    assert connection.execute("select count(*) from lonnymq.message").fetchone() == (2_000,)
    loads = connection.execute("select version, created from lonnymq.load order by version")
    assert loads.fetchall() == [(1, 1_000), (2, 1_000)]


@pytest.mark.parametrize("bytes_each", first_quick(1, 500), ids=["few bytes", "many bytes"])
def test_rows_that_are_not_taken_are_counted_and_kept_with_the_reason(
    spark: SparkSession, queue_format, queue, connection, bytes_each: int
) -> None:
    queue.channel("channel 1").set(max_size=3)
    queue.channel("channel 2").set(max_size=2, when_full="drop")
    queue.channel("channel 3").set()
    queue.channel("channel 3").create(b"last")
    queue.channel("channel 3").retire()
    frame = numbered(spark, 1_000, parts=1, bytes_each=bytes_each).selectExpr(
        "case when channel = 'channel 4' then '' else channel end as channel",
        "content",
        "case when channel = 'channel 5' then 'one' end as key",
        "case when channel = 'channel 6' then '[]'"
        " when channel = 'channel 8' then concat('{\"x\": \"', repeat('y', 20000), '\"}') end as headers",
        "case when channel = 'channel 7' then repeat('k', 256) end as kind",
    )
    queue_format.write(frame, rejectsTable="rejected").save()
    assert connection.execute(LOADED).fetchone() == (3 + 2 + 1 + 200, 99, 98, 197, 400)
    reasons = "select channel, answer, reason, count(*), count(content) from rejected group by 1, 2, 3 order by 1"
    assert connection.execute(reasons).fetchall() == [
        ("", "invalid", "invalid", 100, 100),
        ("channel 1", "rejected", "full", 97, 97),
        ("channel 2", "dropped", "full", 98, 98),
        ("channel 3", "rejected", "retiring", 100, 100),
        ("channel 6", "invalid", "invalid", 100, 100),
        ("channel 7", "invalid", "invalid", 100, 100),
        ("channel 8", "invalid", "too_large", 100, 100),
    ]
    details = "select distinct detail, headers from rejected where channel = 'channel 6'"
    assert connection.execute(details).fetchall() == [("headers must be a JSON object", "[]")]
    first = "select convert_from(content, 'UTF8') from lonnymq.message where channel = 'channel 1' order by id"
    assert [row[0].rstrip(".") for row in connection.execute(first)] == ["1", "11", "21"]


def test_a_write_that_must_not_lose_a_row_writes_nothing_if_one_is_refused(
    spark: SparkSession, queue_format, queue, connection
) -> None:
    queue.channel("channel 1").set(max_size=3)
    frame = numbered(spark, 100, parts=1)
    with pytest.raises(Exception, match=r"queue rejected rows.*7 rejected") as caught:
        queue_format.write(frame, failOnReject=True).save()
    assert "Traceback" not in str(caught.value)
    assert connection.execute("select count(*) from lonnymq.message").fetchone() == (0,)
    assert connection.execute("select count(*) from lonnymq.load").fetchone() == (0,)


def test_a_key_is_unique_among_what_is_there_and_what_comes(
    spark: SparkSession, queue_format, queue, connection
) -> None:
    queue.channel("a").create(b"there", key="one")
    rows = [("a", "1", "one"), ("a", "2", "two"), ("a", "3", "two"), ("b", "4", "one")]
    frame = spark.createDataFrame(rows, "channel string, content string, key string")
    queue_format.write(frame.coalesce(1)).save()
    assert [row[:3] for row in connection.execute(STORED)] == [
        ("a", "there", "one"),
        ("a", "2", "two"),
        ("b", "4", "one"),
    ]
    assert connection.execute(LOADED).fetchone() == (2, 2, 0, 0, 0)


@pytest.mark.long
def test_a_task_that_fails_leaves_nothing(spark: SparkSession, queue_format, connection) -> None:
    frame = numbered(spark, 2_000, parts=1, bytes_each=500)
    broken = frame.selectExpr(
        "channel", "if(content like '1999.%', raise_error('broken row'), content) as content"
    )
    with pytest.raises(Exception, match="broken row"):
        queue_format.write(broken).save()
    for table in ("message", "change", "load", "stage"):
        assert connection.execute(f"select count(*) from lonnymq.{table}").fetchone() == (0,)


def test_what_was_read_can_be_written(spark: SparkSession, queue_format, queue, connection) -> None:
    queue.channel("a").create(b"1", kind="k", headers={"x": 1}, dequeue_at=-5)
    read = queue_format.read().load("messages")
    queue_format.write(
        read.selectExpr("'b' as channel", "content", "kind", "headers", "dequeue_at")
    ).save()
    found = connection.execute(
        "select channel, kind, headers, dequeue_at from lonnymq.message order by id"
    )
    assert found.fetchall() == [("a", "k", {"x": 1}, -5), ("b", "k", {"x": 1}, -5)]


BAD = {
    "a column is missing": ("channel string", {}, r"the column content is missing"),
    "a column is unknown": (
        *("channel string, content string, colour string", {}, r"unknown column colour: select"),
    ),
    "a column has a wrong type": (
        *("channel int, content string", {}, r"the column channel must be string, not int"),
    ),
    "headers have a wrong type": (
        *(
            "channel string, content string, headers map<string,int>",
            {},
            r"headers must be string \(",
        ),
    ),
    "unknown option": (
        None,
        {"chanel": "a"},
        r"unknown option for a write: chanel\. The known options are",
    ),
    "only half a key": (None, {"txnAppId": "a"}, r"txnAppId and txnVersion go together"),
    "schema not installed": (
        None,
        {"schema": "other"},
        r"no queue is installed in the schema other",
    ),
    "unreachable": (None, {"url": "postgresql://127.0.0.1:1/x"}, r"the database cannot be reached"),
    "a bad table for rejects": (
        None,
        {"rejectsTable": "a; drop"},
        r"the option rejectsTable must name a table",
    ),
    "a table that is not fit for rejects": (
        *(None, {"rejectsTable": "lonnymq.queue"}, r"lonnymq.queue cannot store rejected rows"),
    ),
}


@pytest.mark.parametrize(("schema", "options", "text"), BAD.values(), ids=BAD)
def test_what_cannot_be_written_is_told_on_the_driver_before_tasks_start(
    spark: SparkSession, dsn_18: str, schema: str | None, options: dict[str, Any], text: str
) -> None:
    frame = spark.createDataFrame([], schema or "channel string, content string")
    write = frame.write.format("lonnymq").mode("append").options(**{"url": dsn_18, **options})
    with pytest.raises(AnalysisException, match=text) as caught:
        write.save()
    assert "Traceback" not in str(caught.value)


@pytest.mark.parametrize(
    ("mode", "text"),
    [
        ("overwrite", r"you can only append to a queue: use mode\('append'\)"),
        ("error", r"cannot be written in the .ErrorIfExists. mode"),
        ("ignore", r"cannot be written in the .Ignore. mode"),
    ],
)
def test_other_save_modes_are_refused(
    spark: SparkSession, dsn_18: str, mode: str, text: str
) -> None:
    frame = spark.createDataFrame([], "channel string, content string")
    with pytest.raises(AnalysisException, match=text):
        frame.write.format("lonnymq").mode(mode).option("url", dsn_18).save()


@pytest.mark.long
def test_a_producer_with_its_role_and_nothing_else_may_write(
    spark: SparkSession, queue_format, connect, dsn_18: str
) -> None:
    """Roles are the cluster's, so the schema is one of this test's own."""
    connection = connect(dsn_18)
    lonnymq.Queue(dsn_18, schema="spark_roles").install(roles=True)
    connection.execute("drop role if exists spark_writer")
    connection.execute("create role spark_writer login in role spark_roles_producer")
    try:
        for bytes_each in (1, 500):
            frame = numbered(spark, 1_000, bytes_each=bytes_each)
            url = dsn_18.replace("postgres@", "spark_writer@")
            queue_format.write(frame, schema="spark_roles").option("url", url).save()
        assert connection.execute("select count(*) from spark_roles.message").fetchone() == (2_000,)
    finally:
        connection.execute("drop schema spark_roles cascade")
        for role in (
            "spark_writer",
            *(
                f"spark_roles_{each}"
                for each in ("owner", "producer", "consumer", "viewer", "admin")
            ),
        ):
            connection.execute(f"drop owned by {role}")
            connection.execute(f"drop role {role}")
