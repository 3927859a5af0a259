"""Rule 6, where nobody is in the ring: a message of an idle channel is leased straight off its note."""

from __future__ import annotations

from database.rules.factories import Session
from lonnymq.testing import Clock

STANDS = """
select p.version, p.seat from lonnymq.channel_position p join lonnymq.channel c on c.id = p.channel_id
where c.name = %s order by p.version desc limit 1
"""


def idle(session: Session, *channels: str) -> None:
    """Channels that exist and have nothing."""
    session.create_many(list(channels))
    session.drain()
    assert session.dequeue() == []


def test_a_single_message_is_leased_without_its_channel_sitting_down(
    session: Session, clock: Clock
) -> None:
    idle(session, "a", "b")
    before = session.row(STANDS, "a")
    made = session.create("a")
    [lease] = session.dequeue()
    assert (lease.id, lease.channel, lease.attempt) == (made, "a", 1)
    assert session.row(STANDS, "a") == before
    query = "select count(*) from lonnymq.change where message_ids is null"
    assert session.value(query) == 0
    assert session.check() == []
    clock.advance(30_001)
    [again] = session.dequeue()
    assert (again.id, again.attempt) == (made, 2)
    assert session.complete(again) == ["completed"]


def test_messages_of_several_idle_channels_come_in_the_order_in_which_they_were_created(
    session: Session,
) -> None:
    idle(session, *"abcdefgh")
    made = [session.create(channel, dequeue_at=at) for at, channel in enumerate("hgfedcba")]
    assert [session.dequeue()[0].id for _ in made] == made
    assert session.dequeue() == []
    assert session.check() == []


def test_two_messages_of_one_channel_take_turns_with_the_others(session: Session) -> None:
    idle(session, "a", "b")
    first, second = session.create("a"), session.create("a")
    other = session.create("b")
    had = [session.dequeue()[0].id for _ in range(3)]
    assert had.index(first) < had.index(second)
    assert had.index(other) < 2


def test_a_limit_a_pause_a_time_to_come_and_a_setting_are_heeded(
    session: Session, clock: Clock
) -> None:
    idle(session, "limited", "paused", "later", "set")
    session.set("limited", max_concurrency=1)
    session.rows("select lonnymq.channel_pause('paused')")
    assert session.dequeue() == []
    session.create("paused")
    assert session.dequeue() == []
    session.create("later", delay_ms=1000)
    assert session.dequeue() == []
    assert session.retry_at is not None
    assert session.retry_at == clock.now() + 1000 or session.retry_at <= clock.now() + 6
    session.create("limited")
    assert len(session.dequeue()) == 1
    session.create("limited")
    assert session.dequeue() == []
    session.create("set")
    session.set("set", min_interval_ms=60_000)
    assert [each.channel for each in session.dequeue()] == ["set"]
    session.create("set")
    assert session.dequeue() == []
    clock.advance(1000)
    assert [each.channel for each in session.dequeue()] == ["later"]
    assert session.check() == []


def test_one_that_was_cancelled_is_passed_over(session: Session) -> None:
    idle(session, "a", "b")
    gone, kept = session.create("a"), session.create("b")
    assert session.value("select lonnymq.message_cancel(%s::bigint)", gone) == "cancelled"
    assert [each.id for each in session.dequeue()] == [kept]
    assert session.dequeue() == []


def test_a_transaction_that_is_rolled_back_leaves_it_where_it_was(
    session: Session, another: Session
) -> None:
    idle(session, "a")
    made = session.create("a")
    another.connection.execute("begin")
    [taken] = another.dequeue_once()
    assert taken.id == made
    another.connection.execute("rollback")
    assert [each.id for each in session.dequeue()] == [made]
