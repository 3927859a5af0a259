"""A contended dequeue is tried again at once, and not for ever."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from lonnymq import AsyncQueue, Queue
from lonnymq.client._async import queue as queue_async
from lonnymq.client._sync import queue
from lonnymq.client.call import Call
from lonnymq.client.calls.lease import MAX_TRIES

NOTHING = [None] * 13
CONTENDED, EMPTY = ("contended", 5, [1], *NOTHING), ("empty", 9, [2], *NOTHING)


@contextmanager
def answering(monkeypatch: pytest.MonkeyPatch, *rows: tuple[Any, ...]) -> Iterator[list[Call[Any]]]:
    """Both halves get these rows, one a call and then the last one again; yields the calls that were made."""
    made: list[Call[Any]] = []

    def run(_: object, call: Call[Any]) -> Any:
        made.append(call)
        return call.parse([rows[min(len(made), len(rows)) - 1]])

    async def run_async(source: object, call: Call[Any]) -> Any:
        return run(source, call)

    monkeypatch.setattr(queue, "run_dequeue", run)
    monkeypatch.setattr(queue_async, "run_dequeue", run_async)
    yield made


def test_it_is_tried_again_until_the_answer_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(monkeypatch, CONTENDED, CONTENDED, EMPTY) as made:
        batch = Queue("").dequeue()
    assert (batch.reason, batch.retry_at, len(made)) == ("empty", 9, 3)


def test_each_try_goes_on_where_the_last_one_stood(monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(monkeypatch, CONTENDED, EMPTY) as made:
        Queue("").dequeue()
    assert [call.parameters[3] for call in made] == [None, [1]]


def test_it_is_answered_after_a_bounded_number_of_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(monkeypatch, CONTENDED) as made:
        assert Queue("").dequeue().reason == "contended"
    assert 2 <= len(made) <= MAX_TRIES


async def test_the_async_half_does_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(monkeypatch, CONTENDED, EMPTY) as made:
        assert (await AsyncQueue("").dequeue()).reason == "empty"
    assert [call.parameters[3] for call in made] == [None, [1]]
