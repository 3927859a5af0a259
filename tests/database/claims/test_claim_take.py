from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from typing import Any

import psycopg
import pytest

from database.claims.claim_reader import Reader
from database.rules.conftest import on_18
from database.rules.factories import Session, numbered
from support import eventually

pytestmark = on_18

# A clock that is a millisecond on whenever somebody looks at it.
TICKING = """
create sequence lonnymq.test_tick;
create or replace function lonnymq.epoch(p_at timestamptz default clock_timestamp())
returns bigint language sql volatile as $$
  select floor(extract(epoch from p_at) * 1000)::bigint + nextval('lonnymq.test_tick')
$$
"""

BEGUN = """
    insert into lonnymq.claim (stream, seq, made_at, token) values ('s', 1, 1, '0123456789abcdef')
    returning seq
"""
WAITING = "select cardinality(pg_blocking_pids(%s)) > 0"


def test_a_claim_leases_messages_and_remembers_them(session: Session) -> None:
    ids = session.fill("acme", 3)
    reader = Reader(session)
    taken = reader.take(limit=10)
    assert (taken.answer, taken.messages) == ("claimed", 3)
    held = reader.messages()
    assert [each.id for each in held] == ids
    digits = session.column("select token from lonnymq.claim_part")
    assert [each.token.hex for each in held] == [f"{digits[0]}{each.id:016x}" for each in held]
    assert digits != [taken.token]
    assert {(each.worker, each.attempt) for each in held} == {("s", 1)}
    assert session.dequeue(10) == []
    assert session.check() == []


def test_parts_of_a_claim_are_known_by_one_token(session: Session) -> None:
    session.fill("acme", 3)
    reader = Reader(session)
    tokens = {reader.take(limit=1).token for _ in range(3)}
    assert len(tokens) == 1
    assert [(each.part, each.messages) for each in reader.parts()] == [(1, 1), (2, 1), (3, 1)]


@pytest.mark.parametrize("limit", [1, 7, 30, 100])
def test_channels_are_taken_from_in_turn(session: Session, limit: int) -> None:
    for channel in numbered("c", 7):
        session.fill(channel, 10)
    reader = Reader(session)
    seq = 0
    while reader.take(seq := seq + 1, limit=limit).answer == "claimed":
        counts = Counter(each.channel for each in reader.messages())
        spread = max(counts.values()) - min(counts[channel] for channel in numbered("c", 7))
        assert spread <= 1 + -(-limit // 7)
    assert len(reader.messages()) == 70


def test_a_weight_is_so_many_messages_a_turn(session: Session) -> None:
    session.set("heavy", weight=3)
    session.fill("heavy", 30)
    session.fill("light", 30)
    reader = Reader(session)
    reader.take(limit=20)
    assert Counter(each.channel for each in reader.messages()) == {"heavy": 15, "light": 5}


def test_no_limit_is_exceeded(session: Session) -> None:
    session.set("few", max_concurrency=2)
    session.set("slow", min_interval_ms=3_600_000, burst=3)
    for channel in ("few", "slow", "free"):
        session.fill(channel, 10)
    reader = Reader(session)
    reader.take(limit=100)
    assert reader.take(limit=100).answer == "empty"
    held = Counter(each.channel for each in reader.messages())
    assert held == {"few": 2, "slow": 3, "free": 10}
    assert session.check() == []


def test_the_limit_of_the_queue_is_not_exceeded(session: Session) -> None:
    session.queue_set(max_concurrency=5)
    session.fill("a", 10)
    session.fill("b", 10)
    reader = Reader(session)
    assert reader.take(limit=100).messages == 5
    assert session.dequeue(10) == []
    assert session.check() == []


def test_somebody_looks_when_the_first_lease_of_a_claim_ends(session: Session) -> None:
    session.connection.execute(TICKING)
    for channel in ("a", "b"):
        session.set(channel, max_concurrency=9)
        session.fill(channel, 9)
    reader = Reader(session)
    assert reader.take(limit=5).messages == 5  # two rounds of both, then one of one
    assert len({each.lease_until for each in reader.messages()}) == 2
    assert session.check() == []


def test_only_the_channels_that_are_named_are_taken_from(session: Session) -> None:
    for channel in ("a", "b", "c"):
        session.fill(channel, 2)
    reader = Reader(session)
    assert reader.take(channels=["a", "c", "c", "nobody"]).messages == 4
    assert {each.channel for each in reader.messages()} == {"a", "c"}
    assert reader.take(channels=["a", "c"]).answer == "empty"
    assert {each.channel for each in session.dequeue(10)} == {"b"}


def test_named_channels_take_turns(session: Session) -> None:
    for channel in numbered("c", 9):
        session.fill(channel, 10)
    chosen = numbered("c", 9)[::2]
    reader = Reader(session)
    for seq in range(1, 11):
        reader.take(seq, limit=len(chosen), channels=chosen)
        assert set(Counter(each.channel for each in reader.messages()).values()) == {seq}


def test_a_pattern_is_for_the_whole_name(session: Session) -> None:
    for channel in ("acme-1", "acme-2", "not-acme-1", "acme"):
        session.fill(channel, 2)
    reader = Reader(session)
    reader.take(pattern="acme-[0-9]|nobody")
    assert {each.channel for each in reader.messages()} == {"acme-1", "acme-2"}


def test_what_came_after_a_moment_is_left_alone(session: Session) -> None:
    first = session.fill("a", 2)
    now = session.now()
    late = [*session.fill("a", 2), session.create("a", dequeue_at=-5)]
    reader = Reader(session)
    reader.take(last_id=first[-1], last_at=now)
    assert [each.id for each in reader.messages()] == first
    reader.take(2)
    assert {each.id for each in reader.messages()} == {*first, *late}


def test_a_message_in_the_future_is_not_taken(session: Session) -> None:
    session.create("a", delay_ms=3_600_000)
    taken = Reader(session).take()
    assert (taken.answer, taken.messages, taken.token) == ("empty", 0, None)


def test_a_claim_needs_a_transaction_of_its_own(session: Session) -> None:
    reader = Reader(session)
    with session.open():
        session.create("a")
        with pytest.raises(psycopg.Error) as caught, session.connection.transaction():
            reader.take()
    assert caught.value.sqlstate == "LM003"


def test_who_opened_the_stream_before_is_refused(session: Session, another: Session) -> None:
    session.fill("a", 2)
    old, new = Reader(session), Reader(another)
    with pytest.raises(psycopg.Error) as caught:
        old.take()
    assert caught.value.sqlstate == "LM009"
    assert new.take().messages == 2
    for call in (lambda: old.acknowledge(1, "0" * 16), old.renew, lambda: old.release(1)):
        with pytest.raises(psycopg.Error) as caught:
            call()
        assert caught.value.sqlstate == "LM009"


def test_a_stream_is_not_taken_over_in_the_middle_of_a_call(
    session: Session,
    another: Session,
) -> None:
    session.fill("a", 2)
    reader = Reader(session)
    with session.open():
        reader.take()
        with pytest.raises(psycopg.errors.LockNotAvailable):
            Reader(another)
    assert Reader(another).parts()[0].messages == 2


@pytest.mark.parametrize(
    ("limit", "more"),
    [(0, {}), (10_001, {}), (1, {"lease_ms": 0}), (1, {"timeout_ms": 0})],
)
def test_values_out_of_range_are_refused(
    session: Session, limit: int, more: dict[str, Any]
) -> None:
    with pytest.raises(psycopg.Error) as caught:
        Reader(session).take(limit=limit, **more)
    assert caught.value.sqlstate == "LM001"


def test_a_claim_of_one_finds_nothing_at_once_where_nothing_is_to_be_found(
    session: Session,
) -> None:
    for channel in numbered("c", 50):
        session.create(channel)
    reader = Reader(session)
    assert reader.take(limit=1, last_id=0).answer == "empty"
    assert session.buffers("select lonnymq.claim_take('s', 1, 1, 1, p_last_id => 0)") < 5000


def test_calls_that_add_to_a_claim_at_once_are_parts_of_it_and_share_no_message(
    session: Session, open_session, dsn: str
) -> None:
    for channel in numbered("c", 20):
        session.fill(channel, 40)
    reader = Reader(session)
    begun = reader.take(limit=10)

    def add(other_reader: Reader) -> int:
        counts = [other_reader.take(limit=10).messages for _ in range(20)]
        return sum(counts)

    lanes = [on_the_same_stream(reader, open_session(dsn)) for _ in range(3)]
    with ThreadPoolExecutor(3) as threads:
        added = sum(threads.map(add, lanes))
    assert added > 400
    parts = reader.parts()
    assert [each.part for each in parts] == list(range(1, len(parts) + 1))
    assert {each.token for each in parts} == {begun.token}
    held = reader.messages()
    assert len({each.id for each in held}) == len(held) == 10 + added
    digits = session.column("select token from lonnymq.claim_part")
    assert sorted({each.token.hex[:16] for each in held}) == sorted(digits)
    assert len(set(digits)) == len(parts)
    assert session.check() == []


def test_a_claim_that_another_call_begins_meanwhile_is_refused_and_leases_nothing(
    session: Session, open_session, dsn: str
) -> None:
    session.fill("acme", 3)
    patient, other = open_session(dsn), open_session(dsn)
    reader = Reader(patient)
    with ThreadPoolExecutor(1) as threads:
        with other.open():
            other.row(BEGUN)
            taking = threads.submit(reader.take)
            eventually(lambda: other.value(WAITING, patient.pid))
        with pytest.raises(psycopg.errors.SerializationFailure, match="begun by another call"):
            taking.result()
    assert len(session.dequeue(10)) == 3


def on_the_same_stream(reader: Reader, session: Session) -> Reader:
    """Another lane of the same driver."""
    other_reader = copy(reader)
    other_reader.session, other_reader.cursor = session, None
    return other_reader
