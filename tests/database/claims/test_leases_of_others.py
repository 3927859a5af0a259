"""Settling a claim leaves the leases of others watched, though they share a row of `lease`."""

from database.claims.claim_reader import Reader
from database.rules.conftest import on_18
from database.rules.factories import Session
from lonnymq.testing import Clock

pytestmark = on_18


def test_an_acknowledgement_leaves_the_leases_of_others_watched(
    session: Session, clock: Clock
) -> None:
    session.fill("a", 5)
    reader = Reader(session)
    token = reader.take(limit=2).token
    session.rows("select * from lonnymq.message_dequeue(2, 600000)")
    clock.advance(100)
    session.rows("select * from lonnymq.queue_maintain()")
    assert reader.acknowledge(1, token).completed == 2
    assert session.check() == []
