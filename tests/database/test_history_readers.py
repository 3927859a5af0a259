"""Readers of history: parts to read side by side, how far each is behind, and who may be forgotten."""

from __future__ import annotations

import psycopg
import pytest

from lonnymq import Queue
from lonnymq.embedded_postgres import temporary
from lonnymq.errors import InvalidArgument
from support import eventually

INSERT = """
    insert into lonnymq.history (message_id, created_at, dequeue_at, dequeued_at, finished_at, size, attempt, outcome,
      channel)
    select i, 0, 0, 0, 1893499200000 + i, 1, 1, 'completed', 'acme' from generate_series(1, %s::integer) i
"""


NOTHING_OPEN = "select not is_held from lonnymq.history_lag('0')"


@pytest.fixture
def queue(dsn: str):
    with Queue(dsn) as queue:
        yield queue


def add(connection: psycopg.Connection, *transactions: int, held: bool = False) -> list[int]:
    """Transactions with so many rows each; their ids. They can be read at once, unless the test itself holds them."""
    for rows in transactions:
        connection.execute(INSERT, (rows,))
    if not held:  # autovacuum has transactions too
        eventually(lambda: connection.execute(NOTHING_OPEN).fetchone() == (True,))
    found = connection.execute("select distinct xid::text::bigint from lonnymq.history order by 1")
    return [row[0] for row in found]


def rows_of(connection: psycopg.Connection, since: int, upto: int) -> int:
    row = connection.execute(
        "select count(*) from lonnymq.history where xid >= %s::text::xid8 and xid < %s::text::xid8",
        (since, upto),
    ).fetchone()
    return row[0] if row else 0


def test_no_history_has_no_parts(queue: Queue) -> None:
    assert queue.history_cut() == []


def test_parts_follow_one_another_and_none_cuts_a_transaction(
    queue: Queue, connection: psycopg.Connection
) -> None:
    add(connection, *[3] * 10)
    parts = queue.history_cut(rows=5, parts=100)
    assert [part.since for part in parts[1:]] == [part.upto for part in parts[:-1]]
    assert parts[0].since == 0
    assert [rows_of(connection, part.since, part.upto) for part in parts] == [3] * 10
    assert [
        rows_of(connection, part.since, part.upto) for part in queue.history_cut(rows=6, parts=100)
    ] == [6] * 5


def test_a_cut_ends_after_so_many_parts_and_the_next_goes_on_there(
    queue: Queue, connection: psycopg.Connection
) -> None:
    add(connection, *[1] * 10)
    first = queue.history_cut(rows=2, parts=3)
    assert [rows_of(connection, part.since, part.upto) for part in first] == [2, 2, 2]
    second = queue.history_cut(first[-1].upto, rows=2, parts=3)
    assert [rows_of(connection, part.since, part.upto) for part in second] == [2, 2]
    assert queue.history_cut(second[-1].upto, rows=2, parts=3) == []


def test_a_transaction_that_is_larger_than_all_parts_is_taken_whole(
    queue: Queue, connection: psycopg.Connection
) -> None:
    add(connection, 50, 1, 50)
    parts = queue.history_cut(rows=5, parts=2)
    assert [rows_of(connection, part.since, part.upto) for part in parts] == [50, 1]
    (last,) = queue.history_cut(parts[-1].upto, rows=5, parts=2)
    assert rows_of(connection, last.since, last.upto) == 50


def test_no_part_reaches_an_open_transaction(
    queue: Queue, connection: psycopg.Connection, connect, dsn: str
) -> None:
    add(connection, 2)
    slow = connect(dsn, autocommit=False)
    add(slow, 1, held=True)
    add(connection, 3, held=True)
    (part,) = queue.history_cut(rows=10)
    assert rows_of(connection, part.since, part.upto) == 2
    assert queue.history_cut(part.upto) == []
    slow.commit()
    eventually(lambda: connection.execute(NOTHING_OPEN).fetchone() == (True,))
    assert (
        sum(rows_of(connection, each.since, each.upto) for each in queue.history_cut(part.upto))
        == 4
    )


@pytest.mark.parametrize("wrong", [{"rows": 0}, {"parts": 0}])
def test_a_cut_into_nothing_is_refused(queue: Queue, wrong: dict[str, int]) -> None:
    with pytest.raises(InvalidArgument):
        queue.history_cut(**wrong)


def test_the_lag_of_a_reader_that_has_all_is_nothing(
    queue: Queue, connection: psycopg.Connection
) -> None:
    add(connection, 3)
    lag = queue.history_lag(queue.history_horizon().upto)
    assert (lag.ready, lag.held, lag.first_xid, lag.first_at) == (0, 0, None, None)


def test_the_lag_tells_what_can_be_read_and_what_waits_for_whom(
    queue: Queue, connection: psycopg.Connection, connect, dsn: str, direct_dsn: str
) -> None:
    first = add(connection, 2, 3)[0]
    slow = connect(direct_dsn, autocommit=False)
    slow.execute("set application_name = 'slow one'")
    slow.commit()
    slow.execute(INSERT, (1,))
    add(connection, 4, held=True)
    lag = queue.history_lag(0)
    assert (lag.ready, lag.held, lag.counted_exactly, lag.first_xid) == (5, 4, True, first)
    assert lag.horizon < lag.next_xid
    assert lag.is_held
    assert (lag.holder_pid, lag.holder_application) == (slow.info.backend_pid, "slow one")
    assert lag.holder_since is not None
    assert queue.history_lag(0, most=3).counted_exactly is False
    slow.rollback()


def test_a_prepared_transaction_that_holds_it_back_is_named() -> None:
    with temporary(max_prepared_transactions=2) as server, Queue(server.dsn) as queue:
        queue.install()
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            connection.execute("begin")
            add(connection, 1, held=True)
            connection.execute("prepare transaction 'forgotten'")
            add(connection, 2, held=True)
            lag = queue.history_lag(0)
            assert (lag.ready, lag.held, lag.is_held) == (0, 2, True)
            assert (lag.holder_prepared, lag.holder_state, lag.holder_pid) == (
                "forgotten",
                "prepared",
                None,
            )
            assert lag.holder_since is not None
            connection.execute("commit prepared 'forgotten'")
            eventually(lambda: connection.execute(NOTHING_OPEN).fetchone() == (True,))
        assert queue.history_lag(0).ready == 3


def test_readers_are_listed_and_forgotten(queue: Queue) -> None:
    assert queue.history_reader_list() == []
    queue.history_confirm("lake", upto=5)
    (reader,) = queue.history_reader_list()
    assert (reader.name, reader.confirmed) == ("lake", 5)
    assert reader.confirmed_at > 1_600_000_000_000
    assert queue.history_forget("lake") == "forgotten"
    assert queue.history_forget("lake") == "not_found"
    assert queue.history_reader_list() == []


def test_policies_are_listed_after_the_defaults(queue: Queue) -> None:
    queue.set(default_weight=2)
    queue.channel("b").set(max_concurrency=3)
    queue.create("a", b"x")
    queue.dequeue()[0].complete()
    found = queue.channel_policy_list()
    assert [(each.channel, each.max_concurrency, each.weight) for each in found] == [
        ("", None, 2),
        ("a", None, 2),
        ("b", 3, 2),
    ]
    assert [each.channel for each in queue.channel_policy_list(limit=1)] == ["", "a"]
    assert [each.channel for each in queue.channel_policy_list(after="a", limit=1)] == ["b"]
    assert queue.channel_policy_list(after="b") == []
