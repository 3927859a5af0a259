"""Spark as logins that have one of the queue's roles each and nothing else, and through PgBouncer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from lonnymq import NewMessage, Queue
from lonnymq.spark import run_workers, set_outcomes
from lonnymq.spark.stream.reader import StreamReader, default_schema
from spark.conftest import Format
from spark.killed_writer import write_stream
from spark.streams import Table, finished, left
from spark.test_write_deaths import numbers, put_files
from support import Target

pytestmark = pytest.mark.timeout(900)  # a Spark on a machine that may be busy
ROLES = ("owner", "producer", "consumer", "viewer", "admin")
SCHEMA = "spark_logins"  # roles are the server's: those of this schema are this file's
Login = Callable[[str], str]


@pytest.fixture
def login(dsn_18: str) -> Iterator[Login]:
    """`login(role)`: the DSN of a login that has this role."""
    Queue(dsn_18, schema=SCHEMA).install(roles=True)
    granted = {
        **{role: f"{SCHEMA}_{role}" for role in ROLES},
        "reader": f"{SCHEMA}_viewer, pg_read_all_data",
    }
    with psycopg.connect(dsn_18, autocommit=True) as connection:
        for name, role in granted.items():
            connection.execute(f"create role a_spark_{name} login in role {role}".encode())
        try:
            yield lambda name: dsn_18.replace("postgres@", f"a_spark_{name}@", 1)
        finally:
            connection.execute(f"drop schema {SCHEMA} cascade".encode())
            for role in (
                *(f"a_spark_{name}" for name in granted),
                *(f"{SCHEMA}_{r}" for r in ROLES),
            ):
                connection.execute(f"drop owned by {role}".encode())
                connection.execute(f"drop role {role}".encode())


@pytest.mark.long
def test_each_role_is_enough_for_its_work(
    spark: SparkSession, login: Login, dsn_18: str, tmp_path: Path
) -> None:
    put_files(tmp_path, 1)
    write_stream(spark, login("producer"), tmp_path, schema=SCHEMA)

    class Judged(Table):
        def write(self, batch, number):
            super().write(batch, number)
            rows = self.spark.read.parquet(str(self.folder / "table" / f"batch={number}")).limit(3)
            dead = rows.selectExpr("id", "token", "'dead' as outcome")
            assert set_outcomes(dead, url=self.dsn, schema=SCHEMA) == {"decided": 3}

    consumer = login("consumer")
    table = Judged(spark, consumer, tmp_path / "out", schema=SCHEMA)
    table.run()
    assert len(table.ids()) == 1_000
    Queue(dsn_18, schema=SCHEMA).create("a", b"x")
    rows = run_workers(
        spark, lambda content: None, url=consumer, schema=SCHEMA, num_workers=1, until_empty=True
    )
    assert [row.answer for row in rows.collect()] == ["completed"]

    def read(name: str, what: str) -> int:
        return Format(spark, login(name)).read(schema=SCHEMA).load(what).count()

    assert read("viewer", "channels") == 11
    assert (read("reader", "messages"), read("reader", "history")) == (0, 1_001)
    assert read("owner", "history") == 1_001


def test_a_right_that_is_missing_is_named_before_tasks_start(
    spark: SparkSession, login: Login
) -> None:
    with pytest.raises(PySparkException, match=r"a_spark_viewer may not select .*pg_read_all_data"):
        Format(spark, login("viewer")).read(schema=SCHEMA).load("history").count()
    frame = spark.createDataFrame([("a", "b")], "channel string, content string")
    with pytest.raises(PySparkException, match="permission denied"):
        Format(spark, login("consumer")).write(frame, schema=SCHEMA).save()


@pytest.mark.long
@pytest.mark.parametrize("size", [1, 500], ids=["sent along", "staged"])
def test_a_producer_that_is_confined_writes_into_its_own_channels_alone(
    spark: SparkSession, login: Login, connect, dsn_18: str, size: int
) -> None:
    connection = connect(dsn_18)
    connection.execute(f"select {SCHEMA}.producer_restrict('a_spark_producer', array['mine'])")
    rows = spark.range(0, 1_000, 1, 1).selectExpr(
        "if(id = 999, 'theirs', 'mine') as channel", f"repeat('x', {size}) as content"
    )
    write = Format(spark, login("producer")).write
    with pytest.raises(PySparkException, match="theirs"):
        write(rows, schema=SCHEMA).save()
    count = f"select count(*) from {SCHEMA}.message"
    assert connection.execute(count).fetchone() == (0,)
    write(rows.where("channel = 'mine'"), schema=SCHEMA).save()
    assert connection.execute(count).fetchone() == (999,)


@pytest.mark.long
def test_streams_go_through_pgbouncer_in_transaction_mode(
    spark: SparkSession, server_behind_pgbouncer: Target, tmp_path: Path
) -> None:
    with server_behind_pgbouncer.database() as (dsn, direct):
        put_files(tmp_path, 2)
        write_stream(spark, dsn, tmp_path)
        with psycopg.connect(direct, autocommit=True) as connection:
            assert numbers(connection) == list(range(2_000))
        frame = spark.range(0, 100, 1, 2).selectExpr("'a' as channel", "'x' as content")
        Format(spark, dsn).write(frame).save()
        read = Format(spark, dsn).read(numPartitions=2).load("messages")
        assert read.count() == 2_100
        table = Table(spark, dsn, tmp_path / "out", maxMessagesPerTrigger=1_500)
        table.run()
        assert len(set(table.ids())) == len(table.ids()) == 2_100
        assert set(map(tuple, finished(direct).values())) == {("completed",)}
        assert left(direct) == []
        with Queue(direct) as queue:
            queue.create_many([NewMessage(b"x", "b")] * 3)
        rows = run_workers(spark, lambda content: None, url=dsn, num_workers=1, until_empty=True)
        assert [row.answer for row in rows.collect()] == ["completed"] * 3


def test_a_consumer_that_may_not_view_the_queue_has_counts_without_a_lag(
    login: Login, dsn_18: str
) -> None:
    Queue(dsn_18, schema=SCHEMA).create("acme", b"")
    options = {"url": login("consumer"), "schema": SCHEMA, "stream": "s"}
    reader = StreamReader(options, default_schema(options))
    try:
        reader.latestOffset(reader.initialOffset(), reader.getDefaultReadLimit())
        told = reader.reportLatestOffset() or {}
        assert (told["claimed"], told["lagMessages"], told["lagSeconds"]) == (1, None, None)
    finally:
        reader.stop()
