"""`set_outcomes`: an outcome counts if the rows came whole, and if the batch was not tried again after it."""

from __future__ import annotations

import time
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import lonnymq.spark
from lonnymq import NewMessage, Queue
from spark.streams import Table, finished, left
from support import message_id

pytestmark = pytest.mark.timeout(900)  # a Spark on a machine that may be busy
ROWS_PER_BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"


def test_rows_that_end_early_set_no_outcome(spark: SparkSession, connect, dsn_18: str) -> None:
    with Queue(dsn_18) as queue:
        queue.create_many([NewMessage(b"x", "a")] * 2)
        leased = [(each.id, str(each.token)) for each in queue.dequeue(limit=2)]

    def fail_halfway(batches):
        for batch in batches:
            many = {"outcome": "dead", "error": "x" * 500_000}  # more than a buffer of Spark's
            for row in batch.to_pylist():
                yield pa.RecordBatch.from_pylist([{**row, **many}])
        time.sleep(3)  # by now the first row has arrived where it is used
        raise RuntimeError("the input ends early")

    frame = spark.createDataFrame(leased, "id bigint, token string").coalesce(1)
    rows = frame.mapInArrow(fail_halfway, "id bigint, token string, outcome string, error string")
    spark.conf.set(ROWS_PER_BATCH, 1)
    try:
        with pytest.raises(PySparkException, match="the input ends early"):
            lonnymq.spark.set_outcomes(rows, url=dsn_18)
    finally:
        spark.conf.unset(ROWS_PER_BATCH)
    assert connect(dsn_18).execute("select count(*) from lonnymq.claim_outcome").fetchone() == (0,)


def test_a_batch_that_is_tried_again_begins_without_outcomes(
    spark: SparkSession, dsn_18: str, tmp_path: Path
) -> None:
    with Queue(dsn_18) as queue:
        made = [message_id(each) for each in queue.create_many([NewMessage(b"x", "a")] * 4)]

    class Judged(Table):
        is_first = True

        def write(self, batch, number):
            listed = batch.select("id", "token").orderBy("id").collect()
            dead = listed if self.is_first else listed[:1]
            for row in dead:  # one by one: a later call of the same try takes nothing back
                rows = [{**row.asDict(), "outcome": "dead"}]
                assert lonnymq.spark.set_outcomes(rows, url=self.dsn) == {"decided": 1}
            batch.count()
            if self.is_first:
                raise RuntimeError("the service is down")

    table = Judged(spark, dsn_18, tmp_path)
    with pytest.raises(PySparkException, match="the service is down"):
        table.run()
    table.is_first = False
    table.run()
    ended = {each: ["completed"] for each in made}
    assert finished(dsn_18) == {**ended, made[0]: ["dead"]}
    assert left(dsn_18) == []
