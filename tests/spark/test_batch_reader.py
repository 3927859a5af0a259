import re
import subprocess
import sys
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import reduce

import psycopg
import pytest
from pyspark.errors import AnalysisException, PythonException
from pyspark.sql import DataFrame
from pyspark.sql.functions import lit
from pyspark.sql.types import LongType, StructField, StructType

import lonnymq
from lonnymq.spark.options import read_options
from lonnymq.spark.read.batch_reader import BatchReader, ReadPartition
from lonnymq.spark.read.snapshot_holder import start_snapshot_holder
from server_copies import dump, restore, run
from support import eventually, first_quick

HOLDERS = (
    "select count(*) from pg_stat_activity where application_name like 'lonnymq read%snapshot'"
)
READERS = """
    select count(*) from pg_stat_activity
    where application_name = 'lonnymq read' and datname = current_database()
"""
FINISHED = """
    insert into lonnymq.history (message_id, created_at, dequeue_at, dequeued_at, finished_at, size, attempt, outcome,
      channel, kind, content)
    select i, %(at)s + i, i - 500, %(at)s + i, %(at)s + i, 3, 1, 'completed', 'channel ' || i %% 10, 'kind',
      convert_to(repeat('x', 100), 'UTF8')
    from generate_series(1, %(rows)s) i
"""
MOVE = """
    with gone as (
      delete from lonnymq.message
      where id = any (array(select id from lonnymq.message limit 50 for update skip locked))
      returning content
    )
    insert into lonnymq.message (channel, content) select 'b', content from gone
"""
AT = datetime(2030, 5, 1, tzinfo=UTC)


def add_history(connection: psycopg.Connection, rows: int, *, at: datetime = AT) -> None:
    connection.execute(FINISHED, {"at": int(at.timestamp() * 1000), "rows": rows})


@pytest.fixture
def queue(dsn_18: str) -> lonnymq.Queue:
    return lonnymq.Queue(dsn_18)


def test_messages_are_read_as_they_are(queue_format, queue: lonnymq.Queue) -> None:
    queue.channel("acme").create(
        b"\x00\xff", key="one", kind="video", headers={"trace": "ä"}, dequeue_at=-7
    )
    queue.dequeue(worker="me")
    queue.channel("bloom").create(b"")
    first, second = queue_format.read().load("messages").orderBy("dequeue_at").collect()
    assert (first.channel, first.content, first.key, first.kind, first.dequeue_at) == (
        *("acme", b"\x00\xff", "one", "video", -7),
    )
    assert (first.headers, first.leased, first.attempt, first.worker) == (
        *('{"trace": "ä"}', True, 1, "me"),
    )
    assert first.lease_until > first.dequeued_at
    assert abs(first.created_at - datetime.now(UTC).replace(tzinfo=None)) < timedelta(hours=1)
    assert (second.channel, second.content, second.leased, second.lease_until) == (
        *("bloom", b"", False, None),
    )


def test_reading_consumes_nothing(queue_format, queue: lonnymq.Queue) -> None:
    queue.channel("acme").create_many([b"1", b"2"])
    assert queue_format.read().load("messages").count() == 2
    assert len(queue.dequeue(limit=10)) == 2


def test_history_is_read_with_the_moment_of_each_attempt(
    queue_format, queue: lonnymq.Queue
) -> None:
    queue.channel("acme").create(b"1", kind="video")
    [message] = queue.dequeue()
    message.complete()
    [row] = queue_format.read(table="history").load().collect()
    assert (row.channel, row.kind, row.outcome, row.attempt, row.size) == (
        *("acme", "video", "completed", 1, 1),
    )
    assert row.created_at <= row.dequeued_at <= row.finished_at
    assert row.xid > 0


def test_channels_are_read_with_their_state_and_limits(queue_format, queue: lonnymq.Queue) -> None:
    queue.channel("acme").set(max_concurrency=2, retry_delays_ms=[1, 2])
    queue.channel("bloom").create(b"1")
    read = queue_format.read().schema(
        "state string, max_concurrency int, retry_delays_ms array<bigint>"
    )
    assert [tuple(row) for row in read.load("channels").collect()] == [
        ("idle", 2, [1, 2]),
        ("ready", None, [1000, 5000, 30000, 120000, 600000]),
    ]


@pytest.mark.long
def test_more_channels_than_one_call_answers_are_all_read(
    queue_format, connect, dsn_18: str
) -> None:
    connect(dsn_18).execute("""
        insert into lonnymq.channel_setting
          (name, burst, when_full, weight, max_attempts, retry_delays_ms, retry_jitter)
        select 'channel ' || i, 1, 'reject', 1, 5, '{1}', 0 from generate_series(1, 20001) i
    """)
    channels = queue_format.read().schema("channel string").load("channels")
    assert channels.distinct().count() == channels.count() == 20_001


def test_a_schema_of_the_user_s_chooses_columns_and_their_order(
    queue_format, queue: lonnymq.Queue
) -> None:
    queue.channel("acme").create(b"1")
    read = queue_format.read().schema("content binary, channel string").load("messages")
    assert [tuple(row) for row in read.collect()] == [(b"1", "acme")]


def test_without_content_its_column_is_not_there(queue_format) -> None:
    columns = queue_format.read(includeContent=False).load("history").columns
    assert "content" not in columns
    assert "size" in columns


@pytest.mark.parametrize(
    ("schema", "output"),
    [
        ("colour string", r"messages has no column colour: the columns are id, channel"),
        ("id string", r"the column id of messages is bigint, not string"),
    ],
)
def test_a_schema_that_does_not_fit_is_refused(queue_format, schema: str, output: str) -> None:
    with pytest.raises(AnalysisException, match=output):
        queue_format.read().schema(schema).load("messages").collect()


@pytest.mark.parametrize("table", first_quick("history", "messages"))
def test_every_row_is_read_once_however_many_tasks_read(
    queue_format, connect, dsn_18: str, queue: lonnymq.Queue, table: str
) -> None:
    queue.channel("acme").copy(b"x" * 100 for _ in range(2_000))
    add_history(connect(dsn_18), 2_000)
    frame = queue_format.read(numPartitions=5).load(table)
    key = "id" if table == "messages" else "message_id"
    assert frame.rdd.getNumPartitions() == 5
    assert frame.select(key).distinct().count() == frame.count() == 2_000


@pytest.mark.long
def test_all_tasks_read_one_state_while_others_write(
    queue_format, queue: lonnymq.Queue, dsn_18: str
) -> None:
    """Writers move one message from a channel to another in one transaction: a state has as many as ever."""
    queue.channel("a").copy(b"x" * 500 for _ in range(3_000))
    stop = threading.Event()

    def move() -> None:
        with psycopg.connect(dsn_18) as connection:
            while not stop.is_set():
                connection.execute(MOVE)
                connection.commit()

    movers = [threading.Thread(target=move) for _ in range(2)]
    for mover in movers:
        mover.start()
    try:
        for _ in range(3):
            frame = queue_format.read(numPartitions=4).schema("id bigint").load("messages")
            assert frame.distinct().count() == frame.count() == 3_000
    finally:
        stop.set()
        for mover in movers:
            mover.join()


def test_history_that_came_after_the_first_look_is_not_in_the_second(
    queue_format, connect, dsn_18: str
) -> None:
    connection = connect(dsn_18)
    add_history(connection, 500)
    frame = queue_format.read(numPartitions=2).load("history")
    assert frame.count() == 500
    add_history(connection, 10)
    assert frame.count() == 500
    assert queue_format.read().load("history").count() == 510


def test_history_of_a_restored_database_is_read_whole(queue_format, dsn_18: str) -> None:
    """Its new rows have positions that no transaction's id comes near."""
    add_history(psycopg.connect(dsn_18, autocommit=True), 10)
    dumped = dump(dsn_18)
    run(dsn_18, "drop schema lonnymq cascade")
    restore(dumped, dsn_18)
    with lonnymq.Queue(dsn_18) as queue:
        queue.create("acme", b"x")
        queue.dequeue()[0].complete()
    assert queue_format.read().load("history").count() == 11


def test_a_transaction_that_commits_while_history_is_read_is_not_read(
    queue_format, connect, dsn_18: str
) -> None:
    add_history(connect(dsn_18), 500)
    late = connect(dsn_18, autocommit=False)
    add_history(late, 7)
    frame = queue_format.read(numPartitions=2).load("history")
    assert frame.count() == 500
    late.commit()
    assert frame.count() == 500


@pytest.mark.long
def test_parts_that_are_read_at_different_times_are_one_state(
    queue: lonnymq.Queue, connect, dsn_18: str
) -> None:
    """The same parts without their snapshot are not: the check can fail."""
    queue.channel("acme").copy(b"x" * 500 for _ in range(1_000))
    connection = connect(dsn_18)
    given = {"url": dsn_18, "path": "messages", "numpartitions": "4"}
    reader = BatchReader(read_options(given, "read"), StructType([StructField("id", LongType())]))

    def plan() -> list[ReadPartition]:
        parts = reader.partitions()
        return [part for part in parts if isinstance(part, ReadPartition)]

    parts = plan()
    assert len(parts) == 4

    def read(part: ReadPartition) -> list[int]:
        found = [each for batch in reader.read(part) for each in batch.column("id").to_pylist()]
        connection.execute("delete from lonnymq.message")
        return found

    assert sorted(each for part in parts for each in read(part)) == list(range(1, 1_001))
    queue.channel("acme").copy(b"x" * 500 for _ in range(1_000))
    bare = [replace(part, held=None) for part in plan()]
    assert sum(len(read(part)) for part in bare) < 1_000


def test_a_dataframe_whose_snapshot_is_gone_says_so(
    queue_format, queue: lonnymq.Queue, connect, dsn_18: str
) -> None:
    queue.channel("acme").copy(b"x" * 100 for _ in range(1_000))
    frame = queue_format.read(numPartitions=2).load("messages")
    assert frame.count() == 1_000
    watcher = connect(dsn_18)
    watcher.execute(HOLDERS.replace("count(*)", "pg_terminate_backend(pid)"))
    eventually(lambda: watcher.execute(HOLDERS).fetchone() == (0,))
    with pytest.raises(
        PythonException, match=r"snapshot of this DataFrame has expired: load the DataFrame again"
    ):
        frame.count()


@pytest.mark.long
def test_a_snapshot_holder_ends_when_nobody_has_read_for_a_while(connect, dsn_18: str) -> None:
    watcher = connect(dsn_18)
    with psycopg.connect(dsn_18, application_name="lonnymq read x"):
        start_snapshot_holder(dsn_18, name="lonnymq read x", timeout_ms=1_000)
        older = f"{HOLDERS} and clock_timestamp() - backend_start > interval '3 seconds'"
        eventually(lambda: watcher.execute(older).fetchone() == (1,), within=60)
    eventually(lambda: watcher.execute(HOLDERS).fetchone() == (0,), within=60)


@pytest.mark.long
def test_tasks_keep_their_connections_for_the_next_ones(queue_format, connect, dsn_18: str) -> None:
    watcher = connect(dsn_18)
    add_history(watcher, 10)
    for _ in range(8):
        assert queue_format.read(numPartitions=1).load("history").count() == 10
    row = watcher.execute(READERS).fetchone()
    assert row is not None
    assert 1 <= row[0] <= 4


def test_a_small_read_keeps_no_snapshot(
    queue_format, queue: lonnymq.Queue, connect, dsn_18: str
) -> None:
    queue.channel("acme").create(b"1")
    frame = queue_format.read().load("messages")
    assert frame.rdd.getNumPartitions() == 1
    assert frame.count() == 1
    assert connect(dsn_18).execute(HOLDERS).fetchone() == (0,)
    queue.channel("acme").create(b"2")
    assert frame.count() == 2


@pytest.mark.long
def test_a_table_that_was_rewritten_is_not_read_half(queue_format, connect, dsn_18: str) -> None:
    connection = connect(dsn_18)
    add_history(connection, 500)
    frame = queue_format.read(numPartitions=2).load("history")
    assert frame.count() == 500
    connection.execute("vacuum full lonnymq.history_other")
    with pytest.raises(PythonException, match=r"rewrote or dropped the table during the read"):
        frame.count()


CONDITIONS = {
    "channel = 'channel 3'": 100,
    "channel in ('channel 3', 'it''s')": 100,
    "kind = 'other'": 0,
    "finished_at >= timestamp'2030-05-01 00:00:00.900'": 101,
    "finished_at > timestamp'2030-05-01 00:00:00.900'": 100,
    "finished_at < timestamp'2030-05-01 00:00:00.0105'": 10,
    "finished_at = timestamp'2030-05-01 00:00:00.0105'": 0,
    "dequeue_at < -400 and channel = 'channel 1'": 10,
    "size > 2 and outcome = 'completed'": 1_000,
}


@pytest.mark.parametrize("pushed", [True, False])
def test_filters_that_are_pushed_down_give_what_spark_s_would(
    queue_format, connect, dsn_18: str, pushed: bool
) -> None:
    add_history(connect(dsn_18), 1_000)
    history = queue_format.read(pushDownPredicate=pushed).load("history")
    found = [
        history.where(condition).select(lit(condition).alias("condition"))
        for condition in CONDITIONS
    ]
    counts = reduce(DataFrame.union, found).groupBy("condition").count().collect()
    assert {row[0]: row[1] for row in counts} == {
        condition: rows for condition, rows in CONDITIONS.items() if rows
    }


def test_a_filter_that_is_pushed_down_reads_less(queue_format, connect, dsn_18: str) -> None:
    connection = connect(dsn_18)
    for day in (1, 2):
        at = int((AT + timedelta(days=day)).timestamp() * 1000)
        name = (AT + timedelta(days=day)).strftime("history_%Y%m%d")
        connection.execute(
            f"create table lonnymq.{name} partition of lonnymq.history for values from ({at}) to ({at + 86_400_000})"
        )
        add_history(connection, 300, at=AT + timedelta(days=day))
    frame = queue_format.read(pushDownPredicate=True).load("history")
    later = frame.where("finished_at >= timestamp'2030-05-03 00:00:00'")
    assert later.count() == 300
    connection.execute("drop table lonnymq.history_20300502")  # a day that is not looked into
    assert later.count() == 300


def test_a_channel_s_messages_are_found_by_index_without_a_snapshot(
    queue_format, queue: lonnymq.Queue
) -> None:
    queue.channel("acme").copy(b"x" * 100 for _ in range(1_000))
    queue.channel("bloom").create(b"1")
    frame = queue_format.read(pushDownPredicate=True, numPartitions=4).load("messages")
    found = frame.where("channel = 'bloom'")
    assert found.count() == 1
    assert found.rdd.getNumPartitions() == 1


def test_no_plan_shows_the_address(spark, dsn_18: str, capsys) -> None:
    url = re.sub("postgres@", "postgres:verysecret@", dsn_18)
    frame = spark.read.format("lonnymq").options(url=url, password="moresecret").load("messages")
    frame.count()
    frame.explain("extended")
    assert "secret" not in capsys.readouterr().out
    assert "secret" not in frame._jdf.queryExecution().toString()


BAD = {
    "unknown option": (
        {"colour": "red"},
        "messages",
        r"unknown option .*: colour\. The known options are ",
    ),
    "no such table": ({}, "letters", r"the option path must be one of messages, history, channels"),
    "nothing to read": ({}, None, r"choose a table to read, such as \.load\(\"messages\"\)"),
    "schema not installed": (
        *({"schema": "elsewhere"}, "messages", r"no queue is installed in the schema elsewhere"),
    ),
    "unreachable": (
        *({"url": "postgresql://me:verysecret@127.0.0.1:1/x"}, "messages", "cannot be reached"),
    ),
}


@pytest.mark.parametrize(("options", "table", "output"), BAD.values(), ids=BAD)
def test_what_cannot_be_read_is_told_on_the_driver(
    spark, dsn_18: str, options: dict[str, str], table: str | None, output: str
) -> None:
    read = spark.read.format("lonnymq").options(**{"url": dsn_18, **options})
    with pytest.raises(AnalysisException, match=output) as caught:
        read.load(table).collect()
    assert "verysecret" not in str(caught.value)


def test_the_format_is_found_without_being_registered(spark, queue_format) -> None:
    fresh = spark.newSession()
    assert (
        fresh.read.format("lonnymq").option("url", queue_format.dsn).load("messages").count() == 0
    )


@pytest.mark.long
def test_a_snapshot_holder_ends_with_the_spark_that_it_was_started_for(
    connect, dsn_18: str
) -> None:
    """It watches the parent of who starts it: here a shell, which ends."""
    call = f"start_snapshot_holder({dsn_18!r}, name='lonnymq read x', timeout_ms=600000)"
    start = f"from lonnymq.spark.read.snapshot_holder import start_snapshot_holder; print({call})"
    shell = subprocess.Popen(
        ["sh", "-c", '"$0" -c "$1"; read wait', sys.executable, start],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert shell.stdin
    assert shell.stdout
    assert re.fullmatch(r"[0-9A-F-]+\n", shell.stdout.readline())
    watcher = connect(dsn_18)
    assert watcher.execute(HOLDERS).fetchone() == (1,)
    shell.communicate("\n")
    eventually(lambda: watcher.execute(HOLDERS).fetchone() == (0,), within=60)
