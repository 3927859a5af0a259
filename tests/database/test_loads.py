"""load_begin, load_end, load_list and the stages: rows that become messages at once, once, as single creates would."""

import random
import threading
from typing import Any

import psycopg
import pytest

import lonnymq
from lonnymq.client.calls.queue import ChannelOptions
from lonnymq.errors import StageLost, translated
from support import fetch_row

Row = tuple[str, str | None, int | None]
FILL = "insert into lonnymq.stage_{} (channel, key, content, dequeue_at) values (%s, %s, %s, %s)"
STORED = """
    select channel, key, convert_from(content, 'UTF8'), dequeue_at is not distinct from 5
    from lonnymq.message where content <> 'before' order by channel, id
"""
SIZES = """
    select channel, sum(size) from lonnymq.change where size <> 0 group by channel order by channel
"""


def stage(connection: psycopg.Connection, rows: list[Row]) -> int:
    with connection.transaction():
        number: int = fetch_row(connection, "select lonnymq.stage_create()")[0]
        values = [(row[0], row[1], str(at), row[2]) for at, row in enumerate(rows)]
        connection.cursor().executemany(FILL.format(number), values)
    return number


def take(connection: psycopg.Connection, number: int, rows: int) -> tuple[int, ...]:
    statement = (
        "select created, duplicate, dropped, rejected, invalid from lonnymq.stage_take(%s, %s)"
    )
    with translated():
        return fetch_row(connection, statement, (number, rows))


def one_by_one(
    connection: psycopg.Connection, rows: list[Row]
) -> tuple[list[str], list[Any], list[Any]]:
    """What single creates answer and leave; taken back."""
    statement = "select answer from lonnymq.message_create(%s, %s, p_key => %s, p_dequeue_at => %s)"
    with connection.transaction(force_rollback=True):
        answers = [
            fetch_row(connection, statement, (row[0], str(at).encode(), row[1], row[2]))[0]
            for at, row in enumerate(rows)
        ]
        stored = connection.execute(STORED).fetchall()
        return answers, stored, connection.execute(SIZES).fetchall()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("is_folded", [True, False])
def test_a_stage_comes_out_as_single_creates_would(
    connect, dsn_18: str, seed: int, is_folded: bool
) -> None:
    lots = random.Random(seed)
    queue, connection = lonnymq.Queue(dsn_18), connect(dsn_18)
    policies: dict[str, ChannelOptions] = {
        "full": {"max_size": 1},
        "small": {"max_size": lots.randint(2, 12)},
        "drops": {"max_size": 5, "when_full": "drop"},
        "roomy": {"max_size": 1_000},
    }
    for name, options in policies.items():
        queue.channel(name).set(**options)
    queue.channel("leaving").set()
    queue.channel("full").create(b"before")
    queue.channel("small").create(b"before", key="b")
    queue.channel("plain").create(b"before", key="a")
    queue.channel("leaving").create(b"before", key="c")
    queue.channel("leaving").retire()
    if is_folded:
        queue.maintain()
    channels = ["full", "small", "drops", "roomy", "leaving", "plain", "other"]
    rows = [
        (
            lots.choice(channels),
            lots.choice([None, None, "a", "b", "c", "d"]),
            lots.choice([None, 5]),
        )
        for _ in range(120)
    ]
    answers, stored, sizes = one_by_one(connection, rows)
    number = stage(connection, rows)
    counts = take(connection, number, len(rows))
    words = ("created", "duplicate", "dropped", "rejected")
    assert counts == (*map(answers.count, words), 0)
    assert connection.execute(STORED).fetchall() == stored
    assert connection.execute(SIZES).fetchall() == sizes
    kept = f"select content, answer from lonnymq.stage_{number} where answer is not null"
    assert {int(content): answer for content, answer in connection.execute(kept)} == {
        at: answer for at, answer in enumerate(answers) if answer in ("dropped", "rejected")
    }


def test_what_was_published_is_dequeued(connect, dsn_18: str) -> None:
    connection = connect(dsn_18)
    rows: list[Row] = [(f"channel {at % 10}", None, None) for at in range(50)]
    assert take(connection, stage(connection, rows), 50) == (50, 0, 0, 0, 0)
    queue = lonnymq.Queue(dsn_18)
    found = queue.dequeue(limit=100)
    assert sorted(int(message.content) for message in found) == list(range(50))
    assert queue.check() == []


def test_delays_count_from_the_moment_of_publishing(connect, dsn_18: str) -> None:
    connection = connect(dsn_18)
    number = connection.execute("select lonnymq.stage_create()").fetchone()[0]
    connection.execute(
        f"insert into lonnymq.stage_{number} (channel, content, delay_ms) values ('a', '1', 60000)"
    )
    take(connection, number, 1)
    row = connection.execute("select dequeue_at - created_at from lonnymq.message").fetchone()
    assert row == (60_000,)


def test_rows_that_cannot_be_messages_are_left_with_their_reason(connect, dsn_18: str) -> None:
    connection = connect(dsn_18)
    number = connection.execute("select lonnymq.stage_create()").fetchone()[0]
    connection.execute(
        f"insert into lonnymq.stage_{number} (channel, content, headers, answer) values"
        " ('a', '1', jsonb_build_object('long', repeat('x', 16380)), null), ('a', '2', null, 'invalid'),"
        " ('a', '3', '{\"a\": 1}', null)"
    )
    assert take(connection, number, 3) == (1, 0, 0, 0, 2)
    left = connection.execute(
        f"select content, reason from lonnymq.stage_{number} where answer = 'invalid'"
    )
    assert sorted(left.fetchall()) == [(b"1", "too_large"), (b"2", None)]


def test_a_load_is_published_once(connect, dsn_18: str) -> None:
    connection = connect(dsn_18)
    begin = "select lonnymq.load_begin('app', 7)"
    assert connection.execute(begin).fetchone() == ("begun",)
    assert connection.execute(begin).fetchone() == ("already",)
    assert connection.execute("select lonnymq.load_begin('app', 8)").fetchone() == ("begun",)


def test_of_two_that_publish_one_load_at_once_the_second_waits_and_adds_nothing(
    connect, dsn_18: str
) -> None:
    first, second = connect(dsn_18, autocommit=False), connect(dsn_18)
    first.execute("select lonnymq.load_begin('app', 1)")
    answers: list[object] = []
    thread = threading.Thread(
        target=lambda: answers.append(
            second.execute("select lonnymq.load_begin('app', 1)").fetchone()
        )
    )
    thread.start()
    first.commit()
    thread.join()
    assert answers == [("already",)]


def test_what_became_of_a_load_is_listed(connect, dsn_18: str) -> None:
    connection = connect(dsn_18)
    connection.execute("select lonnymq.load_begin('app', 1)")
    connection.execute("select lonnymq.load_end('app', 1, 5, 4, 3, 2, 1)")
    [row] = connection.execute("select * from lonnymq.load_list('app')")
    assert (row[:2], row[3:]) == (("app", 1), (5, 4, 3, 2, 1))
    assert connection.execute("select * from lonnymq.load_list('other')").fetchall() == []


def test_a_stage_that_lost_its_rows_is_not_published(connect, dsn_18: str) -> None:
    connection = connect(dsn_18)
    number = stage(connection, [("a", None, None)] * 3)
    connection.execute(f"truncate lonnymq.stage_{number}")  # what a crash does to it
    with pytest.raises(StageLost, match=f"of 3 rows staged in stage_{number}, 0 are left"):
        take(connection, number, 3)
    connection.execute("select lonnymq.stage_drop(%s)", ([number],))
    with pytest.raises(StageLost, match="are gone"):
        take(connection, number, 3)


def test_abandoned_stages_and_old_loads_are_swept(connect, dsn_18: str) -> None:
    connection = connect(dsn_18)
    number = stage(connection, [("a", None, None)])
    for app, version in (("app", 1), ("app", 2), ("once 1", 0)):
        connection.execute("select lonnymq.load_begin(%s, %s)", (app, version))
    assert connection.execute("select * from lonnymq.stage_cleanup()").fetchone() == (0, 0)
    connection.execute("update lonnymq.stage set made_at = 0")
    connection.execute("update lonnymq.load set published_at = 0")
    assert connection.execute("select * from lonnymq.stage_cleanup()").fetchone() == (1, 2)
    assert connection.execute(f"select to_regclass('lonnymq.stage_{number}')").fetchone() == (None,)
    left = connection.execute("select app, version from lonnymq.load").fetchall()
    assert left == [("app", 2)]


def test_a_stage_that_is_in_use_is_not_swept(connect, dsn_18: str) -> None:
    connection, user = connect(dsn_18), connect(dsn_18, autocommit=False)
    number = stage(connection, [("a", None, None)])
    connection.execute("update lonnymq.stage set made_at = 0")
    user.execute(f"select from lonnymq.stage_{number}")
    assert connection.execute("select dropped from lonnymq.stage_cleanup()").fetchone() == (0,)
    user.commit()
    assert connection.execute("select dropped from lonnymq.stage_cleanup()").fetchone() == (1,)
