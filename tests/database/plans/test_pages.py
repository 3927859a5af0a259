"""A dequeue touches as many pages among 100,000 rows as among ten, whatever the rows are; so does a create."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from database.plans.large_queue import (
    add_messages,
    complete_all,
    count_pages,
    disable_autovacuum,
    fold,
    lease_all,
)
from support import Target

FEW, MANY = 10, 100_000
# An index of 100,000 rows is two levels higher than one of ten, and a call makes a dozen or two of probes.
HIGHER = 40
Queues = dict[int, psycopg.Connection[Any]]
KINDS = {
    "waiting": ("'busy'", "i"),
    "future": ("'busy'", "4102444800000 + i"),
    "future, in many channels": ("'channel ' || i % 1000", "4102444800000 + i"),
    "urgent": ("'busy'", "-i"),
}


@pytest.fixture
def queues(server_18: Target) -> Iterator[Queues]:
    """A queue for few rows and a queue for many."""
    with server_18.database() as (few, _), server_18.database() as (many, _):
        found = {
            rows: psycopg.connect(dsn, autocommit=True) for dsn, rows in ((few, FEW), (many, MANY))
        }
        for connection in found.values():
            connection.execute("set synchronous_commit = off")
            disable_autovacuum(connection)
        yield found
        for connection in found.values():
            connection.close()


def compare(queues: Queues, what: str) -> None:
    """A dequeue with something to give, and one with nothing, touch as many pages among few as among many."""
    touched: dict[int, list[int]] = {}
    for rows, connection in queues.items():
        fold(connection)
        add_messages(connection, 12, "'ready ' || i % 3")
        fold(connection)
        connection.execute("vacuum analyze")
        touched[rows] = [count_pages(connection, "message_dequeue(1)")]
        connection.execute("delete from lonnymq.message where channel like 'ready%'")
        if not pages_are_given(connection):
            touched[rows].append(count_pages(connection, "message_dequeue(1)"))
    print(f"pages touched by a dequeue, {what}: {touched}")
    for few, many in zip(touched[FEW], touched[MANY], strict=True):
        assert many <= few + HIGHER


def pages_are_given(connection: psycopg.Connection[Any]) -> bool:
    """Whether a dequeue leases anything; nothing is kept of it but what it tidied up."""
    with connection.transaction(force_rollback=True):
        row = connection.execute("select answer from lonnymq.message_dequeue(10)").fetchone()
    is_given = row == ("leased",)
    if not is_given:
        connection.execute("select lonnymq.message_dequeue(10)")
    return is_given


@pytest.mark.parametrize("kind", KINDS)
def test_a_dequeue_touches_no_more_pages_among_100_000_messages(queues: Queues, kind: str) -> None:
    for rows, connection in queues.items():
        add_messages(connection, rows, *KINDS[kind])
    compare(queues, kind)


@pytest.mark.long
def test_a_dequeue_touches_no_more_pages_among_100_000_paused_channels(queues: Queues) -> None:
    for rows, connection in queues.items():
        connection.execute("select lonnymq.channel_set('channel 1', '{}')")
        connection.execute(
            "insert into lonnymq.channel_setting"
            " select (jsonb_populate_record(s, jsonb_build_object('name', 'channel ' || i))).*"
            f" from lonnymq.channel_setting s, generate_series(2, {rows}) as i"
        )
        connection.execute("update lonnymq.channel_setting set paused = true")
        add_messages(connection, rows, "'channel ' || i")
    compare(queues, "paused channels")


@pytest.mark.long
def test_a_dequeue_touches_no_more_pages_among_100_000_ready_saturated_or_idle_channels(
    queues: Queues,
) -> None:
    for rows, connection in queues.items():
        connection.execute("""select lonnymq.queue_set('{"default_max_concurrency": 1}')""")
        add_messages(connection, rows, "'channel ' || i")
    # All channels have the limit, those of compare() too: a dequeue begins at a random channel, and a channel
    # with a limit takes more pages than a channel without.
    compare(queues, "ready channels with a limit")
    for connection in queues.values():
        lease_all(connection)
    compare(queues, "saturated channels")
    for connection in queues.values():
        complete_all(connection)
        fold(connection)
        lease_all(connection)
    compare(queues, "idle channels")


@pytest.mark.parametrize("channel", ["'new'", "'new ' || i"], ids=["one channel", "many channels"])
def test_a_create_touches_no_more_pages_after_10_000_others_in_its_transaction(
    queues: Queues, channel: str
) -> None:
    touched = {}
    for creates, connection in zip((FEW, 10_000), queues.values(), strict=True):
        with connection.transaction():
            connection.execute(
                f"select count(*) from generate_series(1, {creates}) i,"
                f" lateral lonnymq.message_create({channel}, i::text::bytea)".encode()
            )
            touched[creates] = count_pages(connection, "message_create('last', '')")
    print(f"pages touched by a create, of a transaction with so many before it: {touched}")
    assert touched[10_000] <= touched[FEW] + HIGHER
