"""How full channels are and who has which key: what a create is answered by."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from .statements import Create, Created, Message, NewMessage

if TYPE_CHECKING:
    from .visibility import Sessions, World


class Lines:
    """The channels that a create is about, as one view shows them: how full they are, and who has which key."""

    def __init__(self, contract: Sessions, world: World, statement: Create) -> None:
        self.world = world
        channels = {row.channel for row in statement.rows}
        self.policies = {name: contract.policy(world, name) for name in channels}
        self.least: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        self.keys: dict[tuple[str, str], tuple[int, bool]] = {}
        limited = {name for name, policy in self.policies.items() if policy.max_size is not None}
        if not limited and not any(row.key for row in statement.rows):
            return
        for message in world.messages.values():
            if message is not None and message.channel in channels:
                maybe_dead = contract.is_maybe_dead(world, message)
                self.most[message.channel] += 1
                self.least[message.channel] += not maybe_dead
                if message.key:
                    # An old snapshot shows who had the key, and keys are unique among those that are left.
                    is_gone = message.tag not in contract.committed.messages and not any(
                        message.tag in each.changes.messages for each in contract.open.values()
                    )
                    self.keys[message.channel, message.key] = message.id, maybe_dead or is_gone

    def expected(self, row: NewMessage, statement: Create) -> dict[str, int | None]:
        """The words that may be answered, with the id for a duplicate."""
        words: dict[str, int | None] = {}
        if row.key and (row.channel, row.key) in self.keys:
            id_, maybe_dead = self.keys[row.channel, row.key]
            words["duplicate"] = id_
            if not maybe_dead:
                return words
        policy = self.policies[row.channel]
        if policy.retiring and not statement.is_copy:
            return {**words, "rejected": None}
        if (
            policy.max_size is None
            or statement.is_copy
            or self.least[row.channel] < policy.max_size
        ):
            words["created"] = None
        if (
            policy.max_size is not None
            and not statement.is_copy
            and self.most[row.channel] >= policy.max_size
        ):
            words["dropped" if policy.when_full == "drop" else "rejected"] = None
        return words

    def allows(self, row: NewMessage, got: Created, statement: Create, *, exact: bool) -> bool:
        """Whether this view allows an answer; `exact` asks about the size in it, too."""
        words = self.expected(row, statement)
        if got.answer not in words or (got.answer == "duplicate" and got.id != words["duplicate"]):
            return False
        if got.answer in ("rejected", "dropped") and not statement.is_burst:
            is_releasing = self.policies[row.channel].retiring
            if got.reason != ("retiring" if is_releasing else "full"):
                return False
            if is_releasing:
                return True
        maximum = self.policies[row.channel].max_size
        if (
            not exact
            or statement.is_copy
            or statement.is_burst
            or maximum is None
            or got.answer == "duplicate"
        ):
            return True
        least, most = self.least[row.channel] + 1, self.most[row.channel] + 1
        if got.answer != "created":
            least, most = maximum, max(maximum, most - 1)
        return got.max_size == maximum and got.size is not None and least <= got.size <= most

    def add(self, message: Message) -> None:
        """A message of the same call was created."""
        self.least[message.channel] += 1
        self.most[message.channel] += 1
        if message.key:
            self.keys[message.channel, message.key] = message.id, False

    def describe(self, channel: str) -> str:
        """How full a channel is."""
        return f"{self.most[channel]} live messages of {self.policies[channel].max_size or 'any number'}"
