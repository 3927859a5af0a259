"""The streaming source, asked as Spark asks it, without a Spark: what it claims, gives, settles and rejects."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows
from pyspark.sql.types import LongType, StringType, StructField, StructType

from lonnymq import NewMessage, Queue
from lonnymq.embedded_postgres import temporary
from lonnymq.errors import InvalidArgument, NotInstalled, StreamFenced, Unreachable
from lonnymq.spark.stream.outcomes import set_outcomes
from lonnymq.spark.stream.reader import ClaimLost, StreamReader, default_schema
from support import eventually, fetch_row, message_id

ALL = ReadAllAvailable()
Make = Callable[..., "Query"]


class Query:
    """What Spark does with a source, step by step."""

    def __init__(self, dsn: str, columns: StructType | None = None, **options: object) -> None:
        given = {"url": dsn, "stream": "s", **{key: str(each) for key, each in options.items()}}
        self.reader = StreamReader(given, columns or default_schema(given))

    def batch(self, start: Any = None, limit: Any = None) -> tuple[Any, list[dict[str, Any]]]:
        """Plan and read one batch: where it ends, and its rows."""
        start = start or self.reader.initialOffset()
        end = self.reader.latestOffset(start, limit or self.reader.getDefaultReadLimit())
        return end, self.rows(start, end) if end != start else []

    def rows(self, start: Any, end: Any) -> list[dict[str, Any]]:
        parts = self.reader.partitions(start, end)
        return [
            row for part in parts for batch in self.reader.read(part) for row in batch.to_pylist()
        ]


@pytest.fixture
def query(dsn_18: str) -> Iterator[Make]:
    opened: list[Query] = []

    def make(columns: StructType | None = None, **options: object) -> Query:
        opened.append(Query(dsn_18, columns, **options))
        return opened[-1]

    yield make
    for each in opened:
        each.reader.stop()


@pytest.fixture
def queue(dsn_18: str) -> Iterator[Queue]:
    with Queue(dsn_18) as queue:
        yield queue


def history(queue: Queue) -> list[tuple[str, str | None]]:
    """How the attempts that ended did, and whose they were."""
    rows = queue.history_read(upto=queue.history_horizon().upto)
    return [(row.outcome, row.worker) for row in rows]


def test_a_batch_has_the_messages_with_what_is_known_of_them(queue: Queue, query: Make) -> None:
    made = queue.create("acme", b"hello", kind="greeting", key="one", headers={"a": 1})
    _, [row] = query().batch()
    assert row["id"] == message_id(made)
    known = ("channel", "kind", "key", "attempt", "headers", "content")
    assert [row[name] for name in known] == ["acme", "greeting", "one", 1, '{"a": 1}', b"hello"]
    assert row["created_at"].tzinfo is not None


def test_a_batch_is_settled_when_the_next_one_is_asked_for(queue: Queue, query: Make) -> None:
    queue.create_many([b"1", b"2"], channel="a")
    stream = query()
    end, rows = stream.batch()
    assert len(rows) == 2
    assert queue.stats().leased == 2
    assert stream.batch(end) == (end, [])
    assert history(queue) == [("completed", "s")] * 2


def test_a_batch_can_be_read_again(queue: Queue, query: Make) -> None:
    queue.create_many([b"%d" % each for each in range(50)], channel="a")
    stream = query(numPartitions=3)
    start = stream.reader.initialOffset()
    end, rows = stream.batch(start)
    assert len(stream.reader.partitions(start, end)) == 3
    assert stream.rows(start, end) == rows


def test_a_claim_that_no_batch_was_given_comes_first(queue: Queue, query: Make) -> None:
    queue.create("a", b"1")
    start = query().reader.initialOffset()
    claimed = query().batch(start)[0]
    queue.create("a", b"2")
    end, rows = query().batch(start)
    assert (end, [row["content"] for row in rows]) == (claimed, [b"1"])
    end, rows = query().batch(end)
    assert [row["content"] for row in rows] == [b"2"]


def test_a_batch_that_was_under_way_is_read_again_by_the_next_driver(
    queue: Queue, query: Make
) -> None:
    queue.create_many([b"1", b"2"], channel="a")
    start = query().reader.initialOffset()
    end, rows = query().batch(start)
    assert query().rows(start, end) == rows


def test_a_batch_that_is_settled_has_nothing_to_give(queue: Queue, query: Make) -> None:
    queue.create("a", b"1")
    stream = query()
    start = stream.reader.initialOffset()
    end, _ = stream.batch(start)
    stream.batch(end)
    assert query().rows(start, end) == []


def test_a_driver_that_comes_back_is_refused(queue: Queue, query: Make) -> None:
    queue.create_many([b"1", b"2"], channel="a")
    old, new = query(maxMessagesPerTrigger=1), query()
    end, _ = old.batch()
    start = new.reader.initialOffset()
    assert len(new.batch(start)[1]) == 1
    with pytest.raises(StreamFenced, match="taken over by another reader"):
        old.batch(end)


def test_without_a_checkpoint_a_query_begins_after_what_is_settled(
    queue: Queue, query: Make
) -> None:
    queue.create("a", b"1")
    stream = query()
    end, _ = stream.batch()
    stream.batch(end)
    assert query().reader.initialOffset()["seq"] == end["seq"]


def test_a_checkpoint_of_another_life_of_the_database_settles_nothing(
    queue: Queue, query: Make
) -> None:
    queue.create("a", b"1")
    query().batch()
    end, rows = query().batch({"seq": 7, "claim": "0123456789abcdef"})
    assert end["seq"] == 8
    assert [row["content"] for row in rows] == [b"1"]
    assert history(queue) == [("deferred", "s")]


@pytest.mark.parametrize(("limit", "count"), [(ReadMaxRows(3), 3), (ALL, 9), (None, 5)])
def test_a_batch_has_at_most_as_many_messages_as_it_may(
    queue: Queue, query: Make, limit: Any, count: int
) -> None:
    queue.create_many([b""] * 9, channel="a")
    assert len(query(maxMessagesPerTrigger=5).batch(limit=limit)[1]) == count


def test_a_large_claim_has_many_parts(queue: Queue, query: Make) -> None:
    queue.copy(NewMessage(b"", f"c{each % 7}") for each in range(25_000))
    stream = query(maxMessagesPerTrigger=22_000, numPartitions=4)
    start = stream.reader.initialOffset()
    end, rows = stream.batch(start)
    assert len({row["id"] for row in rows}) == 22_000
    sizes = [
        sum(batch.num_rows for batch in stream.reader.read(part))
        for part in stream.reader.partitions(start, end)
    ]
    assert sizes == [5500] * 4
    end, rows = stream.batch(end)
    assert len(rows) == 3000
    stream.batch(end)
    assert queue.check() == []


def test_a_large_claim_is_made_by_two_calls_at_a_time_under_every_limit(
    queue: Queue, query: Make
) -> None:
    queue.channel("few").set(max_concurrency=3)
    queue.copy(NewMessage(b"", f"c{each % 50}") for each in range(60_000))
    queue.create_many([b""] * 100, channel="few")
    stream = query(maxMessagesPerTrigger=50_000, includeContent=False)
    end, rows = stream.batch()
    assert len({row["id"] for row in rows}) == len(rows) == 50_000
    assert all(stream.reader.driver.builder.cursors)
    channels = Counter(row["channel"] for row in rows)
    assert channels.pop("few") == 3
    assert max(channels.values()) - min(channels.values()) <= 400  # a turn of each of the calls
    assert len(stream.batch(end)[1]) == 10_006
    assert queue.check() == []


def test_what_comes_later_is_not_available_now(queue: Queue, query: Make) -> None:
    queue.create_many([b"1", b"2"], channel="a")
    stream = query(maxMessagesPerTrigger=1)
    stream.reader.prepareForTriggerAvailableNow()
    queue.create("a", b"3")
    start, found = stream.reader.initialOffset(), []
    while (end := stream.batch(start))[0] != start:
        found += [row["content"] for row in end[1]]
        start = end[0]
    assert found == [b"1", b"2"]
    assert queue.stats().waiting == 1


def test_only_what_is_subscribed_to_is_read(queue: Queue, query: Make) -> None:
    for channel in ("a", "b", "bb"):
        queue.create(channel, b"")
    assert {row["channel"] for row in query(subscribe="a, bb").batch()[1]} == {"a", "bb"}
    rows = query(stream="t", subscribePattern="b+").batch()[1]
    assert {row["channel"] for row in rows} == {"b"}


def test_an_idle_stream_hears_of_a_message(queue: Queue, query: Make) -> None:
    stream = query()
    start = stream.reader.initialOffset()
    assert stream.batch(start) == (start, [])
    found: list[Any] = []

    def wait() -> None:
        while not found:
            found.extend(stream.batch(start)[1])

    waiting = threading.Thread(target=wait)
    waiting.start()
    queue.create("a", b"1")
    waiting.join(60)
    assert [row["content"] for row in found] == [b"1"]


def lose(dsn: str, queue: Queue) -> None:
    """Let the leases of one message of the claim run out."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(
            "with gone as (update lonnymq.message set lease_until = 0"
            " where id = (select min(id) from lonnymq.message) returning id)"
            " insert into lonnymq.change (channel, lease_until, message_ids) select '', 0, array_agg(id) from gone"
        )
    eventually(lambda: queue.maintain().expired)


def test_a_batch_that_has_lost_messages_ends_the_query(
    dsn_18: str, queue: Queue, query: Make
) -> None:
    queue.create_many([b"1", b"2"], channel="a")
    stream = query()
    start = stream.reader.initialOffset()
    end, _ = stream.batch(start)
    lose(dsn_18, queue)
    with pytest.raises(ClaimLost, match="raise leaseDuration"):
        stream.rows(start, end)
    with pytest.raises(ClaimLost):
        query().rows(start, end)


def test_a_query_may_go_on_with_what_a_batch_has_left(
    dsn_18: str, queue: Queue, query: Make
) -> None:
    queue.create_many([b"1", b"2"], channel="a")
    stream = query(failOnLeaseLost="false", maxMessagesPerTrigger=2)
    start = stream.reader.initialOffset()
    end, _ = stream.batch(start)
    lose(dsn_18, queue)
    assert [row["content"] for row in stream.rows(start, end)] == [b"2"]
    assert [row["content"] for row in stream.batch(end)[1]] == [b"1"]


def test_a_claim_that_lost_messages_before_any_batch_had_it_is_made_anew(
    dsn_18: str, queue: Queue, query: Make
) -> None:
    queue.create_many([b"1", b"2"], channel="a")
    start = query().reader.initialOffset()
    lost, _ = query().batch(start)
    lose(dsn_18, queue)
    end, rows = query().batch(start)
    assert end["seq"] > lost["seq"]
    assert [row["content"] for row in rows] == [b"1", b"2"]


def test_a_claim_that_is_not_renewed_is_given_back(queue: Queue, query: Make) -> None:
    queue.create("a", b"1")
    stream = query(leaseDuration="300ms")
    stream.batch()
    stream.reader.stop()
    eventually(lambda: queue.dequeue())


def test_a_claim_is_renewed_as_long_as_its_driver_lives(
    dsn_18: str, queue: Queue, query: Make
) -> None:
    queue.create("a", b"1")
    stream = query(leaseDuration="600ms")
    stream.batch()
    with psycopg.connect(dsn_18, autocommit=True) as connection:
        until = "select lease_until from lonnymq.message"
        first = fetch_row(connection, until)
        eventually(lambda: fetch_row(connection, until) > first)


def test_a_claim_times_out_though_its_driver_lives(queue: Queue, query: Make) -> None:
    queue.create("a", b"1")
    stream = query(leaseDuration="300ms", claimTimeout="900ms")
    end, _ = stream.batch()
    eventually(lambda: queue.dequeue())
    with pytest.raises(ClaimLost):
        stream.batch(end)


def test_an_outage_of_the_database_is_lived_through() -> None:
    with temporary() as server:
        queue = Queue(server.dsn)
        queue.install()
        queue.create_many([b"1", b"2", b"3"], channel="a")
        stream = Query(server.dsn, maxMessagesPerTrigger=2)
        end, rows = stream.batch()
        server.stop("immediate")
        returns = threading.Timer(0.5, server.start)
        returns.start()
        end, more = stream.batch(end)
        returns.join()
        assert sorted(row["content"] for row in rows + more) == [b"1", b"2", b"3"]
        stream.batch(end)
        stream.reader.stop()
        assert history(queue) == [("completed", "s")] * 3
        queue.close()


def test_the_user_s_schema_says_which_columns_are_read(queue: Queue, query: Make) -> None:
    queue.create("a", b"1")
    schema = StructType([StructField("channel", StringType()), StructField("id", LongType())])
    _, [row] = query(schema).batch()
    assert list(row) == ["channel", "id"]


def test_content_is_left_out_if_wanted(queue: Queue, query: Make) -> None:
    queue.create("a", b"1")
    _, [row] = query(includeContent="false").batch()
    assert "content" not in row
    assert "token" in row


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"stream": ""}, "the option stream must not be empty"),
        (
            {"subscribe": "a", "subscribePattern": "b"},
            "set subscribe or subscribePattern, not both",
        ),
        ({"path": "history"}, "a stream can only read messages, not history"),
        (
            {"startingOffsets": "latest"},
            r"startingOffsets must be earliest, .* purge .*'latest'",
        ),
        ({"startingOffsets": '{"a": 1}'}, "startingOffsets must be earliest"),
        ({"leaseDuration": "soon"}, "the option leaseDuration must be milliseconds"),
        ({"leaseDuration": "31d"}, "leaseDuration must be from 100ms to 30d"),
        ({"subscribePattern": "("}, "must be a regular expression"),
        (
            {"streem": "s"},
            r"unknown option for a stream read: streem\. The known options are .*stream",
        ),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, str], text: str) -> None:
    with pytest.raises(InvalidArgument, match=text):
        StreamReader({"url": "postgresql://host/db", "stream": "s", **options}, StructType([]))


def test_a_stream_without_a_name_is_refused() -> None:
    with pytest.raises(InvalidArgument, match=r'needs a stream name: add \.option\("stream"'):
        StreamReader({"url": "postgresql://host/db"}, StructType([]))


def test_the_checkpoint_of_another_source_is_refused(query: Make) -> None:
    with pytest.raises(InvalidArgument, match="give this query its own checkpointLocation"):
        query().batch({"logOffset": 0})


def test_columns_that_there_are_not_are_refused() -> None:
    wrong = StructType([StructField("colour", StringType())])
    with pytest.raises(
        InvalidArgument, match="a stream has no column colour: the columns are id, channel"
    ):
        StreamReader({"url": "postgresql://host/db", "stream": "s"}, wrong)
    wrong = StructType([StructField("id", StringType())])
    with pytest.raises(InvalidArgument, match="the column id of a stream is bigint, not string"):
        StreamReader({"url": "postgresql://host/db", "stream": "s"}, wrong)


def test_a_database_without_the_queue_is_named(dsn_18: str) -> None:
    stream = Query(dsn_18, schema="elsewhere")
    with pytest.raises(NotInstalled):
        stream.reader.initialOffset()


def test_a_database_that_is_out_of_reach_is_told_of() -> None:
    stream = Query("postgresql://nobody@127.0.0.1:1/none")
    with pytest.raises(Unreachable, match="the database cannot be reached"):
        stream.reader.initialOffset()


def test_a_channel_with_a_limit_has_its_turn_in_every_batch(queue: Queue, query: Make) -> None:
    queue.channel("few").set(max_concurrency=1)
    queue.create_many([b""] * 3, channel="few")
    queue.create_many([b""] * 20, channel="free")
    stream = query(maxMessagesPerTrigger=5)
    start = stream.reader.initialOffset()
    for _ in range(3):
        start, rows = stream.batch(start)
        assert [row["channel"] for row in rows].count("few") == 1


def claimed(queue: Queue) -> int:
    """How many messages are leased at this moment."""
    return queue.stats().leased


def test_a_query_that_reads_what_is_there_claims_the_next_batch_while_one_is_worked_on(
    queue: Queue, query: Make
) -> None:
    queue.create_many([b""] * 12, channel="a")
    stream = query(maxMessagesPerTrigger=5)
    stream.reader.prepareForTriggerAvailableNow()
    start, seen = stream.reader.initialOffset(), []
    first, rows = stream.batch(start)
    seen += rows
    eventually(lambda: claimed(queue) == 10)
    second, rows = stream.batch(first)
    seen += rows
    eventually(lambda: claimed(queue) == 7 and len(history(queue)) == 5)
    third, rows = stream.batch(second)
    seen += rows
    assert len({row["id"] for row in seen}) == len(seen) == 12
    assert stream.batch(third) == (third, [])
    assert claimed(queue) == 0
    assert len(history(queue)) == 12


def test_a_query_that_goes_on_for_ever_claims_one_batch_at_a_time(
    queue: Queue, query: Make
) -> None:
    queue.create_many([b""] * 12, channel="a")
    stream = query(maxMessagesPerTrigger=5)
    start, _ = stream.batch()
    assert claimed(queue) == 5
    stream.batch(start)
    assert claimed(queue) == 5


def test_nothing_is_claimed_ahead_of_its_batch_where_limits_count(
    queue: Queue, query: Make
) -> None:
    queue.channel("a").set(max_concurrency=100)
    queue.create_many([b""] * 12, channel="a")
    stream = query(maxMessagesPerTrigger=5)
    stream.reader.prepareForTriggerAvailableNow()
    start, _ = stream.batch()
    stream.reader.driver.background.join()
    assert claimed(queue) == 5
    stream.batch(start)
    stream.reader.driver.background.join()
    assert claimed(queue) == 5


def test_a_claim_that_was_made_ahead_outlives_its_driver(queue: Queue, query: Make) -> None:
    queue.create_many([b""] * 12, channel="a")
    stream = query(maxMessagesPerTrigger=5)
    stream.reader.prepareForTriggerAvailableNow()
    first, before = stream.batch()
    eventually(lambda: claimed(queue) == 10)
    stream.reader.stop()
    another = query(maxMessagesPerTrigger=5)
    another.reader.prepareForTriggerAvailableNow()
    second, after = another.batch(first)
    assert not {row["id"] for row in before} & {row["id"] for row in after}
    third, last = another.batch(second)
    assert another.batch(third) == (third, [])
    assert len(before) + len(after) + len(last) == len(history(queue)) == 12


def test_a_batch_that_is_asked_for_again_is_the_same_though_the_next_is_claimed(
    queue: Queue, query: Make
) -> None:
    queue.create_many([b""] * 12, channel="a")
    stream = query(maxMessagesPerTrigger=5)
    stream.reader.prepareForTriggerAvailableNow()
    start = stream.reader.initialOffset()
    first, rows = stream.batch(start)
    assert stream.batch(start) == (first, rows)
    second, more = stream.batch(first)
    assert len(more) == 5
    assert len(stream.batch(second)[1]) == 2


def test_messages_of_a_batch_get_outcomes_of_their_own(
    dsn_18: str, queue: Queue, query: Make
) -> None:
    queue.create_many([b"dies", b"waits", b"is done"], channel="a")
    stream = query()
    end, rows = stream.batch()
    dies, waits, _ = ({"id": row["id"], "token": row["token"]} for row in rows)
    outcomes = [
        {**dies, "outcome": "dead", "error": "no such file"},
        {**waits, "outcome": "defer", "delay_ms": 3_600_000, "state": b"half"},
        {"id": 999, "token": dies["token"], "outcome": "dead"},
    ]
    assert set_outcomes(outcomes, url=dsn_18) == {"decided": 2, "not_found": 1}
    stream.batch(end)
    assert sorted(outcome for outcome, _ in history(queue)) == ["completed", "dead", "deferred"]
    [dead] = queue.dead_list()
    assert (dead.id, dead.error) == (dies["id"], "no such file")
    [deferred] = queue.peek("a")
    assert (deferred.id, deferred.state) == (waits["id"], b"half")


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ({"id": 1, "outcome": "dead"}, "needs the columns token"),
        ({"id": 1, "token": "t", "outcome": "dead", "why": "?"}, "does not know the columns why"),
    ],
)
def test_outcomes_need_their_columns_and_no_others(row: dict[str, object], text: str) -> None:
    with pytest.raises(InvalidArgument, match=text):
        set_outcomes([row], url="postgresql://127.0.0.1:1/x")
    assert set_outcomes([], url="postgresql://127.0.0.1:1/x") == {}


def test_the_progress_counts_what_became_of_messages_and_the_lag(
    queue: Queue, query: Make, dsn_18: str
) -> None:
    queue.create_many([NewMessage(b"", "acme") for _ in range(7)])
    asked = query(maxMessagesPerTrigger=4)
    assert asked.reader.reportLatestOffset() is None
    end, rows = asked.batch()
    chosen = zip(rows, ("defer", "dead"), strict=False)
    outcomes = [{"id": r["id"], "token": r["token"], "outcome": each} for r, each in chosen]
    set_outcomes(outcomes, url=dsn_18)
    asked.batch(end)
    told = asked.reader.reportLatestOffset()
    assert told is not None
    counted = {key: told[key] for key in ("claimed", "acknowledged", "givenBack", "dead", "lost")}
    assert counted["claimed"] in (7, 8)  # a deferred message is due at once
    assert (counted["acknowledged"], counted["givenBack"], counted["dead"]) == (2, 1, 1)
    assert (told["lagMessages"] + counted["claimed"], told["lost"]) == (8, 0)
    assert told["lagSeconds"] >= 0
