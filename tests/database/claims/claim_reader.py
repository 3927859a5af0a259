"""A stream's driver in plain SQL, for the tests of claims."""

from __future__ import annotations

from typing import Any

from database.rules.factories import Session

TAKE = "select * from lonnymq.claim_take(%s, %s, %s, %s, p_cursor => %s::bigint[]{more})"


class Reader:
    """One that has opened a stream."""

    def __init__(self, session: Session, stream: str = "s") -> None:
        self.session, self.stream = session, stream
        opened = session.row("select * from lonnymq.stream_open(%s)", stream)
        self.epoch, self.acknowledged = opened.epoch, opened.acknowledged
        self.cursor: list[int] | None = None

    def take(self, seq: int = 1, limit: int = 100, **options: object) -> Any:
        """Add to a claim, and go on from there the next time."""
        more = "".join(f", p_{name} => %s" for name in options)
        values = (self.stream, self.epoch, seq, limit, self.cursor, *options.values())
        taken = self.session.row(TAKE.format(more=more), *values)
        self.cursor = taken.cursor
        return taken

    def acknowledge(self, seq: int, token: str) -> Any:
        """Settle one part of a claim."""
        call = "select * from lonnymq.claim_acknowledge(%s, %s, %s, %s)"
        return self.session.row(call, self.stream, self.epoch, seq, token)

    def renew(self, lease_ms: int = 600_000) -> list[Any]:
        call = "select * from lonnymq.claim_renew(%s, %s, %s)"
        return self.session.rows(call, self.stream, self.epoch, lease_ms)

    def release(self, seq: int) -> str:
        call = "select lonnymq.claim_release(%s, %s, %s)"
        return self.session.value(call, self.stream, self.epoch, seq)

    def parts(self) -> list[Any]:
        return self.session.rows("select * from lonnymq.claim_list(%s)", self.stream)

    def messages(self) -> list[Any]:
        """What the claims hold, in the order in which it was taken."""
        return self.session.rows(
            "select m.* from lonnymq.claim_part p"
            " cross join unnest(p.message_ids) with ordinality as i (id, place)"
            " join lonnymq.message m on m.id = i.id"
            " where p.stream = %s order by p.seq, p.part, i.place",
            self.stream,
        )

    def decide(self, message: Any, outcome: str, **more: object) -> str:
        named = "".join(f", p_{name} => array[%s]" for name in more)
        call = f"select answer from lonnymq.claim_decide(array[%s::bigint], array[%s], array[%s]{named})"
        return self.session.value(call, message.id, message.token, outcome, *more.values())


def history(session: Session) -> list[tuple[int, str]]:
    """Which attempts have ended how."""
    rows = session.rows("select message_id, outcome from lonnymq.history order by message_id")
    return [tuple(row) for row in rows]
