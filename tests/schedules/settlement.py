"""How leases and messages end: settlements, cancels, claims, purges, and what becomes of the dead."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from .availability import Availability
from .statements import (
    Acknowledge,
    Cancel,
    Message,
    Purge,
    Redrive,
    Renew,
    Settle,
    Violation,
    describe,
)
from .visibility import World

RETRY_DELAYS_MS = (1000, 5000, 30000, 120000, 600000)
RETRY_JITTER = 0.1
SETTLED = {"complete": "completed", "defer": "deferred", "heartbeat": "extended"}


def current_tag(world: World, tag: str, id_: int) -> str:
    """The tag of a message, which is another one since a create with the same key gave the message other content."""
    if world.messages.get(tag) is not None:
        return tag
    return next((each.tag for each in world.messages.values() if each and each.id == id_), tag)


class Settlements(Availability):
    """Judges what ends a lease or a message."""

    def judge_settle(
        self, session: str, statement: Settle, answers: dict[int, tuple[str, int | None]]
    ) -> None:
        """The present lease is settled, another one is lost, and what is gone is not found."""
        changes = self.open[session].changes
        worlds, held = self.views(session), self.held(session)
        for tag, id_, token in statement.leases:
            if id_ not in answers:
                raise Violation("settle", f"{describe(statement)} did not answer for {tag}")
            word, at = answers[id_]
            allowed = self.settle_words(worlds, statement, (tag, id_, token))
            if statement.how == "heartbeat" and tag in held:
                allowed |= {"settling", "lease_lost", "not_found"}
            elif statement.how == "heartbeat" and self.is_dequeuing(session):
                allowed.add("settling")
            if word not in allowed:
                expected = " or ".join(sorted(allowed))
                raise Violation(
                    "settle", f"{statement.how} of {tag} was answered {word}; expected {expected}"
                )
            if word in ("lease_lost", "not_found", "settling"):
                continue
            message = worlds[0].messages.get(tag) or worlds[-1].messages[tag]
            assert message is not None
            changed = self.settled(statement, message, word, at)
            changes.messages[tag] = changed
            if word == "dead":
                changes.dead[tag] = replace(message, lease=None)
            if word == "extended":
                self.lapsed.discard(token)

    def settle_words(
        self, worlds: list[World], statement: Settle, settled: tuple[str, int, str]
    ) -> set[str]:
        """What may be answered for one lease, by each of the views that there may have been."""
        words: set[str] = set()
        tag, id_, token = settled
        for world in worlds:
            message = world.messages.get(current_tag(world, tag, id_))
            if message is None:
                words.add("not_found")
                continue
            if message.lease is not None and message.lease.token == token:
                words.add(self.settle_word(world, statement, message))
            else:
                words.add("lease_lost")
            if self.is_maybe_over(message):
                words.add("lease_lost")
            if self.is_maybe_dead(world, message):
                words.add("not_found")
        return words

    def settle_word(self, world: World, statement: Settle, message: Message) -> str:
        """What is answered for the present lease."""
        if statement.how != "fail":
            return SETTLED[statement.how]
        most = message.max_attempts or self.policy(world, message.channel).max_attempts
        is_last = message.attempt >= most
        return "dead" if statement.dead or is_last else "retrying"

    def settled(
        self, statement: Settle, message: Message, word: str, at: int | None
    ) -> Message | None:
        """What a settlement makes of a message; `at` is the time in the answer."""
        if word in ("completed", "dead"):
            return None
        if word == "retrying" and statement.delay_ms is None:
            delay = RETRY_DELAYS_MS[min(message.attempt, len(RETRY_DELAYS_MS)) - 1]
            if at is None or not delay <= at - self.now <= delay * (1 + RETRY_JITTER) + 1:
                raise Violation(
                    "settle", f"{message.tag} is retried at {at}, not {delay} ms after {self.now}"
                )
        elif at != self.now + (statement.delay_ms or 0):
            raise Violation(
                "settle", f"{message.tag}: {at} was answered, not {self.now} + {statement.delay_ms}"
            )
        if word == "extended":
            assert message.lease is not None
            return replace(message, lease=replace(message.lease, until=at))
        if word == "deferred":
            state = message.state if statement.state is None else statement.state
            return replace(
                message, lease=None, dequeue_at=at, attempt=message.attempt - 1, state=state
            )
        return replace(message, lease=None, dequeue_at=at)

    def judge_cancel(
        self, session: str, statement: Cancel, answers: dict[int, tuple[str, int | None]]
    ) -> None:
        """A message is taken back, whether it waits or runs, unless somebody else holds it."""
        held, world = self.held(session), self.view(session)
        sure = self.held(session, maybe=False)
        for given, id_ in statement.messages:
            tag = current_tag(world, given, id_)
            message, words = world.messages.get(tag), set()
            if message is None:
                words = {"dead"} if tag in world.dead else {"not_found", "dead"}
            elif message.lease is not None and self.is_maybe_over(message):
                words = {"cancelled", "dead"}
            else:
                words = {"cancelled"}
            if message is not None and self.is_expired(message):
                words |= {"not_found", "busy"}
            if tag in held:
                words.add("busy")
            if tag in sure:  # not who waits for this very session
                words.discard("cancelled")
            if self.is_dequeuing(session):
                words.add("busy")
            word = answers.get(id_, ("nothing", None))[0]
            if word not in words:
                raise Violation(
                    "cancel", f"{tag} was answered {word}; expected {' or '.join(sorted(words))}"
                )
            if word == "cancelled":
                self.open[session].changes.messages[tag] = None

    def judge_acknowledge(
        self, session: str, statement: Acknowledge, answer: tuple[Counter[str], dict[int, Any]]
    ) -> None:
        """Each message that the claim still has becomes what was decided; the answer counts them.

        Of each message is told what is stored of it afterwards: (token, dequeue_at, attempt), "dead" or "gone"."""
        counts, stored = answer
        found: Counter[str] = Counter()
        died: Counter[str] = Counter()  # of these, by a last lease that may have run out before
        for (tag, id_, token), outcome in zip(statement.leases, statement.outcomes, strict=True):
            message = self.view(session).messages.get(tag)
            if message is None or message.lease is None or message.lease.token != token:
                continue  # lost
            word, at = acknowledged(message, outcome, stored[id_])
            how = {"release": "defer", "dead": "fail"}.get(outcome, outcome)
            delay = {"defer": 100, "fail": 100, "release": message.dequeue_at - self.now}.get(
                outcome
            )
            settle = Settle(how, ((tag, id_, token),), delay, dead=outcome == "dead")
            self.judge_settle(session, settle, {id_: (word, at)})
            found[word] += 1
            is_unsure = word == "dead" or self.is_expired(message)
            died[word] += is_unsure and self.is_maybe_dead(self.committed, message)
        wrong = {
            word for word in counts if not found[word] - died[word] <= counts[word] <= found[word]
        }
        if statement.how == "acknowledge" and wrong:
            raise Violation("claim", f"{counts} were counted, but it was {found}: {statement}")

    def judge_renew(
        self, session: str, statement: Renew, answer: tuple[list[tuple[int, int]], set[str]]
    ) -> None:
        """The leases that the claims still have are extended, and none is made shorter."""
        counts, kept = answer
        changes, until = self.open[session].changes, self.now + statement.lease_ms
        world, others, sure, unsure = self.view(session), self.held(session), 0, 0
        for tag, _, token in statement.leases:
            message = world.messages.get(tag)
            if message is None or message.lease is None or message.lease.token != token:
                continue
            is_unsure = tag in others or self.is_maybe_over(message)
            sure, unsure = sure + (not is_unsure), unsure + is_unsure
            # A lease that has run out and that nobody has taken back is extended like the others.
            if tag not in others and (not is_unsure or token in kept):
                lease = replace(message.lease, until=max(until, message.lease.until))
                changes.messages[tag] = replace(message, lease=lease)
        if not sure <= sum(count for count, _ in counts) <= sure + unsure:
            raise Violation("claim", f"{counts} are held, expected {sure} to {sure + unsure}")

    def judge_purge(self, session: str, statement: Purge, answer: tuple[int, set[str]]) -> None:
        """The first messages that wait in a channel are gone; those that others hold stay."""
        count, left = answer
        world, held = self.view(session), self.held(session)
        line = sorted(
            (m for m in world.messages.values() if m and m.channel == statement.channel),
            key=lambda message: message.rank,
        )
        gone = [message for message in line if message.tag not in left]
        sure = self.held(session, maybe=False)
        wrong = [m.tag for m in gone if m.tag in sure or (m.lease and not self.is_maybe_over(m))]
        stay = [m for m in line if m.tag in left and m.lease is None and m.tag not in held]
        stay = [m for m in stay if not self.is_expired(m)]
        purged = [m for m in gone if not self.is_expired(m)]
        if wrong or not len(purged) <= count <= min(len(gone), statement.limit):
            raise Violation("purge", f"{count} purged, gone are {gone}, of these held: {wrong}")
        # One with a priority is moved up when it is due, by the next dequeue.
        ranks = [[m.rank for m in each if not m.priority] for each in (stay, purged)]
        if stay and (count < statement.limit or (all(ranks) and ranks[0][0] < ranks[1][-1])):
            raise Violation("purge", f"{stay[0].tag} was left, purged were {[m.tag for m in gone]}")
        for message in purged:  # one that has expired may have been gone before
            self.open[session].changes.messages[message.tag] = None

    def judge_redrive(
        self, session: str, statement: Redrive, answers: dict[int, tuple[str, int | None]]
    ) -> None:
        """A dead message goes back to where it stood, with all its attempts, unless its key is taken."""
        world, changes = self.view(session), self.open[session].changes
        touched = {tag for each in self.others(session) for tag in each.changes.dead}
        given: set[tuple[str, str]] = set()  # keys that dead messages of this call have taken
        redriven = [
            each for each in statement.messages if answers.get(each[1], [""])[0] == "redriven"
        ]
        for tag, id_ in sorted(statement.messages, key=lambda each: each not in redriven):
            dead = world.dead.get(tag)
            live = world.messages.get(tag)
            words = {"redriven"} if dead else {"not_found"}
            if live and self.is_maybe_dead(world, live):
                dead, words = live, {"redriven", "not_found"}
            if tag in touched:
                words.add("not_found")
            if dead and dead.key:
                keys = [
                    self.is_maybe_dead(world, m) for m in world.messages.values()
                    if m and m.tag != tag and (m.channel, m.key) == (dead.channel, dead.key)
                ]  # fmt: skip
                is_given = (dead.channel, dead.key) in given
                words |= {"duplicate"} if keys or is_given else set()
                words -= {"redriven"} if is_given or (keys and not all(keys)) else set()
            word = answers.get(id_, ("nothing", None))[0]
            if word not in words:
                raise Violation("redrive", f"{tag} was answered {word}; expected {words}")
            if word == "redriven":
                assert dead is not None
                changes.dead[tag] = None
                changes.messages[tag] = replace(dead, attempt=0, lease=None, expires_at=None)
                given |= {(dead.channel, dead.key)} if dead.key else set()


def acknowledged(message: Message, outcome: str, stored: Any) -> tuple[str, int | None]:
    """The word for what became of a claimed message, by what is stored of it."""
    if stored == "gone":  # or it has expired
        return ("completed" if outcome == "complete" else "not_found"), None
    if stored == "dead":
        return ("dead" if outcome in ("fail", "dead") else "not_found"), None
    token, dequeue_at, attempt = stored
    if token is None and outcome in ("defer", "release") and attempt == message.attempt - 1:
        return "deferred", dequeue_at
    if token is None and outcome == "fail" and dequeue_at != message.dequeue_at:
        return "retrying", dequeue_at
    return "lease_lost", None
