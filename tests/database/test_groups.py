"""Groups: when every member has ended, exactly one callback message is created, by whoever ends the last one."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import permutations, product
from typing import Any

import psycopg
import pytest

from lonnymq import NewMessage, Queue, Task
from lonnymq.errors import InvalidArgument
from support import eventually, message_id

ISOLATIONS = ("read committed", "repeatable read", "serializable")
Step = Callable[[psycopg.Connection], object]


@pytest.fixture
def queue(dsn):
    with Queue(dsn) as queue:
        yield queue


def callbacks(queue: Queue) -> list[dict[str, Any]]:
    """The counts of the callback messages that there are."""
    return [each.headers["group"] for each in queue.peek("done", limit=100) if each.headers]


def open_group(queue: Queue, members: int, *, seal: bool = True) -> int:
    group = queue.group_create("done", b"all", kind="report")
    queue.create_many([b"x"] * members, channel="acme", group=group)
    if seal:
        assert queue.group_seal(group) == "sealed"
    return group


def test_a_callback_with_the_counts_is_created_when_the_last_member_ends(queue) -> None:
    with queue.group("done", b"all", kind="report", headers={"by": "me"}) as group:
        queue.create_many([b"1", b"2"], channel="acme", group=group)
        for content in (b"3", b"4"):
            queue.create("acme", content, group=group)
        queue.channel("acme").create(b"5", group=group)
    completed, many, dead, cancelled, purged = queue.peek("acme")
    assert (queue.group_status(group).state, queue.group_status(group).remaining) == ("sealed", 5)
    leases = {each.id: each for each in queue.dequeue(4)}
    queue.complete(leases[completed.id])
    queue.complete_many([leases[many.id]])
    leases[dead.id].fail("broken", dead=True)
    queue.cancel(cancelled.id)
    assert callbacks(queue) == []
    assert queue.purge("acme") == 1
    [callback] = queue.dequeue(5)
    assert (callback.channel, callback.kind, callback.content) == ("done", "report", b"all")
    counts = {"id": group, "completed": 2, "dead": 1, "cancelled": 2}
    assert callback.headers == {"by": "me", "group": counts}
    status = queue.group_status(group)
    assert (status.state, status.remaining, status.callback_id) == ("ended", 0, callback.id)
    assert (status.completed, status.dead, status.cancelled) == (2, 1, 2)
    queue.dead_redrive([dead.id])
    queue.dequeue()[0].complete()
    assert callbacks(queue) == [counts]
    assert queue.check() == []
    assert purged.id


def test_a_group_ends_when_it_is_sealed_and_a_group_without_members_ends_at_once(queue) -> None:
    group = open_group(queue, 2, seal=False)
    queue.complete_many(queue.dequeue(2))
    assert (callbacks(queue), queue.group_status(group).state) == ([], "open")
    assert queue.group_seal(group) == "sealed"
    assert [each["completed"] for each in callbacks(queue)] == [2]
    assert queue.group_seal(group) == "already_sealed"
    empty = open_group(queue, 0)
    assert queue.group_status(empty).state == "ended"
    assert len(callbacks(queue)) == 2
    assert (queue.group_seal(999), queue.group_status(999).state) == ("not_found", "not_found")


def test_a_block_that_fails_leaves_the_group_open(queue) -> None:
    with pytest.raises(ZeroDivisionError), queue.group("done", b"all") as group:
        raise ZeroDivisionError
    assert queue.group_status(group).state == "open"


def test_members_add_members_until_the_last_one_has_ended(queue) -> None:
    group = open_group(queue, 1)
    for _ in range(3):
        [message] = queue.dequeue()
        queue.create("acme", b"child", group=group)
        message.complete()
        assert callbacks(queue) == []
    queue.dequeue()[0].complete()
    assert [each["completed"] for each in callbacks(queue)] == [4]
    with pytest.raises(InvalidArgument, match=f"group {group} does not exist or has ended"):
        queue.create("acme", b"late", group=group)
    assert queue.peek("acme") == []


def test_a_duplicate_is_no_member_and_a_message_is_in_one_group_at_most(queue) -> None:
    queue.create("acme", b"x", key="k")
    group = queue.group_create("done", b"all")
    first = queue.create("acme", b"x", key="k", group=group)
    assert queue.group_status(group).remaining == 0
    assert queue.group_add(group, [message_id(first)]) == 1
    with pytest.raises(InvalidArgument, match=r"message \d+ cannot be added to group \d+: "):
        queue.group_add(queue.group_create("done", b"all"), [message_id(first)])
    with pytest.raises(InvalidArgument, match=r"message 999 cannot be added"):
        queue.group_add(group, [999])


def test_a_task_creates_members(queue) -> None:
    task = Task("encode", str)
    with queue.group("done", b"all") as group:
        task.create(queue, "a", channel="acme", group=group)
        task.create_many(queue, ["b", "c"], channel="acme", group=group)
    assert queue.group_status(group).remaining == 3


def test_bad_arguments_are_refused(queue) -> None:
    with pytest.raises(InvalidArgument, match="group must be a whole number, not str 'x'"):
        queue.create("acme", b"x", group="x")
    with pytest.raises(InvalidArgument, match="channel must be 1 to 255 bytes"):
        queue.group_create("", b"x")
    with pytest.raises(InvalidArgument, match="group 7 does not exist"):
        queue.create_many([NewMessage(b"x", "acme")], group=7)
    assert queue.peek("acme") == []


def test_a_full_channel_takes_the_callback(queue) -> None:
    queue.channel_set("done", max_size=1)
    queue.create("done", b"first")
    open_group(queue, 1)
    [message] = [each for each in queue.dequeue(2) if each.channel == "acme"]
    message.complete()
    assert len(callbacks(queue)) == 1
    assert queue.check() == []


def test_a_lease_that_runs_out_for_the_last_time_ends_the_group(queue, direct_dsn) -> None:
    queue.channel_set("acme", max_attempts=1)
    open_group(queue, 1)
    queue.dequeue(lease_ms=1)
    eventually(lambda: queue.maintain().died == 1)
    assert [each["dead"] for each in callbacks(queue)] == [1]


def test_a_lease_that_runs_out_beside_an_open_completion_waits_for_nobody(
    queue, direct_dsn
) -> None:
    queue.channel_set("acme", max_attempts=1)
    open_group(queue, 2)
    [held] = queue.dequeue()
    with psycopg.connect(direct_dsn) as other:
        queue.complete(held, using=other)
        queue.dequeue(lease_ms=1)
        eventually(lambda: queue.maintain().died == 1)
        queue.maintain()
        assert callbacks(queue) == []
    queue.maintain()
    [counts] = callbacks(queue)
    assert (counts["completed"], counts["dead"]) == (1, 1)


def test_tallies_are_added_up_and_ended_groups_forgotten_with_history(queue, direct_dsn) -> None:
    group = open_group(queue, 130)
    for message in queue.dequeue(129):
        message.complete()
    queue.maintain()
    with psycopg.connect(direct_dsn) as connection:
        rows = connection.execute("select completed from lonnymq.group_tally").fetchall()
    assert rows == [(129,)]
    queue.dequeue()[0].complete()
    assert [each["completed"] for each in callbacks(queue)] == [130]
    queue.set(history_keep_ms=1)
    eventually(lambda: queue.maintain() and queue.group_status(group).state == "not_found")


class Actor:
    """A transaction in a thread of its own: its steps run one after another, and may have to wait."""

    def __init__(self, dsn: str, isolation: str, steps: Sequence[Step]) -> None:
        self.connection = psycopg.connect(dsn)
        self.connection.execute(f"set transaction isolation level {isolation}".encode())
        self.connection.execute("select from lonnymq.message")  # the snapshot of a fixed one
        self.pid = self.connection.info.backend_pid
        self.threads = ThreadPoolExecutor(1)
        self.steps, self.failed = list(steps), False
        self.future: Future[None] | None = None

    def start_next(self) -> None:
        step = self.steps.pop(0)

        def run() -> None:
            try:
                if not self.failed:
                    step(self.connection)
            except psycopg.Error:
                self.failed = True
                self.connection.rollback()

        self.future = self.threads.submit(run)

    def close(self) -> None:
        self.threads.shutdown()
        self.connection.close()


def orders(*lengths: int) -> Iterator[tuple[int, ...]]:
    """All orders in which actors can take their steps."""
    steps = [index for index, length in enumerate(lengths) for _ in range(length)]
    return iter(sorted(set(permutations(steps))))


def play(dsn: str, order: Sequence[int], isolation: str, scripts: Sequence[Sequence[Step]]) -> bool:
    """Run the steps in this order. A step that waits for a lock is left waiting, and the next one begins.

    Answers whether a step failed.
    """
    actors = [Actor(dsn, isolation, steps) for steps in scripts]
    with psycopg.connect(dsn, autocommit=True) as watcher:
        for index in order:
            actors[index].start_next()
            running = [each for each in actors if each.future is not None]
            eventually(partial(are_settled, watcher, running))
        for actor in actors:
            assert actor.future is not None
            actor.future.result(60)
            actor.close()
    return any(each.failed for each in actors)


def are_settled(watcher: psycopg.Connection, actors: Sequence[Actor]) -> bool:
    return all(is_settled(watcher, each) for each in actors)


def is_settled(watcher: psycopg.Connection, actor: Actor) -> bool:
    assert actor.future is not None
    if actor.future.done():
        return True
    blocked = "select cardinality(pg_blocking_pids(%s)) > 0"
    row = watcher.execute(blocked, (actor.pid,)).fetchone()
    return bool(row and row[0])


def commit(connection: psycopg.Connection) -> None:
    connection.commit()


def rollback(connection: psycopg.Connection) -> None:
    connection.rollback()


def executing(query: str, *values: object) -> Step:
    return lambda connection: connection.execute(query.encode(), values)


def completing(lease: Any) -> Step:
    return executing("select lonnymq.message_complete(%s, %s::uuid)", lease.id, str(lease.token))


def finish(queue: Queue, group: int, members: int) -> None:
    """End what was rolled back, and look: one callback, with every member counted."""
    for message in queue.peek("acme", limit=100):
        queue.cancel(message.id)
    queue.group_seal(group)
    queue.maintain()
    [counts] = [each for each in callbacks(queue) if each["id"] == group]
    assert counts["completed"] + counts["cancelled"] == members, counts
    assert Counter(queue.check()) == Counter()


def end_the_two_last_in_all_orders(queue: Queue, dsn: str, isolation: str) -> None:
    for order, ends in product(orders(2, 2), product((commit, rollback), repeat=2)):
        group = open_group(queue, 2)
        leases = queue.dequeue(2, channels=["acme"])
        scripts = [[completing(lease), end] for lease, end in zip(leases, ends, strict=True)]
        has_failed = play(dsn, order, isolation, scripts)
        assert not (has_failed and isolation == "read committed")
        finish(queue, group, 2)


@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_two_last_completions_in_open_transactions_make_one_callback(
    queue, direct_dsn, isolation
) -> None:
    end_the_two_last_in_all_orders(queue, direct_dsn, isolation)


@pytest.mark.parametrize(
    ("function", "kind", "body"),
    [
        ("group_wait", "text", "return 'delegated'"),
        (
            "group_alive",
            "boolean",
            "return exists (select from lonnymq.message where group_id = p_group)",
        ),
    ],
)
def test_a_variant_that_does_not_wait_is_found_out(queue, direct_dsn, function, kind, body) -> None:
    with psycopg.connect(direct_dsn) as connection:
        connection.execute(
            f"create or replace function lonnymq.{function}(p_group bigint) returns {kind} "
            f"language plpgsql as $$begin {body}; end$$".encode()
        )
    with pytest.raises((AssertionError, ValueError)):
        end_the_two_last_in_all_orders(queue, direct_dsn, "read committed")


@pytest.mark.long
@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_two_completions_and_the_seal_make_one_callback(queue, direct_dsn, isolation) -> None:
    for order in orders(2, 2, 2):
        group = open_group(queue, 2, seal=False)
        first, second = queue.dequeue(2, channels=["acme"])
        scripts = [
            [completing(first), commit],
            [completing(second), commit],
            [executing("select lonnymq.group_seal(%s)", group), commit],
        ]
        has_failed = play(direct_dsn, order, isolation, scripts)
        assert not (has_failed and isolation == "read committed"), order
        finish(queue, group, 2)


@pytest.mark.long
@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_completions_beside_an_addition_make_one_callback(queue, direct_dsn, isolation) -> None:
    added = "select lonnymq.group_add(%s, array(select r.id from lonnymq.message_create('acme', 'x') r))"
    for order in orders(2, 2, 2):
        group = open_group(queue, 2)
        first, second = queue.dequeue(2, channels=["acme"])
        scripts = [
            [completing(first), commit],
            [completing(second), commit],
            [executing(added, group), commit],
        ]
        play(direct_dsn, order, isolation, scripts)
        queue.maintain()
        later = len(queue.peek("acme"))
        status = queue.group_status(group)
        assert status.state == ("sealed" if later else "ended"), order
        finish(queue, group, status.completed + later)


def test_a_message_that_expires_while_it_waits_ends_the_group(queue) -> None:
    with queue.group("done", b"all") as group:
        queue.create("acme", b"x", expires_at=1, group=group)
    eventually(lambda: queue.maintain() and queue.group_status(group).state == "ended")
    assert [each["cancelled"] for each in callbacks(queue)] == [1]


def impatient(dsn: str) -> psycopg.Connection:
    """A connection whose statements may not wait for an open transaction."""
    return psycopg.connect(dsn, autocommit=True, options="-c statement_timeout=20s")


COMPLETE_MANY = "select answer from lonnymq.message_complete(%s::bigint[], %s::uuid[])"


def complete_all(connection: psycopg.Connection, leases: Sequence[Any]) -> list[str]:
    given = [each.id for each in leases], [str(each.token) for each in leases]
    return [word for [word] in connection.execute(COMPLETE_MANY, given)]


def test_an_open_completion_of_a_member_holds_no_other_settlement_up(queue, direct_dsn) -> None:
    open_group(queue, 2)
    queue.create("another tenant", b"x")
    held, *others = sorted(queue.dequeue(3), key=lambda each: each.channel != "acme")
    with psycopg.connect(direct_dsn) as open_one, impatient(direct_dsn) as other:
        queue.complete(held, using=open_one)
        assert complete_all(other, others) == ["completed", "completed"]
        queue.maintain()
        assert callbacks(queue) == []
    queue.maintain()
    assert [each["completed"] for each in callbacks(queue)] == [2]


def test_settlements_of_members_of_the_same_groups_are_no_deadlock(queue, direct_dsn) -> None:
    groups = [open_group(queue, 2) for _ in range(3)]
    leases = sorted(queue.dequeue(6), key=lambda each: each.id)
    with psycopg.connect(direct_dsn) as one, psycopg.connect(direct_dsn) as other:
        assert complete_all(one, leases[0::2]) == ["completed"] * 3
        assert complete_all(other, leases[1::2]) == ["completed"] * 3
        one.commit()
    queue.maintain()
    assert sorted(each["id"] for each in callbacks(queue)) == groups


def test_an_open_addition_to_a_sealed_group_holds_no_settlement_up(queue, direct_dsn) -> None:
    group = open_group(queue, 1)
    [lease] = queue.dequeue()
    with psycopg.connect(direct_dsn) as open_one, impatient(direct_dsn) as other:
        queue.create("acme", b"later", group=group, using=open_one)
        assert complete_all(other, [lease]) == ["completed"]
    queue.maintain()
    assert callbacks(queue) == []
    queue.dequeue()[0].complete()
    queue.maintain()
    assert [each["completed"] for each in callbacks(queue)] == [2]


def test_a_message_that_is_given_twice_is_named(queue) -> None:
    first = message_id(queue.create("acme", b"x"))
    with pytest.raises(InvalidArgument, match=f"message {first} cannot be added"):
        queue.group_add(queue.group_create("done", b"all"), [first, first])
