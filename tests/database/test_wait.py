"""`wait` and `wait_many`: one of those who wait listens for all, or polls for all behind a pooler."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import psycopg
import pytest

from lonnymq import AsyncQueue, Queue
from lonnymq.errors import InvalidArgument, WaitTimeout
from support import eventually, message_id


@pytest.fixture
def queue(dsn):
    with Queue(dsn) as queue:
        yield queue


def created(queue: Queue, count: int = 1) -> list[int]:
    return [message_id(each) for each in queue.create_many([b"work"] * count, channel="acme")]


def watched(dsn: str) -> int:
    with psycopg.connect(dsn) as connection:
        row = connection.execute("select count(*) from lonnymq.message where watched").fetchone()
    assert row is not None
    return int(row[0])


def end(queue: Queue, how: str) -> None:
    if how == "purged":
        queue.purge("acme")
    elif how == "cancelled":
        queue.cancel(queue.peek("acme")[0].id)
    elif how == "dead":
        queue.dequeue()[0].fail("broken", dead=True)
    elif how == "completed by one":
        [message] = queue.dequeue()
        queue.complete(message)
    else:
        queue.complete_many(queue.dequeue())


@pytest.mark.parametrize(
    ("how", "state"),
    [
        ("completed by one", "completed"),
        ("completed", "completed"),
        ("dead", "dead"),
        ("cancelled", "cancelled"),
        ("purged", "not_found"),
    ],
)
def test_a_wait_ends_when_the_message_does(queue, dsn, direct_dsn, how, state) -> None:
    [job] = created(queue)
    with ThreadPoolExecutor() as threads:
        status = threads.submit(queue.wait, job)
        eventually(lambda: watched(direct_dsn) == 1)
        end(queue, how)
        assert status.result(60).state == state
    with Queue(dsn) as later:
        assert later.wait(job).state == state


def test_many_waits_share_one_listener_and_each_ends_with_its_own_messages(
    queue, dsn, direct_dsn
) -> None:
    ids = created(queue, 20)
    with ThreadPoolExecutor(25) as threads:
        singles = [threads.submit(queue.wait, each) for each in ids]
        both = threads.submit(queue.wait_many, [ids[3], ids[0], ids[3]])
        eventually(lambda: watched(direct_dsn) == 20)
        first = queue.dequeue(10)
        queue.complete_many(first)
        done = {each.id for each in first}
        assert [singles[ids.index(each)].result(60).id for each in sorted(done)] == sorted(done)
        assert [each.id for each in both.result(60)] == [ids[3], ids[0], ids[3]]
        assert sum(not each.done() for each in singles) == 10
        queue.complete_many(queue.dequeue(10))
        assert {each.result(60).state for each in singles} == {"completed"}


def test_tasks_of_an_event_loop_wait_together_in_one_loop_after_another(dsn) -> None:
    async def pass_through(queue: AsyncQueue) -> set[str]:
        ids = [message_id(each) for each in await queue.create_many([b"work"] * 5, channel="acme")]
        waits = [asyncio.create_task(queue.wait(each, timeout_ms=60_000)) for each in ids]
        cancelled = asyncio.create_task(queue.wait(ids[0]))
        await asyncio.sleep(0)
        cancelled.cancel()
        completed = 0
        while completed < 5:  # a dequeue passes a message over that a wait is just marking
            batch = await queue.dequeue(5)
            await queue.complete_many(batch)
            completed += len(batch)
        found = await asyncio.gather(*waits)
        await queue.close()
        return {each.state for each in found}

    queue = AsyncQueue(dsn)
    assert asyncio.run(pass_through(queue)) == {"completed"}
    assert asyncio.run(pass_through(queue)) == {"completed"}


def test_a_leader_that_leaves_hands_over_to_another_wait(queue, direct_dsn) -> None:
    one, other = created(queue, 2)
    with ThreadPoolExecutor() as threads:
        leader = threads.submit(queue.wait, one)
        eventually(lambda: watched(direct_dsn) == 1)
        follower = threads.submit(queue.wait, other)
        eventually(lambda: watched(direct_dsn) == 2)
        [first, second] = sorted(queue.dequeue(2), key=lambda each: each.id)
        first.complete()
        assert leader.result(60).state == "completed"
        second.complete()
        assert follower.result(60).state == "completed"


def test_time_up_is_an_error_that_names_message_and_state(queue) -> None:
    one, other = created(queue, 2)
    with pytest.raises(
        WaitTimeout, match=rf"message {one} has not ended within 0\.05 s: .*waiting"
    ):
        queue.wait(one, timeout_ms=50)
    with pytest.raises(TimeoutError, match="2 messages have not ended within 0 s") as raised:
        queue.wait_many([other, one], timeout_ms=timedelta())
    assert isinstance(raised.value, WaitTimeout)
    assert raised.value.ids == [one, other]


def test_a_wait_for_nothing_or_for_an_unknown_message_ends_at_once(queue) -> None:
    assert queue.wait_many([]) == []
    assert queue.wait(12345).state == "not_found"


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"message_id": "7"}, "message_id must be a whole number, not str '7'"),
        ({"message_id": 1, "timeout_ms": -1}, "timeout_ms must be a timedelta or a whole number"),
    ],
)
def test_bad_arguments_are_refused(queue, given, error) -> None:
    with pytest.raises(InvalidArgument, match=error):
        queue.wait(**given)
    with pytest.raises(InvalidArgument, match="one of the message_ids must be a whole number"):
        queue.wait_many([1, None])


def test_a_connection_or_a_single_connection_is_polled(dsn) -> None:
    with (
        psycopg.connect(dsn, autocommit=True) as connection,
        Queue(dsn, max_connections=1) as single,
    ):
        [job] = created(single)
        with ThreadPoolExecutor() as threads:
            waits = [threads.submit(each.wait, job) for each in (single, Queue(connection))]
            single.dequeue()[0].complete(result=b"42")
            assert [each.result(60).state for each in waits] == ["completed", "completed"]
        assert single.result(job) == b"42"


def test_a_message_that_was_locked_when_the_wait_began_is_watched_later(queue, direct_dsn) -> None:
    [job] = created(queue)
    with ThreadPoolExecutor() as threads, psycopg.connect(direct_dsn) as holder:
        holder.execute("select from lonnymq.message where id = %s for update", (job,))
        status = threads.submit(queue.wait, job)
        holder.rollback()
        eventually(lambda: watched(direct_dsn) == 1)
        queue.dequeue()[0].complete()
        assert status.result(60).state == "completed"


def test_a_settlement_of_a_message_that_nobody_waits_for_sends_no_notification(
    queue, direct_dsn
) -> None:
    with psycopg.connect(direct_dsn, autocommit=True) as connection:
        connection.execute("listen ended_lonnymq")
        created(queue, 2)
        queue.complete_many(queue.dequeue(2))
        assert list(connection.notifies(timeout=0.1)) == []


def test_a_lost_connection_is_an_error_of_the_wait_and_the_next_wait_works(direct_dsn) -> None:
    with (
        Queue(direct_dsn) as queue,
        ThreadPoolExecutor() as threads,
        psycopg.connect(direct_dsn, autocommit=True) as admin,
    ):
        [job] = created(queue)
        status = threads.submit(queue.wait, job)
        listeners = "select pid from pg_stat_activity where query ilike '%%message_watch%%' and pid <> pg_backend_pid()"
        [pid] = eventually(lambda: admin.execute(listeners.encode()).fetchone())
        admin.execute("select pg_terminate_backend(%s)", (pid,))
        with pytest.raises(psycopg.OperationalError):
            status.result(60)
        queue.dequeue()[0].complete()
        assert queue.wait(job).state == "completed"
