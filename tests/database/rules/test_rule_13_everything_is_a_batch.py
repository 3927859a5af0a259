"""Rule 13: everything is a batch, one is a batch of one, and batches have edges."""

import time
from collections import Counter
from collections.abc import Sequence
from uuid import UUID, uuid4

import psycopg
import pytest

from database.rules.conftest import OpenSession, on_18
from database.rules.factories import Session, aside
from lonnymq.testing import Clock
from support import eventually

SETTLED = {
    "complete": "completed",
    "defer": "deferred",
    "fail": "retrying",
    "heartbeat": "extended",
}
every_way = pytest.mark.parametrize("how", SETTLED)


def test_a_batch_of_none_is_answered_with_nothing(session: Session) -> None:
    assert session.create_many([]) == []
    for how in SETTLED:
        assert session.settle(how, []) == []
    assert session.rows("select * from lonnymq.message_cancel('{}'::bigint[])") == []
    assert session.rows("select * from lonnymq.dead_redrive('{}'::bigint[])") == []
    assert session.value("select lonnymq.message_announce('{}'::text[])") == 0
    assert session.dequeue() == []
    assert session.check() == []


def test_many_are_created_in_the_order_given_and_keep_it(session: Session) -> None:
    channels = ["b", "a", "b", "a", "c"]
    answers = session.create_many(channels)
    assert [each.ordinal for each in answers] == [1, 2, 3, 4, 5]
    ids = [each.id for each in answers]
    assert ids == sorted(ids)
    stored = session.rows("select id, channel from lonnymq.message order by id")
    assert [(each.id, each.channel) for each in stored] == list(zip(ids, channels, strict=True))


def test_named_and_capped_and_plain_ones_keep_their_order_in_one_call(session: Session) -> None:
    session.set("capped", max_size=2)
    channels = ["z", "capped", "a", "capped", "z", "capped"]
    answers = session.create_many(channels, keys=["n", None, "m", "x", "n", None])
    assert [each.answer for each in answers] == [
        "created", "created", "created", "created", "duplicate", "rejected",
    ]  # fmt: skip
    assert answers[4].id == answers[0].id
    made = [each.id for each in answers[:4]]
    assert made == sorted(made)
    assert session.check() == []


def test_a_capacity_takes_the_first_ones_of_a_batch_that_fit(session: Session) -> None:
    session.set("a", max_size=3, when_full="drop")
    answers = session.create_many(["a"] * 5)
    assert [(each.answer, each.size) for each in answers] == [
        ("created", 1), ("created", 2), ("created", 3), ("dropped", 3), ("dropped", 3),
    ]  # fmt: skip
    assert session.check() == []


def test_a_capacity_takes_the_first_ones_of_a_batch_whatever_their_keys(session: Session) -> None:
    session.set("a", max_size=3)
    session.create("a", key="taken")
    answers = session.create_many(["a"] * 6, keys=["z", "taken", None, "b", "z", "a"])
    assert [(each.answer, each.reason, each.size, each.max_size) for each in answers] == [
        ("created", None, 2, 3),
        ("duplicate", None, 2, 3),
        ("created", None, 3, 3),
        ("rejected", "full", 3, 3),
        ("duplicate", None, 3, 3),
        ("rejected", "full", 3, 3),
    ]
    assert answers[4].id == answers[0].id
    assert [each.id is None for each in answers] == [False, False, False, True, False, True]
    assert session.create_answer("a").answer == "rejected"
    session.dequeue()
    assert session.check() == []


def test_a_name_given_twice_is_refused_twice_where_there_is_no_room(session: Session) -> None:
    session.set("a", max_size=1)
    answers = session.create_many(["a", "a", "b", "a"], keys=["m", "b", "b", "b"])
    assert [each.answer for each in answers] == ["created", "rejected", "created", "rejected"]


def test_what_another_transaction_names_meanwhile_takes_the_room_that_it_was_given(
    session: Session, open_session: OpenSession, dsn: str, direct_dsn: str
) -> None:
    session.set("a", max_size=2)
    other, watcher = open_session(dsn), open_session(direct_dsn)
    with session.open():
        held = session.create("a", key="m")
        pending = aside(lambda: other.create_many(["a"] * 3, keys=["z", "m", "b"]))
        waiting = "select count(*) from pg_stat_activity where wait_event_type = 'Lock'"
        eventually(lambda: watcher.value(waiting) == 1)
    answers = pending.result(timeout=30)
    assert [each.answer for each in answers] == ["created", "duplicate", "rejected"]
    assert answers[1].id == held
    assert session.value("select count(*) from lonnymq.message") == 2
    session.dequeue()
    assert session.check() == []


def test_many_of_a_channel_with_a_capacity_leave_one_note(session: Session) -> None:
    session.set("a", max_size=1000)
    session.dequeue()
    answers = session.create_many(["a"] * 4, dequeue_ats=[40, 10, 30, 10])
    [note] = session.rows("select dequeue_at, message_id, size from lonnymq.change")
    assert note == (10, answers[1].id, 4)
    assert [each.id for each in session.dequeue(10)] == [answers[at].id for at in (1, 3, 2, 0)]


@every_way
def test_a_pair_given_twice_is_settled_once(session: Session, how: str) -> None:
    session.set("a", max_concurrency=2)
    session.fill("a", 3)
    one, two = session.dequeue(2)
    answers = session.settle(how, [one, two, one, one])
    second = {"complete": "not_found", "heartbeat": "extended"}.get(how, "lease_lost")
    assert answers == [SETTLED[how], SETTLED[how], second, second]
    recorded = session.value("select count(*) from lonnymq.history")
    assert recorded == (0 if how == "heartbeat" else 2)
    assert session.check() == []
    session.dequeue()
    assert session.check() == []


@pytest.mark.parametrize("others", [2, 200], ids=["among few", "among many"])
def test_of_an_id_given_with_two_tokens_the_one_of_its_lease_counts(
    session: Session, others: int
) -> None:
    session.fill("a", others + 1)
    leases = session.dequeue(others + 1)
    pairs = [(each.id, each.token) for each in leases]
    given = [(pairs[0][0], uuid4()), *pairs, (pairs[0][0], uuid4())]
    assert completed(session, given) == ["not_found", *["completed"] * len(pairs), "not_found"]
    assert session.value("select count(*) from lonnymq.message") == 0


@pytest.mark.parametrize("many", [2, 200], ids=["few", "many"])
def test_with_the_tokens_of_others_nothing_is_completed(session: Session, many: int) -> None:
    session.fill("a", many)
    leases = session.dequeue(many)
    tokens = [each.token for each in reversed(leases)]
    given = list(zip([each.id for each in leases], tokens, strict=True))
    assert completed(session, given) == ["lease_lost"] * many
    assert session.value("select count(*) from lonnymq.message") == many


def test_what_is_null_or_gone_among_many_does_not_matter(session: Session) -> None:
    session.fill("a", 100)
    pairs: list[tuple[int | None, UUID | None]] = [
        (each.id, each.token) for each in session.dequeue(100)
    ]
    given = [(None, uuid4()), *pairs, (None, None), (10**15, uuid4())]
    answers = completed(session, given)
    assert answers[1:101] == ["completed"] * 100
    assert "completed" not in answers[:1] + answers[101:]


def completed(session: Session, pairs: Sequence[tuple[int | None, UUID | None]]) -> list[str]:
    """What completing these answers."""
    ids, tokens = [each[0] for each in pairs], [each[1] for each in pairs]
    rows = session.rows(
        "select * from lonnymq.message_complete(%s::bigint[], %s::uuid[])", ids, tokens
    )
    return [each.answer for each in rows]


def test_an_id_given_twice_is_cancelled_once(session: Session) -> None:
    session.set("a", max_size=5)
    ids = session.fill("a", 2)
    rows = session.rows("select * from lonnymq.message_cancel(%s::bigint[])", [*ids, ids[0]])
    assert [each.id for each in rows] == [*ids, ids[0]]
    assert rows[0].answer == rows[1].answer == "cancelled"
    session.dequeue()
    assert session.check() == []


def test_an_id_given_twice_is_redriven_once(session: Session) -> None:
    session.set("a", max_attempts=1, max_size=5)
    [dead] = session.fill("a", 1)
    session.settle("fail", session.dequeue())
    rows = session.rows("select * from lonnymq.dead_redrive(%s::bigint[])", [dead, dead])
    assert rows[0].answer == "redriven"
    assert session.value("select count(*) from lonnymq.message") == 1
    session.dequeue()
    assert session.check() == []


UNEQUAL = {
    "contents": "select lonnymq.message_create_many('{a,b}', array[''::bytea])",
    "no contents": "select lonnymq.message_create_many('{a}', null)",
    "no channels": "select lonnymq.message_create_many(null, array[''::bytea])",
    "keys": "select lonnymq.message_create_many('{a}', array[''::bytea], p_keys => '{n,m}')",
    "delays": "select lonnymq.message_create_many('{a}', array[''::bytea], p_delays_ms => '{}')",
    "complete": "select lonnymq.message_complete('{1,2}', '{}'::uuid[])",
    "complete none": "select lonnymq.message_complete(null::bigint[], null::uuid[])",
    "heartbeat": "select lonnymq.message_heartbeat('{1}', null::uuid[])",
    "defer": "select lonnymq.message_defer('{1}', array[gen_random_uuid()], p_delays_ms => '{1,2}')",
    "fail": "select lonnymq.message_fail('{1}', array[gen_random_uuid()], p_errors => '{}')",
    "limit 0": "select lonnymq.message_dequeue(0)",
    "limit -1": "select lonnymq.message_dequeue(-1)",
    "limit 10001": "select lonnymq.message_dequeue(10001)",
    "no limit": "select lonnymq.message_dequeue(null)",
    "lease 0": "select lonnymq.message_dequeue(1, 0)",
    "cursor of one": "select lonnymq.message_dequeue(1, 1000, null, '{1}')",
    "cursor of none": "select lonnymq.message_dequeue(1, 1000, null, '{}')",
}


@on_18
@pytest.mark.parametrize("statement", UNEQUAL.values(), ids=UNEQUAL)
def test_arrays_and_numbers_that_make_no_sense_are_refused_and_nothing_is_stored(
    session: Session, statement: str
) -> None:
    with pytest.raises(psycopg.Error) as rejection:
        session.rows(statement)
    assert rejection.value.sqlstate == "LM001"
    assert session.value("select count(*) from lonnymq.message") == 0


def test_one_bad_message_of_a_batch_refuses_all_of_it(session: Session) -> None:
    with pytest.raises(psycopg.Error) as rejection:
        session.create_many(["a", "b", ""])
    assert rejection.value.sqlstate == "LM001"
    assert session.value("select count(*) from lonnymq.message") == 0
    assert session.value("select count(*) from lonnymq.change") == 0


def test_more_than_ten_thousand_in_a_call_are_too_many(
    open_session: OpenSession, dsn_18: str
) -> None:
    session = open_session(dsn_18)
    for statement in (
        "select lonnymq.message_create_many(array_fill('a'::text, '{10001}'), array_fill(''::bytea, '{10001}'))",
        "select lonnymq.message_complete(array_fill(1::bigint, '{10001}'), array_fill(gen_random_uuid(), '{10001}'))",
    ):
        with pytest.raises(psycopg.Error) as rejection:
            session.rows(statement)
        assert rejection.value.sqlstate == "LM002"


@pytest.mark.heavy
@every_way
@pytest.mark.parametrize(
    "limits", [{}, {"max_concurrency": 20_000}], ids=["unlimited", "with a limit"]
)
def test_ten_thousand_are_created_dequeued_and_settled_in_one_call_each(
    open_session: OpenSession, dsn_18: str, how: str, limits: dict[str, int]
) -> None:
    session = open_session(dsn_18)
    session.set("a", **limits)
    session.create_many(["a", "b"] * 5000)
    leases = session.dequeue(10_000)
    assert len(leases) == 10_000
    leases[-1] = leases[-1]._replace(token=leases[0].token)
    answers = Counter(session.settle(how, leases))
    assert answers[SETTLED[how]] >= 9_999


@pytest.mark.heavy
@every_way
def test_a_message_costs_as_much_among_ten_thousand_as_among_a_thousand(
    open_session: OpenSession, dsn_18: str, how: str
) -> None:
    session = open_session(dsn_18)
    cost = {many: min(settle_cost(session, how, many) for _ in range(3)) for many in (1000, 10_000)}
    print(f"{how}: microseconds for each message of a batch: {cost}")
    assert cost[10_000] < 3 * cost[1000]


def settle_cost(session: Session, how: str, many: int) -> float:
    """Microseconds that a message costs which is settled among so many; nothing is kept of it."""
    session.rows("truncate lonnymq.message, lonnymq.change, lonnymq.lease, lonnymq.history")
    session.create_many(["a"] * many)
    leases = session.dequeue(many)
    assert len(leases) == many
    begun = time.perf_counter()
    session.settle(how, leases)
    return (time.perf_counter() - begun) / many * 1e6


@pytest.mark.parametrize("how", ["defer", "fail"])
def test_many_that_run_again_leave_one_note_for_each_channel_with_its_first_message(
    session: Session, clock: Clock, how: str
) -> None:
    session.set("a", max_concurrency=10)
    session.fill("a", 4)
    session.fill("b", 1)
    leases = sorted(session.dequeue(10))
    session.dequeue()
    delays = [3000, 2000, 2000, 4000, 1000]
    times = {"defer": "delays_ms", "fail": "retries_ms"}[how]
    session.settle(how, leases[::-1], **{times: delays[::-1]})
    notes = session.rows(
        "select channel, dequeue_at, message_id, slots, size from lonnymq.change order by channel"
    )
    assert notes == [
        ("a", clock.now() + 2000, leases[1].id, 4, 0),
        ("b", clock.now() + 1000, leases[4].id, 0, 0),
    ]
    clock.advance(5000)
    again = {each.id for each in session.dequeue(10)}
    assert again == {each.id for each in leases}
    assert session.check() == []


def test_of_many_that_fail_the_dead_are_counted_and_the_first_that_runs_again_is_told(
    session: Session, clock: Clock
) -> None:
    session.set("a", max_concurrency=10, max_size=100)
    session.set("b", max_size=100)
    session.fill("a", 3)
    session.fill("b", 2)
    session.fill("c", 1)
    leases = sorted(session.dequeue(10))
    session.dequeue()
    deads = [True, False, False, True, True, True]
    answers = session.settle("fail", leases, deads=deads, retries_ms=[1, 9, 5, 1, 1, 1])
    assert answers == ["dead", "retrying", "retrying", "dead", "dead", "dead"]
    notes = session.rows(
        "select channel, dequeue_at, message_id, slots, size from lonnymq.change order by channel"
    )
    assert notes == [("a", clock.now() + 5, leases[2].id, 3, -1), ("b", None, None, 0, -2)]
    clock.advance(10)
    assert [each.id for each in session.dequeue(10)] == [leases[2].id, leases[1].id]
    assert session.check() == []


def test_a_batch_of_names_from_two_sides_is_created_once(
    session: Session, another: Session
) -> None:
    keys = [f"n{number}" for number in range(20)]
    first = session.create_many(["a"] * 20, keys=keys)
    second = another.create_many(["a"] * 20, keys=keys[::-1])
    assert {each.answer for each in second} == {"duplicate"}
    assert [each.id for each in second] == [each.id for each in first][::-1]


def test_a_dequeue_gives_fewer_when_there_are_fewer(session: Session, clock: Clock) -> None:
    session.fill("a", 3)
    session.create("b", delay_ms=1)
    assert len(session.dequeue(10)) == 3
    clock.advance(1)
    assert len(session.dequeue(10)) == 1
