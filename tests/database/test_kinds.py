"""A dequeue of some kinds or channels: what it gives, in which order, and when it says that nothing is there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from lonnymq import Queue
from lonnymq.errors import InvalidArgument
from lonnymq.testing import Clock
from support import fetch_row, message_id

HOUR_MS = 3_600_000


@pytest.fixture
def queue_18(dsn_18: str) -> Iterator[Queue]:
    """A queue."""
    with Queue(dsn_18) as queue:
        yield queue


@pytest.fixture
def clock_18(dsn_18: str) -> Iterator[Clock]:
    """The clock of the queue: time stands still until the test moves it."""
    clock = Clock(dsn_18)
    yield clock
    clock.close()


def fill(queue: Queue, channels: int, rounds: int, *kinds: str | None) -> None:
    """Messages of these kinds in turn, so many rounds of them in each channel."""
    for _ in range(rounds):
        for kind in kinds:
            for channel in range(channels):
                queue.create(f"channel {channel}", b"x", kind=kind)


def test_a_dequeue_gives_only_the_kinds_that_it_asks_for_in_turns(queue_18: Queue) -> None:
    fill(queue_18, 3, 2, "video", "email", None)
    taken = [message for _ in range(6) for message in queue_18.dequeue(kinds=["email"])]
    assert [each.kind for each in taken] == ["email"] * 6
    assert Counter(each.channel for each in taken[:3]) == Counter(
        each.channel for each in taken[3:]
    )
    assert len({each.channel for each in taken[:3]}) == 3
    assert queue_18.dequeue(kinds=["email"]).reason == "empty"


def test_messages_without_a_kind_are_a_kind_of_their_own(queue_18: Queue) -> None:
    fill(queue_18, 2, 2, "video", None)
    assert {each.kind for each in queue_18.dequeue(10, kinds=[None])} == {None}
    assert {each.kind for each in queue_18.dequeue(10, kinds=["video", None])} == {"video"}


def test_several_kinds_of_a_channel_come_in_the_order_of_the_channel(queue_18: Queue) -> None:
    made = [
        message_id(queue_18.create("acme", b"x", kind=kind, dequeue_at=at))
        for at, kind in ((5, "b"), (4, "a"), (3, "c"), (2, "b"), (1, "a"))
    ]
    taken = [queue_18.dequeue(kinds=["b", "a"]).messages[0].id for _ in range(4)]
    assert taken == [made[4], made[3], made[1], made[0]]


def test_a_head_of_another_kind_hides_nothing_and_nobody_sleeps_past_what_comes_behind_it(
    queue_18: Queue, dsn_18: str
) -> None:
    queue_18.create("acme", b"x", kind="video")
    assert queue_18.dequeue(kinds=["email"]).reason == "empty"
    with psycopg.connect(dsn_18, autocommit=True) as listener:
        listener.execute("listen lonnymq")
        while queue_18.dequeue(kinds=["email"]).retry_in_ms < 60_000:  # type: ignore[operator]
            pass
        queue_18.create("acme", b"x", kind="email")
        assert len(list(listener.notifies(timeout=5, stop_after=1))) == 1
    assert [each.kind for each in queue_18.dequeue(kinds=["email"])] == ["email"]


def test_a_limit_of_a_channel_counts_over_all_kinds_and_its_end_wakes_those_who_ask_for_others(
    queue_18: Queue, dsn_18: str
) -> None:
    queue_18.channel_set("acme", max_concurrency=1)
    for kind in ("video", "email"):
        queue_18.create("acme", b"x", kind=kind)
    [video] = queue_18.dequeue(kinds=["video"])
    assert queue_18.dequeue(kinds=["email"]).reason == "empty"
    assert queue_18.dequeue(kinds=["email"]).reason == "empty"
    queue_18.complete(video)
    with psycopg.connect(dsn_18, autocommit=True) as listener:
        listener.execute("listen lonnymq")
        assert queue_18.dequeue(kinds=["video"]).reason == "empty"
        assert len(list(listener.notifies(timeout=5, stop_after=1))) == 1
    assert [each.kind for each in queue_18.dequeue(kinds=["email"])] == ["email"]


def test_a_paused_channel_gives_no_kind_and_comes_back(queue_18: Queue) -> None:
    fill(queue_18, 1, 2, "email")
    assert len(queue_18.dequeue(kinds=["email"])) == 1
    queue_18.channel_pause("channel 0")
    for _ in range(3):
        assert queue_18.dequeue(kinds=["email"]).reason == "empty"
    queue_18.channel_resume("channel 0")
    assert len(queue_18.dequeue(kinds=["email"])) == 1


def test_a_rate_lets_the_next_message_of_a_kind_out_in_time(
    queue_18: Queue, clock_18: Clock
) -> None:
    queue_18.channel_set("channel 0", min_interval_ms=1000)
    fill(queue_18, 1, 3, "video", "email")
    assert len(queue_18.dequeue(10, kinds=["email"])) == 1
    clock_18.advance(999)
    assert queue_18.dequeue(10, kinds=["email"]).retry_in_ms == 1
    clock_18.advance(1)
    assert len(queue_18.dequeue(10, kinds=["email"])) == 1


def test_a_message_that_is_scheduled_wakes_its_kind_and_only_its_kind(
    queue_18: Queue, clock_18: Clock
) -> None:
    queue_18.create("acme", b"x", kind="video", delay_ms=1000)
    queue_18.create("acme", b"x", kind="email", delay_ms=HOUR_MS // 6)
    while queue_18.dequeue(kinds=["email"]).retry_in_ms != HOUR_MS // 6:
        pass
    clock_18.advance(HOUR_MS // 6)
    assert [each.kind for each in queue_18.dequeue(kinds=["email"])] == ["email"]


@pytest.mark.parametrize("ends", ["fails", "runs out"])
def test_a_message_that_comes_back_is_found_before_what_came_after_it(
    queue_18: Queue, clock_18: Clock, ends: str
) -> None:
    fill(queue_18, 1, 3, "video", "email")
    [first] = queue_18.dequeue(kinds=["email"], lease_ms=1000)
    if ends == "fails":
        queue_18.defer(first, dequeue_at=first.dequeue_at)
    else:
        clock_18.advance(1001)
    assert [each.id for each in queue_18.dequeue(kinds=["email"])] == [first.id]


def test_copied_messages_are_found_by_their_kind(queue_18: Queue) -> None:
    from lonnymq import NewMessage

    assert queue_18.dequeue(kinds=["email"]).reason == "empty"
    queue_18.copy([NewMessage(b"x", kind=kind) for kind in ("video", "email")], channel="acme")
    assert [each.kind for each in queue_18.dequeue(5, kinds=["email"])] == ["email"]


def test_channels_select_beside_kinds_and_alone(queue_18: Queue) -> None:
    fill(queue_18, 4, 2, "video", "email")
    both = queue_18.dequeue(100, kinds=["email"], channels=["channel 1", "channel 2", "none"])
    assert Counter((each.channel, each.kind) for each in both) == {
        ("channel 1", "email"): 2,
        ("channel 2", "email"): 2,
    }
    alone = queue_18.dequeue(100, channels=["channel 1"])
    assert [(each.channel, each.kind) for each in alone] == [("channel 1", "video")] * 2
    assert queue_18.dequeue(channels=["channel 1"]).reason == "empty"


def test_the_rings_are_built_from_what_is_there_and_dropped_when_nobody_asks(
    queue_18: Queue, dsn_18: str, clock_18: Clock
) -> None:
    fill(queue_18, 3, 1, "video", "email")
    assert (
        len(queue_18.dequeue(10, lease_ms=5 * HOUR_MS)) == 6
    )  # of all kinds, before anybody asks for one
    fill(queue_18, 3, 1, "video", "email")
    assert len(queue_18.dequeue(10, kinds=["email"], lease_ms=5 * HOUR_MS)) == 3
    with psycopg.connect(dsn_18) as connection:
        assert fetch_row(connection, "select count(*) from lonnymq.kind_filter") == (1,)
        clock_18.advance(2 * HOUR_MS)
        queue_18.maintain()
        left = "select (select count(*) from lonnymq.kind_filter), (select count(*) from lonnymq.kind_position)"
        assert fetch_row(connection, left) == (0, 0)
    fill(queue_18, 3, 1, "email")
    assert len(queue_18.dequeue(10, kinds=["email"])) == 3
    assert queue_18.check() == []


def test_more_lists_of_kinds_than_a_queue_keeps_are_refused_until_others_are_unused(
    queue_18: Queue, clock_18: Clock
) -> None:
    for number in range(64):
        assert queue_18.dequeue(kinds=[f"kind {number}"]).reason == "empty"
    with pytest.raises(InvalidArgument, match="64 different lists of kinds are in use"):
        queue_18.dequeue(kinds=["another"])
    clock_18.advance(180_000)
    assert queue_18.dequeue(kinds=["another"]).reason == "empty"


def test_repair_builds_the_rings_again(queue_18: Queue, dsn_18: str) -> None:
    fill(queue_18, 3, 1, "video", "email")
    assert len(queue_18.dequeue(1, kinds=["email"])) == 1
    with psycopg.connect(dsn_18, autocommit=True) as connection:
        connection.execute("delete from lonnymq.kind_position")
    assert {each.invariant for each in queue_18.check()} == {"kind_reachable"}
    queue_18.repair()
    assert queue_18.check() == []
    assert len(queue_18.dequeue(10, kinds=["email"])) == 2


def test_explain_and_kind_list_tell_of_kinds_that_no_worker_takes(queue_18: Queue) -> None:
    video = message_id(queue_18.create("acme", b"x", kind="video"))
    plain = message_id(queue_18.create("acme", b"x"))
    assert queue_18.explain(video).answer == "new"  # nobody reports, so nobody knows
    queue_18.worker_seen("mailer", concurrency=1, kinds=["email", None])
    assert queue_18.explain(video).explanation.startswith("No worker serves kind video.")
    assert queue_18.explain(plain).answer == "new"
    assert [(each.kind, each.waiting, each.workers) for each in queue_18.kind_list()] == [
        (None, 1, 1),
        ("video", 1, 0),
    ]
    queue_18.worker_seen("all", concurrency=1)
    assert queue_18.explain(video).answer == "new"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"kinds": []}, "number of kinds"),
        ({"kinds": "email"}, "kinds must be a list"),
        ({"kinds": [""]}, "one of the kinds"),
        ({"kinds": ["x"] * 1001}, "number of kinds"),
        ({"channels": []}, "number of channels"),
        ({"channels": ["x"] * 1001}, "number of channels"),
        ({"channels": [None]}, "one of the channels"),
    ],
)
def test_what_no_dequeue_can_ask_for_is_refused(
    queue_18: Queue, given: dict[str, Any], says: str
) -> None:
    with pytest.raises(InvalidArgument, match=says):
        queue_18.dequeue(**given)


def test_a_restored_queue_gives_the_kinds_that_were_asked_for_before(
    queue_18: Queue, dsn_18: str
) -> None:
    fill(queue_18, 3, 2, "video", "email")
    assert len(queue_18.dequeue(2, kinds=["email"])) == 2
    with psycopg.connect(dsn_18, autocommit=True) as connection:
        # As a restore leaves it: written by a transaction of another cluster.
        connection.execute("update lonnymq.checkpoint set made_by = '3'")
    assert len(queue_18.dequeue(10, kinds=["email"])) == 4
