"""Smaller promises: a token is a lease's own, a capacity is filled in the order given, a channel has a name."""

from database.claims.taking import Reader
from database.rules.factories import Session
from lonnymq.testing import Clock


def test_a_message_that_the_same_claim_leases_again_has_another_token(
    session: Session, clock: Clock
) -> None:
    session.create("a")
    reader = Reader(session)
    reader.take(limit=1, lease_ms=1000)
    [old] = reader.messages()
    clock.advance(1000)
    while reader.take(limit=1, lease_ms=1000).answer != "claimed":
        clock.advance(1000)
    new = session.row("select * from lonnymq.message where id = %s", old.id)
    assert (old.attempt, new.attempt) == (1, 2)
    assert session.complete(old) == ["lease_lost"]
    assert new.token != old.token


def test_a_batch_with_names_fills_a_capacity_in_the_order_given(session: Session) -> None:
    session.set("a", max_size=2)
    answers = session.create_many(["a"] * 4, keys=["d", "c", "b", "a"])
    assert [each.answer for each in answers] == ["created", "created", "rejected", "rejected"]


def test_the_settings_of_the_queue_are_not_listed_as_a_channel(session: Session) -> None:
    session.create("a")
    session.queue_set(max_concurrency=5)
    assert session.column("select channel from lonnymq.channel_active()") == ["a"]
