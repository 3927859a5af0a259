"""A driver killed with -9 while it writes, a database that crashes meanwhile, tasks that run twice: all rows once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from pyspark import cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource

from lonnymq import Queue
from lonnymq.embedded_postgres import temporary
from lonnymq.spark.options import Options, read_options
from lonnymq.spark.write import writers
from lonnymq.spark.write.staged import publish_load, stage_rows
from spark.killed_writer import ROWS, write_batch, write_stream
from support import eventually

PROGRAM = Path(__file__).with_name("killed_writer.py")
pytestmark = pytest.mark.timeout(900)  # a second Spark, on a machine that may be busy
cloudpickle.register_pickle_by_value(sys.modules[__name__])


@pytest.mark.long
def test_a_batch_write_killed_before_it_is_published_leaves_nothing_and_may_be_done_again(
    spark: SparkSession, connect, dsn_18: str, tmp_path: Path
) -> None:
    assert run("staged", dsn_18, tmp_path) == -signal.SIGKILL
    connection = connect(dsn_18)
    assert numbers(connection) == []
    assert connection.execute("select count(*) from lonnymq.stage").fetchone() == (2,)
    write_batch(spark, dsn_18)
    write_batch(spark, dsn_18)
    assert numbers(connection) == list(range(ROWS))
    assert connection.execute("select dropped from lonnymq.stage_cleanup(0)").fetchone() == (2,)


@pytest.mark.long
def test_a_stream_killed_between_publishing_and_the_commit_log_adds_nothing_twice(
    spark: SparkSession, connect, dsn_18: str, tmp_path: Path
) -> None:
    put_files(tmp_path, 3)
    assert run("published", dsn_18, tmp_path) == -signal.SIGKILL
    connection = connect(dsn_18)
    assert len(numbers(connection)) == 2_000
    assert sorted(path.name for path in (tmp_path / "checkpoint" / "commits").glob("?")) == ["0"]
    write_stream(spark, dsn_18, tmp_path)
    assert numbers(connection) == list(range(3_000))
    with Queue(dsn_18) as queue:
        assert len(queue.dequeue(limit=10_000)) == 3_000


@pytest.mark.long
def test_a_database_that_crashes_before_the_rows_are_published_publishes_none_of_them(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Stages are not logged: a crash empties them, and that is found out."""
    spark.dataSource.register(Waiting)
    with temporary() as server:
        Queue(server.dsn).install()
        frame = spark.range(0, ROWS, 1, 2).selectExpr(
            "'a' as channel", "concat(id, repeat('.', 500)) as content"
        )
        options: dict[str, Any] = {"url": server.dsn, "txnAppId": "nightly", "txnVersion": 1}

        def crash() -> None:
            eventually((tmp_path / "staged").exists, within=240)
            server.stop("immediate")
            server.start()
            (tmp_path / "go").touch()

        crasher = threading.Thread(target=crash)
        crasher.start()
        waiting = (
            frame.write.format("waiting").mode("append").options(path=str(tmp_path), **options)
        )
        with pytest.raises(Exception, match="rows staged in stage_"):
            waiting.save()
        crasher.join()
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            assert numbers(connection) == []
        frame.write.format("lonnymq").mode("append").options(**options).save()
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            assert numbers(connection) == list(range(ROWS))


class WaitingWriter(writers.BatchWriter):
    """Says when its tasks are done, and publishes when told to."""

    folder: Path

    def commit(self, messages) -> None:
        (self.folder / "staged").touch()
        deadline = time.monotonic() + 240
        while not (self.folder / "go").exists() and time.monotonic() < deadline:
            time.sleep(
                0.05
            )  # in a process of Spark's, which knows nothing of the tests' own modules
        super().commit(messages)


class Waiting(DataSource):
    """The format under another name, with that writer."""

    @classmethod
    def name(cls) -> str:
        return "waiting"

    def writer(self, schema, overwrite):
        options = {key: value for key, value in self.options.items() if key != "path"}
        writer = writers.create_batch_writer(options, schema, overwrite=overwrite)
        waiting = WaitingWriter(writer.job, writer.key)
        waiting.folder = Path(self.options["path"])
        return waiting


ROWS_OF_A_TASK = [
    pa.RecordBatch.from_pydict(
        {"channel": ["a"] * 1_000, "content": [f"{at}{'.' * 500}" for at in range(1_000)]}
    )
]


@pytest.fixture
def options(dsn_18: str) -> Options:
    return read_options({"url": dsn_18}, "write")


@pytest.mark.long
def test_of_a_staged_task_that_ran_twice_one_run_is_published(
    options: Options, connect, dsn_18: str
) -> None:
    stage_rows(options, ROWS_OF_A_TASK, partition=0, query=None)  # its answer was lost
    second = stage_rows(options, ROWS_OF_A_TASK, partition=0, query=None)
    assert publish_load(options, ("app", 1), [second]) is not None
    assert numbers(connect(dsn_18)) == list(range(1_000))


@pytest.mark.long
def test_a_load_published_by_two_drivers_is_published_once(
    options: Options, connect, dsn_18: str
) -> None:
    staged = [stage_rows(options, ROWS_OF_A_TASK, partition=0, query=None) for _ in range(2)]
    drivers = [
        threading.Thread(target=publish_load, args=(options, ("app", 1), [each])) for each in staged
    ]
    for driver in drivers:
        driver.start()
    for driver in drivers:
        driver.join()
    connection = connect(dsn_18)
    assert numbers(connection) == list(range(1_000))
    assert connection.execute("select count(*) from lonnymq.stage").fetchone() == (0,)


CUT = """
    select pg_terminate_backend(pid) from pg_stat_activity
    where application_name = 'lonnymq spark' and datname = current_database() and wait_event is not null
"""


def test_a_connection_that_is_cut_while_rows_are_staged_leaves_nothing(
    options: Options, connect, dsn_18: str
) -> None:
    connection = connect(dsn_18)

    def cut_halfway() -> Iterator[pa.RecordBatch]:
        yield from ROWS_OF_A_TASK
        eventually(lambda: connection.execute(CUT).fetchall() == [(True,)])
        yield from ROWS_OF_A_TASK

    with pytest.raises(psycopg.OperationalError):
        stage_rows(options, cut_halfway(), partition=0, query=None)
    assert connection.execute("select count(*) from lonnymq.stage").fetchone() == (0,)


def test_a_connection_that_is_cut_while_rows_are_published_publishes_them_once(
    options: Options, connect, dsn_18: str
) -> None:
    connection, other = connect(dsn_18), connect(dsn_18)
    staged = stage_rows(options, ROWS_OF_A_TASK, partition=0, query=None)
    driver = threading.Thread(target=publish_load, args=(options, ("app", 1), [staged]))
    with other.transaction(force_rollback=True):
        other.execute("select lonnymq.load_begin('app', 1)")  # the driver waits for the key
        driver.start()
        eventually(lambda: connection.execute(CUT).fetchall() == [(True,)], within=60)
    driver.join()
    assert numbers(connection) == list(range(1_000))
    assert connection.execute("select count(*) from lonnymq.stage").fetchone() == (0,)


def numbers(connection: psycopg.Connection) -> list[int]:
    """The numbers of the rows that became messages, as often as they did."""
    found = connection.execute(
        "select rtrim(convert_from(content, 'UTF8'), '.')::int from lonnymq.message order by 1"
    )
    return [row[0] for row in found]


def put_files(folder: Path, count: int) -> None:
    """Files of a thousand rows each, oldest first."""
    (folder / "in").mkdir(exist_ok=True)
    for number in range(count):
        lines = (json.dumps({"id": number * 1_000 + at}) for at in range(1_000))
        path = folder / "in" / f"{number}.json"
        path.write_text("\n".join(lines))
        os.utime(path, (number, number))


def run(point: str, dsn: str, folder: Path) -> int:
    """Run the program in a group of its own until it has died."""
    hidden = ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET", "SPARK_LOCAL_DIRS")
    known = {key: value for key, value in os.environ.items() if key not in hidden}
    path = os.pathsep.join([str(PROGRAM.parents[1]), *filter(None, [known.get("PYTHONPATH")])])
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, PROGRAM, point, dsn, folder],
            env={**known, "DYING_FOLDER": str(folder), "PYTHONPATH": path},
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            return process.wait(400)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
