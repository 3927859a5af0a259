"""The database is stopped and started again while Spark reads and writes: queries go on, and all is there once."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pyspark import TaskContext, cloudpickle
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource

from lonnymq import NewMessage, Queue
from lonnymq.embedded_postgres import TemporaryServer, temporary
from lonnymq.spark import set_outcomes
from lonnymq.spark.stream.reader import StreamReader, default_schema
from lonnymq.spark.write import writers
from spark.streams import Table, finished, left
from support import eventually, message_id

pytestmark = pytest.mark.timeout(900)  # a Spark on a machine that may be busy
cloudpickle.register_pickle_by_value(sys.modules[__name__])
MEBIBYTE = 1 << 20
RESTARTING = threading.Lock()


@pytest.fixture
def server() -> Iterator[TemporaryServer]:
    with temporary() as server:
        Queue(server.dsn).install()
        yield server


def made(dsn: str, messages: list[NewMessage]) -> list[int]:
    with Queue(dsn) as queue:
        return [message_id(each) for each in queue.create_many(messages)]


def restart(
    server: TemporaryServer, mode: Any, *, stopped_file: Path | None = None, seconds: float = 0
) -> None:
    """Stop the server, tell who waits for that, and start it again; one at a time."""
    with RESTARTING:
        server.stop(mode)
        if stopped_file is not None:
            stopped_file.touch()
        time.sleep(seconds)
        server.start()


class Interrupted(Table):
    """Has the server restarted at another point of each of its batches."""

    def __init__(self, server: TemporaryServer, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.server = server

    def write(self, batch: Any, number: int) -> None:
        if number == 0:  # no task has read yet, and the first ones find nobody there
            stopped = self.folder / "stopped"
            threading.Thread(
                target=restart,
                args=(self.server, "fast"),
                kwargs={"stopped_file": stopped, "seconds": 0.5},
            ).start()
            eventually(stopped.exists)
        if number == 1:  # a task has read, and stands there with its connection
            reading, go = self.folder / "reading", self.folder / "go"
            batch = batch.mapInArrow(held_up(str(reading), str(go)), batch.schema)
            threading.Thread(target=self.restart_when, args=(reading, go)).start()
        super().write(batch, number)
        if (
            number == 2
        ):  # the table has the batch, what is said of it comes in the middle of a restart
            threading.Thread(target=restart, args=(self.server, "immediate")).start()
            verdicts = [
                {"id": row.id, "token": row.token, "outcome": "complete"}
                for row in self.spark.read.parquet(str(self.folder / "table/batch=2")).collect()
            ]
            assert sum(set_outcomes(verdicts, url=self.dsn).values()) == len(verdicts)
        if number == 3:  # Spark's next question, which settles the batch, finds a new server
            restart(self.server, "immediate")

    def restart_when(self, reading: Path, go: Path) -> None:
        eventually(reading.exists, within=240)
        restart(self.server, "immediate", stopped_file=go)


def held_up(reading: str, go: str) -> Any:
    """Let rows through; the second task says that it has some, and goes on when it is told to."""

    def work(batches: Any) -> Any:
        context = TaskContext.get()
        for batch in batches:
            if context and context.partitionId() == 1:
                Path(reading).touch()
                deadline = time.monotonic() + 240
                while not Path(go).exists() and time.monotonic() < deadline:
                    time.sleep(
                        0.02
                    )  # in a process of Spark's, which has not the tests' own modules
            yield batch

    return work


@pytest.mark.long
def test_a_stream_read_goes_on_wherever_the_database_is_restarted(
    spark: SparkSession, server: TemporaryServer, tmp_path: Path
) -> None:
    ids = made(server.dsn, [NewMessage(b"%d" % each, f"c{each % 5}") for each in range(200)])
    table = Interrupted(server, spark, server.dsn, tmp_path, maxMessagesPerTrigger=40)
    table.run()
    assert table.ids() == ids
    assert finished(server.dsn) == {each: ["completed"] for each in ids}
    assert left(server.dsn) == []


@pytest.mark.long
def test_a_stretch_that_breaks_off_between_its_rows_is_gone_on_with(
    server: TemporaryServer,
) -> None:
    """As much as cannot lie in buffers: the reader has had some rows, and the server has others left."""
    ids = made(server.dsn, [NewMessage(os.urandom(MEBIBYTE), "big") for _ in range(40)])
    given = {"url": server.dsn, "stream": "s", "numPartitions": "1"}
    reader = StreamReader(given, default_schema(given))
    start = reader.initialOffset()
    end = reader.latestOffset(start, reader.getDefaultReadLimit())
    (part,) = reader.partitions(start, end)
    batches = reader.read(part)
    seen = next(batches).column("id").to_pylist()
    assert 0 < len(seen) < 40
    restart(server, "immediate")
    for batch in batches:
        assert batch.schema.names == [field.name for field in default_schema(given).fields]
        seen += batch.column("id").to_pylist()
    assert sorted(seen) == ids
    assert reader.latestOffset(end, reader.getDefaultReadLimit()) == end
    reader.stop()
    assert finished(server.dsn) == {each: ["completed"] for each in ids}
    assert left(server.dsn) == []


class HeldUpWriter(writers.StreamWriter):
    """Says when the tasks of a batch are done, and publishes when told to."""

    folder: Path

    def commit(self, messages: Any, batchId: int) -> None:  # noqa: N803
        (self.folder / f"staged-{batchId}").touch()
        deadline = time.monotonic() + 240
        while not (self.folder / f"go-{batchId}").exists() and time.monotonic() < deadline:
            time.sleep(0.02)  # in a process of Spark's, which has not the tests' own modules
        super().commit(messages, batchId)


class HeldUp(DataSource):
    """The format under another name, with that writer."""

    @classmethod
    def name(cls) -> str:
        return "held_up"

    def streamWriter(self, schema: Any, overwrite: bool) -> Any:  # noqa: N802
        options = {key: value for key, value in self.options.items() if key != "path"}
        writer = HeldUpWriter(
            writers.create_stream_writer(options, schema, overwrite=overwrite).job
        )
        writer.folder = Path(self.options["path"])
        return writer


@pytest.mark.long
def test_a_stream_write_publishes_each_batch_once_however_the_database_is_restarted(
    spark: SparkSession, server: TemporaryServer, tmp_path: Path
) -> None:
    """The first batch lies in a table, which outlives a stop; the second was sent along with the tasks' answers;
    the third lies in a table, which a crash empties: that query ends, and the next one does its batch again."""
    put_files(tmp_path, 3)
    spark.dataSource.register(HeldUp)
    faults = threading.Thread(target=restart_each, args=(server, tmp_path), daemon=True)
    faults.start()
    with pytest.raises(StreamingQueryException, match="rows staged in stage_"):
        write(spark, server.dsn, tmp_path)
    faults.join()
    assert numbers(server.dsn) == list(range(2_000))
    write(spark, server.dsn, tmp_path)
    assert numbers(server.dsn) == list(range(3_000))
    with Queue(server.dsn) as queue:
        queue.complete_many(queue.dequeue(limit=10_000))
    assert len(finished(server.dsn)) == 3_000
    assert left(server.dsn) == []


def restart_each(server: TemporaryServer, folder: Path) -> None:
    """Stop the server in each batch between what the tasks did and what the driver does."""
    for number, mode in enumerate(("fast", "immediate", "immediate")):
        eventually((folder / f"staged-{number}").exists, within=240)
        restart(server, mode, stopped_file=folder / f"go-{number}")


def put_files(folder: Path, count: int) -> None:
    """Files of a thousand rows each, oldest first; the second has little in each of them."""
    (folder / "in").mkdir(exist_ok=True)
    for number in range(count):
        rows = (
            json.dumps({"id": number * 1_000 + at, "more": 1 if number == 1 else 500})
            for at in range(1_000)
        )
        path = folder / "in" / f"{number}.json"
        path.write_text("\n".join(rows))
        os.utime(path, (number, number))


def write(spark: SparkSession, dsn: str, folder: Path) -> None:
    """The stream, from files: a file a batch."""
    files = spark.readStream.schema("id bigint, more int").option("maxFilesPerTrigger", 1)
    frame = files.json(str(folder / "in")).selectExpr(
        "concat('channel ', id % 10) as channel", "concat(id, repeat('.', more)) as content"
    )
    query = (
        frame.writeStream.format("held_up")
        .options(url=dsn, checkpointLocation=str(folder / "checkpoint"), path=str(folder))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


def numbers(dsn: str) -> list[int]:
    """The numbers of the rows that became messages, as often as they did."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        found = connection.execute(
            "select rtrim(convert_from(content, 'UTF8'), '.')::int from lonnymq.message order by 1"
        )
        return [row[0] for row in found]
