"""Turns that the model found unfair once, each as one small example."""

from __future__ import annotations

from collections import Counter
from typing import Any

import psycopg

DEQUEUE = "select channel, cursor from lonnymq.message_dequeue(%s, 30000, null, %s::bigint[])"


def fill(connection: psycopg.Connection[Any], weights: dict[str, int]) -> None:
    for channel, weight in weights.items():
        connection.execute(
            "select lonnymq.channel_set(%s, jsonb_build_object('weight', %s::int))",
            (channel, weight),
        )
        connection.execute(
            "select lonnymq.message_create(%s, 'x') from generate_series(1, 12)", (channel,)
        )


def test_a_turn_that_was_cut_short_goes_on_where_it_stopped(
    connection: psycopg.Connection[Any],
) -> None:
    fill(connection, {"a": 3, "b": 3})
    [(first, cursor)] = connection.execute(DEQUEUE, (1, None)).fetchall()
    second = "b" if first == "a" else "a"
    rows = connection.execute(DEQUEUE, (14, cursor)).fetchall()
    assert [name for name, _ in rows] == [first] * 2 + ([second] * 3 + [first] * 3) * 2


def test_several_rounds_at_once_leave_nobody_out(connection: psycopg.Connection[Any]) -> None:
    fill(connection, dict.fromkeys("abcdefgh", 1))
    counts = Counter(name for name, _ in connection.execute(DEQUEUE, (12, None)).fetchall())
    assert sorted(counts.values()) == [1] * 4 + [2] * 4
