"""History by the ten million, made by Spark from a seed: not replayed, but alike in its columns and its shape."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lonnymq.errors import InvalidArgument

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DAY_MS = 86_400_000
START_AT = 1_700_000_000_000 // DAY_MS * DAY_MS  # a midnight of UTC
EVERY = 20  # of so many attempts the last is a second one of the message before it
DRAWS = 9
# A number from 0 to 1 that depends on the message, the seed and its own number: 53 bits of a hash.
DRAW = "(shiftrightunsigned(xxhash64(message, {seed}L, {number}), 11) / 9007199254740992)"
# Each is made of `id` and of those before it. Arrivals are four times as dense at noon as at midnight.
STEPS = {
    "again": "id % {every} = {every} - 1",
    "message": "id - cast(again as bigint)",
    "day": "floor(message * {days} / {rows})",
    "part": "message * {days} / {rows} - day",
    "tenant": "if({draw0} < 0.2, 0, cast(floor(pow({draw1}, 2) * {tenants}) as bigint))",
    "sent": "{start} + cast((day + part + 0.6 * sin(2 * pi() * part) / (2 * pi())) * {day_ms} as bigint)",
    "rush": "(1 - 0.6 * cos(2 * pi() * part)) * if(tenant = 0, 4, 1)",
    "waited": "cast(-ln(1 - {draw2}) * 400 * rush as bigint)",
    "took": "cast(least(60000, 40 / pow(1 - {draw3}, 0.67)) as bigint) + 1",
    "due": "sent + if(again, waited + took + 1000, 0)",
    "deferred": "{draw4} < 0.4",
}
COLUMNS = {
    "xid": "id + 1000",
    "message_id": "message + 1",
    "channel": "concat('tenant-', lpad(cast(tenant + 1 as string), {digits}, '0'))",
    "kind": "element_at(array('transcode', 'mail', 'invoice', 'export'), cast({draw5} * 4 as int) + 1)",
    "name": "cast(null as string)",
    "attempt": "if(again and not deferred, 2, 1)",
    "outcome": """case
        when again then if({draw6} < 0.1 and not deferred, 'dead', 'completed')
        when id % {every} <> {every} - 2 or id + 1 = {rows} then 'completed'
        when deferred then 'deferred'
        when {draw4} < 0.9 then 'failed'
        else 'expired' end""",
    "worker": "concat('worker-', lpad(cast(cast({draw7} * 16 as int) + 1 as string), 2, '0'))",
    "dequeue_at": "due",
    "created_at": "timestamp_millis(sent)",
    "dequeued_at": "timestamp_millis(due + waited)",
    "finished_at": "timestamp_millis(due + waited + took)",
    "size": "cast(exp(6 + 2 * {draw8}) as bigint)",
    "error": """case outcome
        when 'failed' then 'TimeoutError: the service did not answer within 30 s'
        when 'dead' then 'ValueError: the file has no header'
        when 'expired' then 'the lease ran out' end""",
    "headers": "cast(null as string)",
    "content": "cast(null as binary)",
}


def generate_spark_history(
    spark: SparkSession, rows: int, *, tenants: int = 1000, days: int = 30, seed: int = 1
) -> DataFrame:
    """So many rows of history, of days that each have their rush and their calm, the first tenant a noisy one.

    The same arguments give the same rows, in however many partitions. Every twentieth attempt is a second one, after
    a defer, a failure or a lease that ran out.
    """
    for name, value in (("rows", rows), ("tenants", tenants), ("days", days)):
        if value < 1:
            raise InvalidArgument(f"{name} must be at least 1, not {value}")
    known: dict[str, object] = {
        f"draw{number}": DRAW.format(seed=int(seed), number=number) for number in range(DRAWS)
    }
    known |= {"every": EVERY, "rows": rows, "tenants": tenants, "days": days, "day_ms": DAY_MS}
    known |= {"start": START_AT, "digits": len(str(tenants))}
    frame = spark.range(rows).toDF("id")
    for steps in (STEPS, COLUMNS):
        for name, expression in steps.items():
            frame = frame.selectExpr("*", f"{expression.format(**known)} as {name}")
    return frame.select(*COLUMNS)
