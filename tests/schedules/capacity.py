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
        self.keys: dict[tuple[str, str], tuple[Message, bool]] = {}
        self.contract, self.holds = contract, dict(world.holds)
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
                    self.keys[message.channel, message.key] = message, maybe_dead or is_gone

    def taken(self, row: NewMessage) -> tuple[dict[str, set[int]], bool]:
        """The words for a key that is taken, by a live message or for a period, with the ids; whether it surely is."""
        words: dict[str, set[int]] = {}
        key, contract, is_sure = (row.channel, row.key or ""), self.contract, False
        if key in self.holds:
            id_, until = self.holds[key]
            if until > contract.now:
                words["duplicate"] = {id_}
            is_sure = until > max(contract.latest, contract.now)
        if key in self.keys:
            message, maybe_dead = self.keys[key]
            is_sure |= not maybe_dead
            word = {"replace": "replaced", "postpone": "postponed"}.get(row.when_duplicate or "")
            is_waiting = message.lease is None or contract.is_maybe_over(message)
            if word and is_waiting:
                words[word] = {message.id}
            # Somebody may have leased the message meanwhile, or a period has outlived another message.
            is_leased = message.lease is not None or contract.is_leasing(message)
            if not word or is_leased or maybe_dead or key in self.holds:
                words.setdefault("duplicate", set()).add(message.id)
        return words, is_sure

    def expected(self, row: NewMessage, statement: Create) -> dict[str, set[int]]:
        """The words that may be answered, with the ids for a duplicate."""
        words, is_taken = self.taken(row) if row.key else ({}, False)
        if is_taken:
            return words
        policy = self.policies[row.channel]
        if policy.retiring and not statement.is_copy:
            return {**words, "rejected": set()}
        if (
            policy.max_size is None
            or statement.is_copy
            or self.least[row.channel] < policy.max_size
        ):
            words["created"] = set()
        if (
            policy.max_size is not None
            and not statement.is_copy
            and self.most[row.channel] >= policy.max_size
        ):
            words["dropped" if policy.when_full == "drop" else "rejected"] = set()
        return words

    def allows(self, row: NewMessage, got: Created, statement: Create, *, exact: bool) -> bool:
        """Whether this view allows an answer; `exact` asks about the size in it, too."""
        words = self.expected(row, statement)
        if got.answer not in words or (words[got.answer] and got.id not in words[got.answer]):
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
            or got.answer in ("duplicate", "replaced", "postponed")
        ):
            return True
        least, most = self.least[row.channel] + 1, self.most[row.channel] + 1
        if got.answer != "created":
            least, most = maximum, max(maximum, most - 1)
        return got.max_size == maximum and got.size is not None and least <= got.size <= most

    def add(self, message: Message) -> None:
        """A message of the same call was created."""
        self.least[message.channel] += not self.contract.is_expired(message)
        self.most[message.channel] += 1
        self.change(message)

    def change(self, message: Message) -> None:
        """A message of the same call has a key, or other content: one that has expired may be gone at once."""
        if message.key:
            key, is_expired = (message.channel, message.key), self.contract.is_expired(message)
            if key in self.keys and not self.keys[key][1] and is_expired:
                self.least[message.channel] -= 1
            self.keys[key] = message, is_expired

    def holder(self, row: NewMessage, id_: int | None) -> Message | None:
        """The message with this id that has the key of a row."""
        message, _ = self.keys.get((row.channel, row.key or ""), (None, False))
        return message if message and message.id == id_ else None

    def describe(self, channel: str) -> str:
        """How full a channel is."""
        return f"{self.most[channel]} live messages of {self.policies[channel].max_size or 'any number'}"
