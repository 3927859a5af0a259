"""What can be done to dead messages: let them live again, or delete them; some, a group, a channel's, or all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lonnymq.client import calls
from lonnymq.client.call import Call
from lonnymq.dashboard.bodies import id_from, text_in
from lonnymq.dashboard.cursors import NEWEST
from lonnymq.dashboard.deeds import Deed, Did, Hand, Will, messages
from lonnymq.dashboard.problems import invalid

MATCH = """
select m.id, m.upto from {schema}.dead_match(
  %(group)s, %(channel)s, %(kind)s, %(before)s, %(limit)s, 10000, 0) m
"""
AT_ONCE = 1000
COUNTED = 10_000
MOST_IDS = 1000
LOOKS = 20  # of ten thousand each, for the members of a group


@dataclass(frozen=True, slots=True)
class Choice:
    """Which dead messages are meant."""

    ids: tuple[int, ...] | None = None
    group: str | None = None
    channel: str | None = None
    kind: str | None = None

    @property
    def subject(self) -> str:
        """What is meant, for the audit log."""
        if self.ids is not None and len(self.ids) == 1:
            return str(self.ids[0])
        return self.channel or "dead messages"

    def document(self) -> dict[str, Any]:
        """The choice in the audit log."""
        said = {"group": self.group, "channel": self.channel, "kind": self.kind}
        ids = {"ids": [str(each) for each in self.ids]} if self.ids is not None else {}
        return {**ids, **{key: value for key, value in said.items() if value is not None}}

    async def find(self, hand: Hand, limit: int) -> tuple[list[int], bool]:
        """The ids of those who are meant, up to a limit, and whether there are more."""
        if self.ids is not None:
            return list(self.ids[:limit]), len(self.ids) > limit
        found: list[int] = []
        before = NEWEST
        for _ in range(LOOKS):
            asked = {"group": self.group, "channel": self.channel, "kind": self.kind,
                     "before": before, "limit": limit - len(found)}  # fmt: skip
            rows = await hand.rows(MATCH, asked)
            found += [each["id"] for each in rows if each["id"] is not None]
            if rows[0]["upto"] is None:
                return found, False
            if len(found) >= limit:
                return found, True
            before = rows[0]["upto"]
        return found, True


def choice_in(body: dict[str, Any]) -> Choice:
    """Which dead messages a request means; one that says nothing means none."""
    if "ids" in body:
        ids = body["ids"]
        if not isinstance(ids, list) or not 1 <= len(ids) <= MOST_IDS:
            raise invalid(f"'ids' is to be a list of 1 to {MOST_IDS} ids.")
        return Choice(ids=tuple(id_from(each) for each in ids))
    words = [text_in(body, word, required=False) or None for word in WORDS]
    if not any(words) and body.get("all") is not True:
        raise invalid("Say which: ids, group, channel, kind, or all.")
    return Choice(None, *words)


class Redrive(Deed):
    """Lets dead messages live again."""

    body = ("ids", "group", "channel", "kind", "all")

    async def preview(self, hand: Hand, body: dict[str, Any]) -> Will:
        """How many will be handed out again."""
        found, has_more = await choice_in(body).find(hand, COUNTED)
        return Will(
            f"{messages(len(found))} will be queued again, where they stood in time, with all "
            "their attempts before them.",
            len(found),
            at_least=has_more,
        )

    async def do(self, hand: Hand, body: dict[str, Any]) -> Did:
        """Queue up to a thousand of them."""
        choice = choice_in(body)
        found, has_more = await choice.find(hand, AT_ONCE)
        answers = await hand.call(redriving(hand.schema, found)) if found else []
        count = sum(each.answer == "redriven" for each in answers)
        twice = sum(each.answer == "duplicate" for each in answers)
        stay = f" {messages(twice)} stay dead: their names are taken." if twice else ""
        return Did(
            f"{messages(count)} queued again.{stay}", "redriven", choice.subject, count,
            more=has_more and count > 0, parameters=choice.document(),
        )  # fmt: skip


class PurgeDead(Deed):
    """Deletes dead messages for good."""

    body = ("ids", "group", "channel", "kind", "all")

    async def preview(self, hand: Hand, body: dict[str, Any]) -> Will:
        """How many will be gone."""
        found, has_more = await choice_in(body).find(hand, COUNTED)
        return Will(
            f"{messages(len(found))} will be deleted for good.",
            len(found),
            at_least=has_more,
            warning="This cannot be undone.",
        )

    async def do(self, hand: Hand, body: dict[str, Any]) -> Did:
        """Delete up to a thousand of them."""
        choice = choice_in(body)
        found, has_more = await choice.find(hand, AT_ONCE)
        count = await hand.call(purging(hand.schema, found)) if found else 0
        return Did(
            f"{messages(count)} deleted.", "purged", choice.subject, count,
            more=has_more and count > 0, parameters=choice.document(),
        )  # fmt: skip


def redriving(schema: str, ids: list[int]) -> Call[Any]:
    """The call that lets these live again."""
    return calls.dead_redrive(schema, ids, channel=None, kind=None, limit=AT_ONCE)


def purging(schema: str, ids: list[int]) -> Call[Any]:
    """The call that deletes these."""
    return calls.dead_purge(schema, ids, channel=None, kind=None, limit=AT_ONCE)


WORDS = ("group", "channel", "kind")
