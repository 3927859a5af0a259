"""The queue in SQL: `create temporary view … using lonnymq`, `insert into`, `select`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

import lonnymq

Sql = Callable[..., list[tuple[object, ...]]]


@pytest.fixture
def sql(spark: SparkSession) -> Iterator[Sql]:
    yield lambda text: [tuple(row) for row in spark.sql(text).collect()]
    for table in spark.catalog.listTables():
        spark.sql(f"drop {'view' if table.isTemporary else 'table'} {table.name}")


def stored(dsn: str, schema: str = "lonnymq") -> list[tuple[object, ...]]:
    query = f"select channel, convert_from(content, 'UTF8'), kind from {schema}.message order by id"
    with psycopg.connect(dsn) as connection:
        return connection.execute(query).fetchall()


def test_a_view_is_written_and_read(sql: Sql, dsn_18: str) -> None:
    lonnymq.Queue(dsn_18, schema="other").install()
    columns = "(channel string, content binary, kind string)"
    for view, schema in (("orders", "lonnymq"), ("others", "other")):
        options = f"(url '{dsn_18}', schema '{schema}', table 'messages')"
        sql(f"create temporary view {view} {columns} using lonnymq options {options}")
    sql("insert into orders (channel, content) values ('a', binary('1'))")
    sql("insert into orders by name select 'k' as kind, 'b' as channel, binary('2') as content")
    both = [("a", "1", None), ("b", "2", "k")]
    assert stored(dsn_18) == both
    assert sql("select channel, string(content), kind from orders order by channel") == both
    sql("insert into others select * from orders order by channel")
    assert (stored(dsn_18), stored(dsn_18, "other")) == (both, both)


def test_rows_are_written_into_a_table_whose_url_is_named(sql: Sql, dsn_18: str) -> None:
    """Spark 4.3 keeps the options of a table in its catalog to itself."""
    sql(f"create table q (channel string, content string) using lonnymq options (url '{dsn_18}')")
    with pytest.raises(AnalysisException, match="the option url is missing"):
        sql("insert into q values ('a', '1')")
    sql(f"insert into q with (url = '{dsn_18}') values ('a', '1')")
    assert stored(dsn_18) == [("a", "1", None)]


CATALOG = """
import sys, lonnymq.spark
config = {"spark.ui.enabled": "false", "spark.sql.warehouse.dir": sys.argv[1]}
spark = lonnymq.spark.session("local[1]", config={**config, "spark.driver.memory": "512m"})
spark.sql("create table q (channel string, content binary) using lonnymq")
spark.sql("insert into q values ('a', binary('1')), ('b', binary('2'))")
print(spark.sql("select channel, string(content) from q order by channel").collect())
spark.stop()
"""


def test_a_table_of_the_catalog_is_the_queue_that_the_environment_names(
    dsn_18: str, tmp_path: Path
) -> None:
    environment = {**os.environ, "LONNYMQ_DSN": dsn_18}
    command = [sys.executable, "-c", CATALOG, str(tmp_path)]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=tmp_path)
    assert ran.stdout.splitlines()[:1] == [
        "[Row(channel='a', content='1'), Row(channel='b', content='2')]"
    ], ran.stderr
    assert stored(dsn_18) == [("a", "1", None), ("b", "2", None)]


BAD = {
    "a table": (
        "create table q {} (url '{url}')",
        "name the columns of a table in Spark's catalog",
    ),
    "a table of rows": (
        "create table q {} (url '{url}') as select 'a' as channel, '1' as content",
        "create temporary view",
    ),
    "unknown option": (
        "create temporary view q {} (url '{url}', colour 1)",
        "unknown option for a read or stream read: colour",
    ),
    "no url": ("create temporary view q {} (table 'messages')", "the option url is missing"),
}


@pytest.mark.parametrize(("statement", "output"), BAD.values(), ids=BAD)
def test_an_error_is_ours_and_takes_one_line(
    sql: Sql, dsn_18: str, statement: str, output: str
) -> None:
    with pytest.raises(AnalysisException) as caught:
        sql(statement.format("using lonnymq options", url=dsn_18))
    first = str(caught.value).splitlines()[0]
    assert "lonnymq.errors.InvalidArgument: " in first
    assert output in first
    assert "Traceback" not in str(caught.value)
