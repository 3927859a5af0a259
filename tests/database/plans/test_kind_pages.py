"""A dequeue of some kinds touches as many pages among 100,000 messages or channels of other kinds as among ten."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from database.plans.large_queue import add_messages, count_pages, fold
from database.plans.test_pages import FEW, HIGHER, MANY, Queues, queues
from support import first_quick

__all__ = ["queues"]

EMAIL = "message_dequeue(1, p_kinds => '{email}')"
BOTH = "message_dequeue(1, p_kinds => '{email,sms}')"
OTHERS = {
    "a long line of another kind": ("'busy'", "i", "'video'"),
    "many channels of another kind": ("'channel ' || i", "i", "'video'"),
    "messages of many kinds": ("'busy'", "i", "'video ' || i"),
    "scheduled messages of the kind": ("'busy'", "4102444800000 + i", "'email'"),
    "channels with scheduled messages of the kind": (
        "'wait ' || i",
        "4102444800000 + i",
        "'email'",
    ),
}


def dequeue(connection: psycopg.Connection[Any], call: str) -> str:
    """The answer of a dequeue, after as many as are needed to build the ring and to tidy up."""
    while True:
        row = connection.execute(f"select answer from lonnymq.{call}".encode()).fetchone()
        if row != ("contended",):
            return str(row and row[0])


def compare(queues: Queues, what: str, higher: int = HIGHER) -> None:
    """A dequeue with something to give, and one with nothing, touch as many pages among few as among many."""
    touched: dict[int, list[int]] = {}
    for rows, connection in queues.items():
        for call in (EMAIL, BOTH):
            while dequeue(connection, call.replace("(1,", "(10000, 2592000000,")) != "empty":
                pass
        fold(connection)
        # Behind a head of another kind, where there is a line of it.
        add_messages(
            connection,
            12,
            "case when i % 2 = 0 then 'busy' else 'ready' end",
            "5000000 + i",
            "'email'",
        )
        fold(connection)
        connection.execute("vacuum analyze")
        touched[rows] = [count_pages(connection, EMAIL), count_pages(connection, BOTH)]
        connection.execute(
            "delete from lonnymq.message where kind = 'email' and dequeue_at < 6000000"
        )
        for call in (EMAIL, BOTH):
            assert dequeue(connection, call) == "empty"
            touched[rows].append(count_pages(connection, call))
    print(f"pages touched by a dequeue of kinds, {what}: {touched}")
    for few, many in zip(touched[FEW], touched[MANY], strict=True):
        assert many <= few + higher


@pytest.mark.parametrize("others", first_quick(*OTHERS, quick=2))
def test_a_dequeue_of_kinds_touches_no_more_pages_among_100_000_messages_of_others(
    queues: Queues, others: str
) -> None:
    for rows, connection in queues.items():
        add_messages(connection, rows, *OTHERS[others])
        fold(connection)
    compare(queues, others)


@pytest.mark.long
def test_a_dequeue_of_kinds_touches_no_more_pages_among_100_000_channels_and_1_000_000_messages_of_other_kinds(
    queues: Queues,
) -> None:
    for rows, connection in queues.items():
        add_messages(connection, 10 * rows, f"'channel ' || i % {rows}", "i", "'video ' || i % 7")
        fold(connection)
    compare(queues, "1,000,000 messages of other kinds in 100,000 channels")


@pytest.mark.long
def test_a_dequeue_of_kinds_touches_no_more_pages_among_100_000_saturated_channels_with_messages_of_the_kinds(
    queues: Queues,
) -> None:
    for rows, connection in queues.items():
        connection.execute("""select lonnymq.queue_set('{"default_max_concurrency": 1}')""")
        add_messages(connection, 2 * rows, f"'channel ' || i % {rows}", "i", "'email'")
        fold(connection)
    # A channel with a limit takes twice the probes: its counter, its row and both of its positions.
    compare(queues, "saturated channels with messages of the kinds", 2 * HIGHER)
