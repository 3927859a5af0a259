from typing import Any

import pytest

from database.claims.claim_reader import Reader, history
from database.rules.conftest import on_18
from database.rules.factories import Session
from lonnymq.testing import Clock

pytestmark = on_18


def test_an_acknowledged_claim_is_completed_part_by_part(session: Session) -> None:
    ids = session.fill("a", 5)
    reader = Reader(session)
    [token] = {reader.take(limit=2).token for _ in range(3)}
    settled = [reader.acknowledge(1, token) for _ in range(3)]
    assert [(each.completed, each.is_more) for each in settled] == [
        (2, True),
        (2, True),
        (1, False),
    ]
    assert history(session) == [(each, "completed") for each in ids]
    assert reader.parts() == []
    assert session.value("select acknowledged from lonnymq.stream_list()") == 1
    assert session.column("select 1 from lonnymq.lease") == []
    assert session.check() == []


def test_an_acknowledgement_may_be_said_twice(session: Session) -> None:
    session.fill("a", 2)
    reader = Reader(session)
    token = reader.take().token
    assert reader.acknowledge(1, token).completed == 2
    again = reader.acknowledge(1, token)
    assert (again.completed, again.lost, again.is_more) == (0, 0, False)


def test_an_acknowledged_claim_frees_its_channels(session: Session) -> None:
    session.queue_set(max_concurrency=3)
    session.set("a", max_concurrency=2, max_size=9)
    session.fill("a", 6)
    reader = Reader(session)
    for seq in (1, 2, 3):
        taken = reader.take(seq)
        assert taken.messages == 2
        reader.acknowledge(seq, taken.token)
    assert session.check() == []


def test_what_was_said_of_single_messages_comes_of_them(session: Session) -> None:
    session.set("a", retry_delays_ms=[60_000], retry_jitter=0)
    session.fill("a", 5)
    reader = Reader(session)
    token = reader.take().token
    done, later, failed, dead, text = reader.messages()
    assert reader.decide(later, "defer", delays_ms=5000, states=b"half") == "decided"
    assert reader.decide(failed, "fail", errors="no") == "decided"
    assert reader.decide(dead, "dead", errors="never") == "decided"
    assert reader.decide(text, "defer") == "decided"
    assert reader.decide(text, "complete") == "decided"
    settled = reader.acknowledge(1, token)
    assert tuple(settled) == (2, 1, 1, 1, 0, False)
    assert dict(history(session)) == {
        done.id: "completed",
        later.id: "deferred",
        failed.id: "failed",
        dead.id: "dead",
        text.id: "completed",
    }
    left = session.rows("select id, state, attempt, error from lonnymq.message order by id")
    assert [tuple(each) for each in left] == [
        (later.id, b"half", 0, None),
        (failed.id, None, 1, "no"),
    ]
    assert session.column("select 1 from lonnymq.claim_outcome") == []
    assert session.check() == []


def test_nothing_can_be_said_of_another_s_message(session: Session) -> None:
    session.fill("a", 1)
    reader = Reader(session)
    reader.take()
    [message] = reader.messages()
    reader.release(1)
    assert reader.decide(message, "fail") == "lease_lost"


def test_messages_whose_leases_ran_out_are_counted(
    session: Session,
    another: Session,
    clock: Clock,
) -> None:
    session.fill("a", 3)
    reader = Reader(session)
    token = reader.take(lease_ms=1000).token
    clock.advance(2000)
    [lease, *_] = another.dequeue(1)
    settled = reader.acknowledge(1, token)
    assert (settled.completed, settled.lost) == (0, 3)
    assert another.complete(lease) == ["completed"]
    assert session.check() == []


def test_a_message_that_a_claim_leases_again_has_another_token(
    session: Session, another: Session, clock: Clock
) -> None:
    session.fill("a", 2)
    reader = Reader(session)
    reader.take(lease_ms=1000)
    old = reader.messages()
    clock.advance(2000)
    token = reader.take(lease_ms=60_000).token
    new = reader.messages()[2:]
    assert [each.id for each in new] == [each.id for each in old]
    assert another.settle("complete", old) == ["lease_lost"] * 2
    assert another.settle("heartbeat", old) == ["lease_lost"] * 2
    assert reader.decide(old[0], "dead") == "lease_lost"
    assert [(each.held, each.lost) for each in reader.renew()] == [(2, 2)]
    read = "select id from lonnymq.claim_read('s', 1, %s, %s, 1, 2)"
    assert [len(session.rows(read, token, part)) for part in (1, 2)] == [0, 2]
    assert session.rows(read, "0" * 16, 2) == []
    settled = [reader.acknowledge(1, token) for _ in range(2)]
    assert [(each.completed, each.lost) for each in settled] == [(0, 2), (2, 0)]
    assert session.check() == []


def test_what_was_said_of_messages_is_done_part_by_part(session: Session) -> None:
    session.fill("a", 4)
    reader = Reader(session)
    token = reader.take(limit=2).token
    reader.take(limit=2)
    for message in reader.messages():
        assert reader.decide(message, "dead") == "decided"
    assert reader.acknowledge(1, token).dead == 2
    assert len(session.column("select 1 from lonnymq.claim_outcome")) == 2
    assert reader.release(1) == "released"
    assert session.column("select 1 from lonnymq.claim_outcome") == []
    assert len(session.dequeue(10)) == 2
    assert session.check() == []


def test_a_part_that_was_taken_before_parts_had_tokens_is_settled(session: Session) -> None:
    session.fill("a", 4)
    reader = Reader(session)
    token = reader.take(limit=2).token
    reader.take(limit=2)
    session.rows("update lonnymq.claim_part set token = null")
    session.rows(
        "update lonnymq.message set token = (%s || lpad(to_hex(id), 16, '0'))::uuid", token
    )
    read = "select id from lonnymq.claim_read('s', 1, %s, 2, 1, 2)"
    assert len(session.rows(read, token)) == 2
    assert reader.renew()[0].held == 4
    for message in reader.messages():
        assert reader.decide(message, "fail") == "decided"
    settled = [reader.acknowledge(1, token) for _ in range(2)]
    assert [(each.retrying, each.is_more) for each in settled] == [(2, True), (2, False)]
    assert session.column("select 1 from lonnymq.claim_outcome") == []


def test_a_claim_that_the_caller_does_not_know_is_given_back(session: Session) -> None:
    ids = session.fill("a", 2)
    reader = Reader(session)
    reader.take()
    settled = reader.acknowledge(1, "0" * 16)
    assert (settled.completed, settled.lost) == (0, 0)
    assert [each.id for each in session.dequeue(10)] == ids
    assert session.column("select attempt from lonnymq.message") == [1, 1]


def test_a_claim_that_is_released_never_was(session: Session) -> None:
    ids = session.fill("a", 3)
    session.set("a", max_concurrency=3)
    reader = Reader(session)
    reader.take()
    assert reader.release(1) == "released"
    assert reader.release(1) == "not_found"
    again = session.dequeue(10)
    assert [(each.id, each.attempt) for each in again] == [(each, 1) for each in ids]
    assert session.check() == []


def test_a_dropped_stream_gives_all_back(session: Session) -> None:
    session.fill("a", 3)
    reader = Reader(session)
    reader.take(1, limit=2)
    reader.take(2, limit=2)
    drop = "select lonnymq.stream_drop('s')"
    assert (session.value(drop), session.value(drop)) == ("dropped", "not_found")
    assert len(session.dequeue(10)) == 3


def test_the_streams_are_listed_with_what_they_hold(session: Session) -> None:
    session.fill("a", 3)
    Reader(session, "idle")
    Reader(session, "busy").take()
    listed = session.rows("select name, epoch, claims, messages from lonnymq.stream_list()")
    assert [tuple(each) for each in listed] == [("busy", 1, 1, 3), ("idle", 1, 0, 0)]


def test_a_renewed_claim_outlives_its_lease(session: Session, clock: Clock) -> None:
    session.fill("a", 2)
    reader = Reader(session)
    token = reader.take(lease_ms=1000).token
    for _ in range(3):
        clock.advance(800)
        [held] = reader.renew(1000)
        assert (held.held, held.lost) == (2, 0)
        session.maintain()
    assert session.check() == []
    assert reader.acknowledge(1, token).completed == 2


def test_a_claim_is_not_renewed_beyond_its_timeout(session: Session, clock: Clock) -> None:
    ids = session.fill("a", 2)
    reader = Reader(session)
    reader.take(lease_ms=1000, timeout_ms=1500)
    clock.advance(800)
    assert reader.renew(1000)[0].held == 2
    clock.advance(800)
    reader.renew(1000)
    session.maintain()
    assert reader.renew(1000)[0].lost == 2
    assert [each.id for each in session.dequeue(10)] == ids


@pytest.mark.parametrize("outcome", ["done", None])
def test_an_outcome_that_is_none_is_refused(session: Session, outcome: Any) -> None:
    session.fill("a", 1)
    reader = Reader(session)
    reader.take()
    with pytest.raises(Exception, match="outcome must be complete, defer, fail or dead"):
        reader.decide(reader.messages()[0], outcome)
