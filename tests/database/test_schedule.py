"""Schedules as SQL keeps them: what they create, that each run is created once, and who is behind."""

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from lonnymq import Queue
from lonnymq.errors import InvalidArgument
from lonnymq.testing import Clock

DAY = 86_400_000


@pytest.fixture
def queue(dsn: str):
    with Queue(dsn) as queue:
        yield queue


def version(queue: Queue, name: str = "nightly") -> int:
    [schedule] = [each for each in queue.schedule_list() if each.name == name]
    return schedule.version


def run(queue: Queue, *runs: int, upto_at: int | None = None, of: int | None = None):
    return queue.schedule_advance(
        "nightly",
        version=version(queue) if of is None else of,
        upto_at=runs[-1] if upto_at is None else upto_at,
        runs=runs,
        next_at=(runs[-1] if runs else 0) + DAY,
    )


def test_a_schedule_is_created_then_changed_and_unchanged_where_nothing_differs(queue) -> None:
    first = {"channel": "reports", "cron": "0 3 * * *", "timezone": "Europe/Berlin"}
    assert queue.schedule_set("nightly", **first) == "created"
    before = queue.schedule_list()
    assert queue.schedule_set("nightly", **first) == "unchanged"
    assert queue.schedule_list()[0].version == before[0].version
    assert queue.schedule_set("nightly", **first, content=b"x") == "changed"
    assert queue.schedule_list()[0].content == b"x"


def test_new_moments_begin_now_and_a_new_content_leaves_the_ticks_as_they_are(queue) -> None:
    queue.schedule_set("nightly", channel="reports", every_ms=DAY)
    start = queue.epoch() + DAY
    run(queue, start)
    queue.schedule_set("nightly", channel="reports", every_ms=DAY, content=b"x")
    assert queue.schedule_list()[0].last_run_at == start
    assert queue.schedule_list()[0].next_at == start + DAY
    queue.schedule_set("nightly", channel="reports", every_ms=2 * DAY, content=b"x")
    assert queue.schedule_list()[0].last_run_at < start
    assert queue.schedule_list()[0].next_at is None


def test_a_tick_creates_a_message_due_at_it_that_tells_where_it_is_from(queue) -> None:
    queue.schedule_set(
        "nightly", channel="reports", every_ms=DAY, content=b"x", kind="k", headers={"h": 1}
    )
    at = queue.epoch() + 1
    assert (run(queue, at).answer, run(queue, at + 1).created) == ("advanced", 1)
    first, second = queue.peek("reports")
    assert (first.dequeue_at, first.content, first.kind) == (at, b"x", "k")
    assert first.headers == {"h": 1, "schedule": "nightly", "run_at": at}
    assert first.key.startswith("nightly 2")
    assert queue.schedule_list()[0].message_id == second.id


def test_who_acts_upon_an_old_version_is_behind_though_the_message_is_gone(queue) -> None:
    queue.schedule_set("nightly", channel="reports", every_ms=DAY)
    seen, at = version(queue), queue.epoch() + 1
    assert run(queue, at, of=seen).answer == "advanced"
    queue.purge("reports")
    assert (run(queue, at, of=seen).answer, queue.peek("reports")) == ("behind", [])


def test_ticks_that_are_dealt_with_are_not_dealt_with_again(queue) -> None:
    queue.schedule_set("nightly", channel="reports", every_ms=DAY)
    at = queue.epoch() + 10
    run(queue, at)
    assert run(queue, at - 5).answer == "behind"


def test_ten_at_one_tick_create_one_message(dsn: str, queue) -> None:
    queue.schedule_set("nightly", channel="reports", every_ms=DAY)
    seen, at = version(queue), queue.epoch() + 1

    def take(_: int) -> str:
        with Queue(dsn) as own:
            return run(own, at, of=seen).answer

    with ThreadPoolExecutor(10) as pool:
        answers = sorted(pool.map(take, range(10)))
    assert answers == ["advanced"] + ["behind"] * 9
    assert len(queue.peek("reports")) == 1


def test_a_tick_that_is_rolled_back_is_there_for_the_next_one(queue, connect, dsn) -> None:
    queue.schedule_set("nightly", channel="reports", every_ms=DAY)
    at = queue.epoch() + 1
    own = connect(dsn, autocommit=False)
    own.execute(
        "select lonnymq.schedule_advance('nightly', %s, %s, array[%s]::bigint[])",
        (version(queue), at, at),
    )
    assert run(queue, at).answer == "behind"
    own.rollback()
    assert run(queue, at).answer == "advanced"


def test_a_paused_schedule_advances_no_more_and_goes_on_after_the_pause(
    queue, direct_dsn: str
) -> None:
    queue.schedule_set("nightly", channel="reports", every_ms=DAY)
    clock = Clock(direct_dsn)
    assert queue.schedule_pause("nightly") == "paused"
    assert queue.schedule_pause("nightly") == "already_paused"
    assert run(queue, queue.epoch() + 1).answer == "paused"
    assert queue.schedule_due(within_ms=DAY) == []
    clock.advance(10 * DAY)
    assert queue.schedule_resume("nightly") == "resumed"
    assert queue.schedule_resume("nightly") == "not_paused"
    [due] = queue.schedule_due()
    assert (due.last_run_at, due.next_at) == (clock.now(), None)
    clock.close()


def test_due_are_those_within_reach_and_those_nobody_has_looked_at(queue) -> None:
    for name in ("nightly", "unknown", "far"):
        queue.schedule_set(name, channel="reports", every_ms=DAY)
    now = queue.epoch()
    run(queue, upto_at=now + 1)
    queue.schedule_advance(
        "far", version=version(queue, "far"), upto_at=now, runs=[], next_at=now + 9 * DAY
    )
    assert [each.name for each in queue.schedule_due()] == ["unknown", "nightly"]
    assert [each.name for each in queue.schedule_due(within_ms=10 * DAY)] == [
        "unknown",
        "nightly",
        "far",
    ]


def test_a_schedule_runs_now_beside_its_ticks_paused_or_not(queue) -> None:
    queue.schedule_set("nightly", channel="reports", every_ms=DAY, content=b"x")
    queue.schedule_pause("nightly")
    assert queue.schedule_run("nightly").answer == "created"
    [message] = queue.peek("reports")
    assert (message.content, message.headers["schedule"]) == (b"x", "nightly")
    assert queue.schedule_run("nobody").answer == "not_found"


def test_a_full_channel_refuses_a_tick_and_the_schedule_says_so(queue) -> None:
    queue.channel_set("reports", max_size=1)
    queue.create("reports", b"first")
    queue.schedule_set("nightly", channel="reports", every_ms=DAY)
    assert run(queue, queue.epoch() + 1).created == 0
    assert queue.schedule_list()[0].answer == "rejected"
    assert queue.schedule_run("nightly").answer == "rejected"


def test_a_deleted_schedule_is_gone_and_its_messages_stay(queue) -> None:
    queue.schedule_set("nightly", channel="reports", every_ms=DAY)
    run(queue, queue.epoch() + 1)
    seen = version(queue)
    assert queue.schedule_delete("nightly") == "deleted"
    assert queue.schedule_delete("nightly") == "not_found"
    assert run(queue, 5, of=seen).answer == "not_found"
    assert len(queue.peek("reports")) == 1
    assert (queue.schedule_pause("nightly"), queue.schedule_resume("nightly")) == (
        "not_found",
        "not_found",
    )


def test_schedules_are_listed_in_pages(queue) -> None:
    for name in "cab":
        queue.schedule_set(name, channel="reports", every_ms=DAY)
    assert [each.name for each in queue.schedule_list(limit=2)] == ["a", "b"]
    assert [each.name for each in queue.schedule_list(after="b")] == ["c"]


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"cron": "0 3 * * *", "every_ms": 5000}, "not both"),
        ({}, "give cron or every_ms"),
        ({"cron": "0 3 * *"}, "is not a cron line"),
        ({"cron": "0 3 * * *; drop"}, "is not a cron line"),
        ({"every_ms": 999}, "every_ms must be from 1000"),
        ({"every_ms": DAY, "timezone": "Atlantis"}, "there is no time zone 'Atlantis'"),
        ({"every_ms": DAY, "misfire": "never"}, "misfire must be skip, once or all"),
        ({"every_ms": DAY, "name": "x" * 201}, "1 to 200 bytes"),
        ({"every_ms": DAY, "headers": {"a": "x" * 16_370}}, "headers are 16"),
    ],
)
def test_what_cannot_be_a_schedule_is_refused_with_what_can(queue, wrong, text: str) -> None:
    with pytest.raises(Exception, match=text) as caught:
        queue.schedule_set(**{"name": "nightly", "channel": "reports", **wrong})
    assert not isinstance(caught.value, psycopg.Error)


def test_more_ticks_than_a_call_may_create_are_refused(queue) -> None:
    queue.schedule_set("nightly", channel="reports", every_ms=DAY)
    with pytest.raises(InvalidArgument, match="number of runs must be from 0 to 1000"):
        run(queue, *range(1001))
