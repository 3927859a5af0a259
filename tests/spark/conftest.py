"""One Spark session for the whole run: under xdist all tests of this folder go to one worker (`--dist loadgroup`)."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, DataFrameReader, DataFrameWriter, SparkSession

import lonnymq.spark
from support import only_here

HERE = Path(__file__).parent
# A session takes 6 s to start and its first query 4 s: no UI, two cores, small shuffles.
CONFIG = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.sql.streaming.stopTimeout": "60s",
}


@pytest.hookimpl(tryfirst=True)  # before xdist looks at groups, wherever it is started
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    if "PYTEST_XDIST_WORKER" in os.environ:  # the folder above is then that of the whole run
        only_here(tmp_path_factory.getbasetemp().parent, "spark")
    folder = tmp_path_factory.mktemp("spark")
    config = {**CONFIG, "spark.local.dir": folder, "spark.sql.warehouse.dir": folder / "warehouse"}
    session = lonnymq.spark.session("local[2]", app="lonnymq tests", config=config)
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


class Format:
    """Readers and writers of the format for one database."""

    def __init__(self, spark: SparkSession, dsn: str) -> None:
        self.spark, self.dsn = spark, dsn

    def read(self, **options: Any) -> DataFrameReader:
        return self.spark.read.format("lonnymq").options(url=self.dsn, **options)

    def write(self, frame: DataFrame, **options: Any) -> DataFrameWriter:
        return frame.write.format("lonnymq").mode("append").options(url=self.dsn, **options)


@pytest.fixture
def queue_format(spark: SparkSession, dsn_18: str) -> Format:
    return Format(spark, dsn_18)
