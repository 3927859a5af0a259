from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from spark.killed_writer import write_stream
from spark.test_write_deaths import numbers, put_files

LOADS = "select app, version, created from lonnymq.load order by version"


def test_each_batch_of_a_stream_is_published_once_by_the_query_s_id(
    spark: SparkSession, connect, dsn_18: str, tmp_path: Path
) -> None:
    put_files(tmp_path, 2)
    write_stream(spark, dsn_18, tmp_path)
    connection = connect(dsn_18)
    assert numbers(connection) == list(range(2_000))
    loads = connection.execute(LOADS).fetchall()
    assert [load[1:] for load in loads] == [(0, 1_000), (1, 1_000)]
    assert {load[0][:6] for load in loads} == {"query "}
    (
        tmp_path / "checkpoint" / "commits" / "1"
    ).unlink()  # as if the driver had died before it wrote that down
    (tmp_path / "checkpoint" / "commits" / ".1.crc").unlink()
    put_files(tmp_path, 3)
    write_stream(spark, dsn_18, tmp_path)
    assert numbers(connection) == list(range(3_000))


def test_a_stream_has_no_name_but_the_id_of_its_query(
    spark: SparkSession, dsn_18: str, tmp_path: Path
) -> None:
    """With a name of the user's, a new checkpoint began at batch 0 again, and its batches were left out."""
    put_files(tmp_path, 1)
    with pytest.raises(
        StreamingQueryException, match="unknown option for a stream write: txnAppId"
    ):
        write_stream(spark, dsn_18, tmp_path, txnAppId="photos")


def test_a_stream_that_would_write_everything_again_is_refused(
    spark: SparkSession, dsn_18: str, tmp_path: Path
) -> None:
    put_files(tmp_path, 1)
    counted = spark.readStream.schema("id bigint").json(str(tmp_path / "in")).groupBy("id").count()
    frame = counted.selectExpr("'a' as channel", "cast(count as string) as content")
    stream = frame.writeStream.format("lonnymq").outputMode("complete").trigger(availableNow=True)
    query = stream.options(url=dsn_18, checkpointLocation=str(tmp_path / "checkpoint")).start()
    with pytest.raises(StreamingQueryException, match="you can only append to a queue"):
        query.awaitTermination()
