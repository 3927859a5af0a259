"""A declarative pipeline: messages of the queue become a table, and large orders become messages again.

    spark-pipelines run --spec examples/pipeline/spark-pipeline.yaml

The DSN of the queue is in LONNYMQ_DSN.
"""

from pyspark import pipelines
from pyspark.sql import DataFrame, SparkSession, functions

spark = SparkSession.active()


@pipelines.table
def orders() -> DataFrame:
    """The orders of all tenants: a streaming table, which claims and acknowledges messages."""
    source = spark.readStream.format("lonnymq").option("stream", "orders")
    messages = source.option("subscribePattern", "tenant-.*").load("messages")
    return messages.selectExpr(
        "id",
        "channel as tenant",
        "created_at",
        "cast(get_json_object(cast(content as string), '$.amount') as int) as amount",
    )


@pipelines.materialized_view
def totals() -> DataFrame:
    """The sum of each tenant."""
    sums = functions.sum("amount").alias("amount")
    return spark.read.table("orders").groupBy("tenant").agg(sums)


pipelines.create_sink("reviews", "lonnymq")


@pipelines.append_flow(target="reviews")
def review() -> DataFrame:
    """A message for each large order."""
    large = spark.readStream.table("orders").where("amount >= 100")
    return large.selectExpr(
        "'reviews' as channel", "cast(id as string) as content", "'review' as kind"
    )
