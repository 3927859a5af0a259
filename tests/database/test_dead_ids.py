"""dead_ids: the ids of dead messages, a page at a time."""

from typing import Any

import pytest

import lonnymq
from lonnymq.errors import InvalidArgument


@pytest.fixture
def queue(dsn: str):
    with lonnymq.Queue(dsn) as queue:
        for channel, kind in (("acme", "a"), ("acme", "b"), ("bloom", "a")):
            queue.create(channel, b"poison", kind=kind)
        queue.fail_many(queue.dequeue(limit=10), dead=True)
        yield queue


def test_the_ids_are_those_that_dead_list_lists(queue: lonnymq.Queue) -> None:
    assert queue.dead_ids() == [each.id for each in queue.dead_list()]
    assert len(queue.dead_ids()) == 3


@pytest.mark.parametrize("choice", [{"channel": "acme"}, {"kind": "a"}])
def test_a_channel_or_a_kind_is_chosen_from(queue: lonnymq.Queue, choice: dict[str, Any]) -> None:
    assert queue.dead_ids(**choice) == [each.id for each in queue.dead_list(**choice)]
    assert len(queue.dead_ids(**choice)) == 2


def test_a_page_begins_after_an_id(queue: lonnymq.Queue) -> None:
    first, second, third = queue.dead_ids()
    assert queue.dead_ids(limit=2) == [first, second]
    assert queue.dead_ids(after=second, limit=2) == [third]
    assert queue.dead_ids(after=third) == []


async def test_the_async_half_answers_the_same(queue: lonnymq.Queue, dsn: str) -> None:
    async with lonnymq.AsyncQueue(dsn) as other:
        assert await other.dead_ids() == queue.dead_ids()


def test_a_page_of_nothing_is_refused(queue: lonnymq.Queue) -> None:
    with pytest.raises(InvalidArgument, match="limit"):
        queue.dead_ids(limit=0)
