"""`message_status` and `message_result`: what became of a message, by id."""

from uuid import uuid4

import psycopg
import pytest

import lonnymq
from lonnymq import Queue
from lonnymq.errors import InvalidArgument, TooLarge
from support import message_id


@pytest.fixture
def queue(dsn):
    with Queue(dsn) as queue:
        yield queue


def created(queue: Queue, **options) -> int:
    return message_id(queue.create("acme", b"work", **options))


def states(queue: Queue, *ids: int) -> list[str]:
    return [each.state for each in queue.status_many(ids)]


def test_a_message_tells_its_state_from_its_creation_to_its_end(queue) -> None:
    job = created(queue, kind="encode", key="k")
    assert queue.status(job).state == "waiting"
    [message] = queue.dequeue(worker="w")
    running = queue.status(job)
    assert (running.state, running.worker, running.attempt) == ("running", "w", 1)
    assert running.lease_until == message.lease_until
    message.fail("no disk", retry_ms=0)
    retrying = queue.status(job)
    assert (retrying.state, retrying.error, retrying.finished_at) == ("retrying", "no disk", None)
    queue.dequeue()[0].complete()
    completed = queue.status(job)
    assert (completed.state, completed.attempt, completed.kind) == ("completed", 2, "encode")
    assert (completed.key, completed.error, completed.result_size) == ("k", None, None)
    assert completed.finished_at is not None
    assert completed.dequeued_at is not None
    assert completed.created_at <= completed.dequeued_at <= completed.finished_at
    assert completed.has_ended


def test_later_messages_are_scheduled_and_unknown_ids_are_not_found(queue) -> None:
    later, job = created(queue, delay_ms=60_000), created(queue)
    queue.dequeue()[0].complete()
    assert states(queue, later, 12345, job, job) == [
        "scheduled",
        "not_found",
        "completed",
        "completed",
    ]
    assert queue.status_many([]) == []


def test_a_dead_message_is_dead_also_after_it_was_purged_and_waits_after_a_redrive(queue) -> None:
    job = created(queue)
    queue.dequeue()[0].fail("broken", dead=True)
    dead = queue.status(job)
    assert (dead.state, dead.error, dead.attempt, dead.has_ended) == ("dead", "broken", 1, True)
    queue.dead_redrive([job])
    assert queue.status(job).state == "waiting"
    queue.dequeue()[0].fail("broken again", dead=True)
    queue.dead_purge([job])
    assert (queue.status(job).state, queue.status(job).error) == ("dead", "broken again")


def test_a_deferred_message_waits_with_its_history(queue) -> None:
    job = created(queue)
    queue.dequeue()[0].defer(delay_ms=60_000)
    assert queue.status(job).state == "scheduled"
    queue.purge("acme")
    assert queue.status(job).state == "cancelled"


def test_results_of_one_and_of_many_are_kept_with_their_messages(queue) -> None:
    ids = [created(queue) for _ in range(120)]
    messages = sorted(queue.dequeue(100), key=lambda each: -each.id)
    results = [None if each.id % 3 == 0 else b"r%d" % each.id for each in messages]
    queue.complete_many(messages, results=results)
    few = list(queue.dequeue(10))
    queue.complete_many(few, results=[b"few%d" % each.id for each in few])
    queue.dequeue()[0].complete(result=b"one")
    for message, result in zip(messages, results, strict=True):
        assert queue.result(message.id) == result
        assert queue.status(message.id).result_size == (None if result is None else len(result))
    assert [queue.result(each.id) for each in few] == [b"few%d" % each.id for each in few]
    assert queue.result(ids[110]) == b"one"
    assert queue.result(ids[111]) is None


def test_a_result_goes_to_its_own_message_though_an_id_is_given_twice(queue) -> None:
    ids = [created(queue) for _ in range(60)]
    messages = list(queue.dequeue(60))
    twice = [lonnymq.Lease(messages[0].id, uuid4()), *messages]
    queue.complete_many(twice, results=[b"wrong", *(b"%d" % each.id for each in messages)])
    assert [queue.result(each) for each in ids] == [b"%d" % each for each in ids]


def test_a_lost_lease_stores_no_result(queue) -> None:
    job = created(queue)
    [message] = queue.dequeue()
    message.fail("x", retry_ms=0)
    assert message.complete(result=b"late") == "lease_lost"
    assert queue.result(job) is None
    assert queue.status(job).state == "retrying"


def test_bad_results_and_ids_are_refused_by_name(queue, direct_dsn) -> None:
    created(queue)
    [message] = queue.dequeue()
    with pytest.raises(InvalidArgument, match="result must be bytes, not str"):
        message.complete(result="text")
    with pytest.raises(TooLarge, match="result must be at most 1048576 bytes, not 1048577"):
        message.complete(result=b"x" * 1048577)
    with pytest.raises(InvalidArgument, match="results must be absent or have 1 elements, not 2"):
        queue.complete_many([message], results=[b"a", b"b"])
    with pytest.raises(InvalidArgument, match="message_id"):
        queue.status("7")
    with pytest.raises(InvalidArgument, match="at most 10000 ids, got 10001"):
        queue.status_many(range(1, 10002))
    with psycopg.connect(direct_dsn) as connection, pytest.raises(psycopg.Error) as raised:
        connection.execute(
            "select lonnymq.message_complete(1, gen_random_uuid(), convert_to(repeat('x', 1048577), 'utf8'))"
        )
    assert raised.value.sqlstate == "LM002"


def test_status_and_result_are_part_of_your_transaction(queue, connect, direct_dsn) -> None:
    connection = connect(direct_dsn)
    job = created(queue)
    [message] = queue.dequeue()
    with connection.transaction(force_rollback=True):
        message.complete(result=b"r", using=connection)
        assert queue.status(job, using=connection).state == "completed"
        assert queue.result(job, using=connection) == b"r"
    assert queue.status(job).state == "running"


def test_without_history_an_ended_message_is_not_found(queue) -> None:
    queue.set(history="off")
    job = created(queue)
    queue.dequeue()[0].complete(result=b"r")
    assert (queue.status(job).state, queue.result(job)) == ("not_found", None)


def test_heartbeats_carry_the_progress_of_a_running_message(queue, connection) -> None:
    ids = [created(queue) for _ in range(3)]
    messages = sorted(queue.dequeue(3), key=lambda each: each.id)
    assert messages[0].heartbeat(progress=0.25, note="rendering") == "extended"
    shown = queue.status(ids[0])
    assert (shown.state, shown.progress, shown.progress_note) == ("running", 0.25, "rendering")
    queue.heartbeat_many(messages[::-1], progress=[0.5, None, None], notes=["upload", None, None])
    queue.heartbeat_many(messages)
    found = [(each.progress, each.progress_note) for each in queue.status_many(ids)]
    assert found == [(0.25, "rendering"), (None, None), (0.5, "upload")]
    messages[0].heartbeat(progress=1)
    assert (queue.status(ids[0]).progress, queue.status(ids[0]).progress_note) == (1, None)
    messages[0].fail("x", retry_ms=0)
    assert queue.status(ids[0]).progress is None
    row = connection.execute("select count(*) from lonnymq.queue_check()").fetchone()
    assert row == (0,)


def test_bad_progress_is_refused_by_name(queue, connection) -> None:
    created(queue)
    [message] = queue.dequeue()
    for wrong in (-0.1, 1.1, float("nan"), True, "half"):
        with pytest.raises(InvalidArgument, match="progress must be a number from 0 to 1"):
            message.heartbeat(progress=wrong)
    with pytest.raises(InvalidArgument, match="note must be at most 255 bytes"):
        message.heartbeat(progress=0.5, note="x" * 256)
    with pytest.raises(InvalidArgument, match="a note needs a progress"):
        message.heartbeat(note="x")
    for values in ("array[2]::real[]", "array['nan']::real[]", "array[0.5, 0.5]::real[]"):
        with pytest.raises(psycopg.Error, match="progress must be"):
            connection.execute(
                f"select * from lonnymq.message_heartbeat(array[1], array[gen_random_uuid()], 1000, {values})"
            )
