"""A claim from its beginning to its end, on every server."""

from database.claims.claim_reader import Reader, history
from database.rules.factories import Session


def test_a_claim_is_taken_read_kept_and_settled(session: Session) -> None:
    session.set("a", max_concurrency=2)
    ids = session.fill("a", 3) + session.fill("b", 2)
    reader = Reader(session)
    taken = reader.take(1, channels=["a", "b"])
    assert taken.messages == 4
    read = "select id from lonnymq.claim_read('s', 1, %s, 1, 2, 3)"
    assert len(session.rows(read, taken.token)) == 2
    assert reader.renew(1_000_000)[0].held == 4
    first = reader.messages()[0]
    assert reader.decide(first, "fail", errors="no", delays_ms=3_600_000) == "decided"
    settled = reader.acknowledge(1, taken.token)
    assert (settled.completed, settled.retrying, settled.is_more) == (3, 1, False)
    assert session.rows(read, taken.token) == []
    taken = reader.take(2, pattern="[ab]")
    assert reader.acknowledge(2, taken.token).completed == 1
    assert dict(history(session)) == dict.fromkeys(ids, "completed") | {first.id: "failed"}
    assert session.check() == []
