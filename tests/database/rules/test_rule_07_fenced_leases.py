"""Rule 7: only the token of the present lease settles a message, and every answer says what was found."""

from uuid import uuid4

import pytest

from database.rules.conftest import on_18
from database.rules.factories import Lease, Session
from lonnymq.testing import Clock

SETTLE = {
    "complete": "completed",
    "defer": "deferred",
    "fail": "retrying",
    "heartbeat": "extended",
}
every_way = pytest.mark.parametrize("how", SETTLE)


def run_out_and_lease_again(session: Session, clock: Clock) -> tuple[Lease, Lease]:
    """A lease that ran out, and the one that took its place."""
    session.create("a")
    [stale] = session.dequeue(1, 1000)
    clock.advance(1001)
    [present] = session.dequeue(1, 60_000)
    assert present.id == stale.id
    return stale, present


@every_way
def test_a_stale_token_is_refused_and_changes_nothing(
    session: Session, clock: Clock, how: str
) -> None:
    stale, present = run_out_and_lease_again(session, clock)
    before = session.rows("select * from lonnymq.message")
    assert session.settle(how, [stale]) == ["lease_lost"]
    assert session.rows("select * from lonnymq.message") == before
    assert session.settle(how, [present]) == [SETTLE[how]]


@every_way
def test_in_a_batch_each_lease_is_judged_by_its_own_token(
    session: Session, clock: Clock, how: str
) -> None:
    stale, present = run_out_and_lease_again(session, clock)
    session.fill("b", 2)
    good, gone = session.dequeue(2, 60_000)
    session.complete(gone)
    made_up = good._replace(token=uuid4())
    unknown = made_up._replace(id=10**12)
    answers = session.settle(how, [stale, good, gone, unknown])
    assert answers == ["lease_lost", SETTLE[how], "not_found", "not_found"]
    if how == "heartbeat":
        assert session.settle(how, [made_up, good]) == ["lease_lost", "extended"]
    assert session.settle(how, [present]) == [SETTLE[how]]


@every_way
def test_a_stale_token_beside_the_right_one_of_the_same_message_is_told_apart(
    session: Session, clock: Clock, how: str
) -> None:
    stale, present = run_out_and_lease_again(session, clock)
    rejected = "not_found" if how == "complete" else "lease_lost"
    assert session.settle(how, [stale, present]) == [rejected, SETTLE[how]]


@on_18
@every_way
def test_the_token_of_another_message_settles_nothing(session: Session, how: str) -> None:
    session.fill("a", 2)
    one, two = session.dequeue(2)
    strange = two._replace(token=one.token)
    assert session.settle(how, [one, strange]) == [SETTLE[how], "lease_lost"]
    assert session.settle("heartbeat", [two]) == ["extended"]


@on_18
@pytest.mark.parametrize("how", ["complete", "defer", "fail"])
@pytest.mark.parametrize("second", SETTLE)
def test_a_lease_ends_once(session: Session, how: str, second: str) -> None:
    session.create("a")
    leases = session.dequeue()
    assert session.settle(how, leases) == [SETTLE[how]]
    assert session.settle(second, leases) == ["not_found" if how == "complete" else "lease_lost"]
    assert session.value("select count(*) from lonnymq.history") == 1


@on_18
@every_way
def test_a_waiting_message_has_no_token_that_could_settle_it(session: Session, how: str) -> None:
    waiting = session.create("a")
    statement = f"select lonnymq.message_{how}(%s, %s::uuid)"
    assert session.value(statement, waiting, uuid4()) == "lease_lost"
    assert session.value(statement, waiting, None) == "lease_lost"
    assert len(session.dequeue()) == 1


@on_18
@every_way
def test_one_message_and_a_batch_of_one_are_answered_alike(session: Session, how: str) -> None:
    session.create("a")
    [lease] = session.dequeue()
    statement = f"select lonnymq.message_{how}(%s, %s::uuid)"
    assert session.value(statement, lease.id, uuid4()) == "lease_lost"
    assert session.value(statement, lease.id, lease.token) == SETTLE[how]
    assert session.value(statement, 10**12, uuid4()) == "not_found"


def test_every_lease_has_a_random_token_of_its_own(session: Session, clock: Clock) -> None:
    session.fill("a", 50)
    tokens = [each.token for each in session.dequeue(50, 1000)]
    clock.advance(1001)
    tokens += [each.token for each in session.dequeue(50, 1000)]
    assert len(tokens) == len(set(tokens)) == 100
    drawn = {str(each).replace("-", "")[:16] for each in tokens}
    assert len(drawn) == 2, "each dequeue draws a random number of its own"


@pytest.mark.parametrize("how", ["complete", "defer", "fail"])
def test_a_heartbeat_does_not_wait_for_the_transaction_that_is_settling_its_lease(
    session: Session, another: Session, how: str
) -> None:
    session.fill("a", 2)
    settled, kept = session.dequeue(2)
    with another.connection.transaction(force_rollback=True):
        another.settle(how, [settled])
        assert session.settle("heartbeat", [settled, kept]) == ["settling", "extended"]
    assert session.settle("heartbeat", [settled, kept]) == ["extended", "extended"]


def test_what_is_being_settled_when_its_lease_runs_out_stays_with_its_settler(
    session: Session, another: Session, clock: Clock
) -> None:
    session.create("a")
    [lease] = session.dequeue(1, 1000)
    with another.open():
        another.complete(lease)
        clock.advance(5000)
        assert session.dequeue() == []
        assert session.maintain().expired == 0
    clock.advance(5000)
    assert session.dequeue() == []
    assert session.column("select outcome from lonnymq.history") == ["completed"]
    assert session.check() == []


def test_a_settlement_that_waited_for_the_expiry_of_its_lease_is_refused(
    session: Session, another: Session, clock: Clock
) -> None:
    """The other order: the expiry is committed first, in a dequeue that leases the message anew."""
    stale, _ = run_out_and_lease_again(session, clock)
    assert another.complete(stale) == ["lease_lost"]
    assert session.value("select count(*) from lonnymq.history where outcome = 'completed'") == 0


def test_a_completion_that_is_rolled_back_leaves_the_lease_as_it_was(session: Session) -> None:
    session.set("a", max_concurrency=1)
    session.create("a")
    [lease] = session.dequeue()
    with session.connection.transaction(force_rollback=True):
        assert session.complete(lease) == ["completed"]
    assert session.settle("heartbeat", [lease]) == ["extended"]
    assert session.complete(lease) == ["completed"]
    assert session.check() == []
