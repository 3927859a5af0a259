"""Smaller promises: a token is a lease's own, a capacity is filled in the order given, a channel has a name."""

from database.claims.claim_reader import Reader
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


def test_a_batch_with_keys_fills_a_capacity_in_the_order_given(session: Session) -> None:
    session.set("a", max_size=2)
    answers = session.create_many(["a"] * 4, keys=["d", "c", "b", "a"])
    assert [each.answer for each in answers] == ["created", "created", "rejected", "rejected"]


def test_the_settings_of_the_queue_are_not_listed_as_a_channel(session: Session) -> None:
    session.create("a")
    session.queue_set(max_concurrency=5)
    assert session.column("select channel from lonnymq.channel_active()") == ["a"]


def test_who_sets_a_retiring_channel_does_not_wait_for_maintenance_unless_the_channel_is_forgotten(
    session: Session, another: Session
) -> None:
    session.set("kept", max_concurrency=1)
    session.create("kept")
    session.create("gone")
    session.complete(*session.dequeue(2))
    session.create("kept")
    session.rows("select lonnymq.channel_retire(name) from unnest(array['kept', 'gone']) as name")
    with another.open():
        assert another.maintain().forgotten == 1
        assert session.value("select lonnymq.channel_pause('kept')") == "paused"
    settings = "select name, paused from lonnymq.channel_setting order by 1"
    assert session.rows(settings) == [("kept", True)]


def test_maintenance_leaves_a_retiring_channel_while_somebody_sets_it(
    session: Session, another: Session
) -> None:
    session.create("a")
    session.complete(*session.dequeue())
    session.rows("select lonnymq.channel_retire('a')")
    with another.open():
        another.set("a", weight=2)
        assert session.maintain().forgotten == 0
    assert session.maintain().forgotten == 1
