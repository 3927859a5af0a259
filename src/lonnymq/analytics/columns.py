"""The declared columns of all tables, to which results are cast, and moments and buckets of time as columns.

Moments are epoch milliseconds, whatever zone the session is set to.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

HISTOGRAM = "array<struct<value: bigint, attempts: bigint>>"
# Aggregates that a lake stores. `date` is the day of the attempts.
ATTEMPTS = """
  source string, date date, message_id long, channel string, attempt int, outcome string, size long, error string,
  created_at long, ready_at long, dequeued_at long, finished_at long, wait_ms long, service_ms long
"""
FLOW = """
  source string, date date, channel string, begins_at timestamp,
  arrivals long, due long, due_ms long, begun long, begun_ms long, ended long, ended_ms long
"""
OUTCOMES_HOURLY = """
  source string, date date, channel string, begins_at timestamp,
  attempts long, completed long, deferred long, failed long, expired long, dead long, retries long, tries long,
  waits long, wait_ms long, wait_p50 long, wait_p95 long, wait_p99 long, wait_most long,
  service_ms long, service_p50 long, service_p95 long, service_p99 long, service_most long,
  size long, size_p50 long, size_p95 long, size_most long
"""
HOURLY_HISTOGRAMS = (
    f"source string, date date, begins_at timestamp, waits {HISTOGRAM}, services {HISTOGRAM}"
)
HISTOGRAMS = f"source string, date date, channel string, waits {HISTOGRAM}, services {HISTOGRAM}"
STARVATION = """
  source string, date date, channel string, begins_at timestamp, ends_at timestamp, length_ms long,
  running long, others long, windows long
"""
ERRORS = """
  source string, date date, channel string, error string, attempts long, dead long,
  first_at timestamp, last_at timestamp, sample string
"""
# Tables that are computed from the aggregates on request.
STARVED = f"{STARVATION}, max_concurrency int, min_interval_ms long, is_held boolean"
CHANNEL_HOURS = """
  source string, channel string, begins_at timestamp,
  arrivals long, due long, begun long, ended long,
  waiting_before long, waiting_after long, waiting_mean double, running_mean double,
  completed long, deferred long, failed long, expired long, dead long, retries long, tries_mean double,
  defer_rate double, fail_rate double, expire_rate double, dead_rate double,
  wait_mean double, wait_p50 long, wait_p95 long, wait_p99 long, wait_most long,
  service_mean double, service_p50 long, service_p95 long, service_p99 long, service_most long,
  size long, size_p50 long, size_p95 long, size_most long,
  max_concurrency int, min_interval_ms long, burst int, weight int, paused boolean,
  concurrency_used double, rate_used double
"""
FAIRNESS = """
  source string, begins_at timestamp, backlogged long, held long, competing long, jain double, least double, most double
"""
NOISY_HOURS = """
  source string, begins_at timestamp, channels long, noisy long, noisy_work long, quiet_work long,
  noisy_wait_p95 long, quiet_wait_p95 long
"""
NOISY_NEIGHBOURS = """
  source string, channel string, hours long, share double, most_share double,
  quiet_wait_p95 long, otherwise_wait_p95 long
"""
BACKLOG = """
  source string, begins_at timestamp, arrivals long, due long, begun long, ended long, waiting_after long,
  waiting_mean double, running_mean double, channels_waiting long
"""
LIMITS = """
  source string, channel string, max_concurrency int, min_interval_ms long, burst int,
  hours long, hours_at_concurrency long, hours_at_rate long,
  concurrency_used_most double, rate_used_most double, waiting_meanwhile double
"""
TENANTS = """
  source string, channel string, arrivals long, attempts long, completed long, deferred long, failed long,
  expired long, dead long, retries long, size long,
  wait_p50 long, wait_p95 long, wait_p99 long, wait_most long,
  service_p50 long, service_p95 long, service_p99 long, service_most long,
  waiting_mean double, waiting_most long, running_mean double, concurrency_used_most double, rate_used_most double
"""
TOTALS = """
  source string, begins_at timestamp, attempts long, wait_p50 long, wait_p95 long, wait_p99 long,
  service_p50 long, service_p95 long, service_p99 long
"""
FORECAST = """
  source string, days long, horizon_days int, last_day date, due_a_day double, growth_a_day double,
  expected double, error double, tried long, capacity_a_day double, is_capacity_seen boolean, full_on date
"""
SECOND_MS = 1_000
HOUR_MS = 3_600_000
DAY_MS = 86_400_000


def parse_schema(columns: str) -> StructType:
    """Declared columns as a Spark schema."""
    schema = StructType.fromDDL(columns)
    assert isinstance(schema, StructType)  # noqa: S101 - columns are never a single type
    return schema


def select_declared(frame: DataFrame, columns: str) -> DataFrame:
    """Select the declared columns of a frame, with their types."""
    fields = parse_schema(columns).fields
    return frame.select(*(F.col(each.name).cast(each.dataType) for each in fields))


def bucket_start(moment: Column, every_ms: int) -> Column:
    """Where the bucket begins that a moment lies in; before 1970 as well."""
    return moment - F.pmod(moment, F.lit(every_ms))


def to_date(moment: Column) -> Column:
    """The UTC day of epoch milliseconds."""
    return F.date_from_unix_date((bucket_start(moment, DAY_MS) / DAY_MS).cast("int"))
