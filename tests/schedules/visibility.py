"""Who sees what: the part of the contract that is PostgreSQL's, not the queue's.

Sessions, transactions at three isolation levels, savepoints, what is visible by commit, who holds a message, and which
statements may wait for which. contract.py judges answers on top of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from .rate import Rate
from .statements import (
    Acknowledge,
    Claim,
    Create,
    Dequeue,
    Message,
    Policy,
    SetChannel,
    SetQueue,
    Settle,
    Statement,
    Sweep,
    Violation,
    describe,
)

READ_COMMITTED = "read committed"
T = TypeVar("T")


@dataclass(slots=True)
class World:
    """What is committed; or, with None for what is gone, what a transaction has changed."""

    messages: dict[str, Message | None] = field(default_factory=dict)
    dead: dict[str, Message | None] = field(default_factory=dict)
    policies: dict[str, Policy | None] = field(default_factory=dict)
    queue_limit: list[int | None] = field(default_factory=list)  # empty: never set
    grants: list[tuple[str, tuple[int | None, int], int]] = field(default_factory=list)
    has_dequeued: bool = False
    defaults: Policy | None = None  # of channels that nobody has set
    holds: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)  # by key: id, until

    def copy(self) -> World:
        """The same, to be changed apart from this one."""
        return World(
            dict(self.messages), dict(self.dead), dict(self.policies),
            list(self.queue_limit), list(self.grants), self.has_dequeued, self.defaults, dict(self.holds),
        )  # fmt: skip

    @property
    def has_written(self) -> bool:
        """Whether anything was changed by something else than a dequeue."""
        return bool(
            self.messages or self.dead or self.policies or self.queue_limit or self.defaults
        )

    def add(self, changes: World) -> None:
        """Take in what a transaction has changed."""
        merge(self.messages, changes.messages)
        merge(self.dead, changes.dead)
        merge(self.policies, changes.policies)
        self.queue_limit = changes.queue_limit or self.queue_limit
        self.defaults = changes.defaults or self.defaults
        self.holds |= changes.holds


def merge(known: dict[str, T | None], changes: dict[str, T | None]) -> None:
    """Take in changes; None is what is gone."""
    for name, value in changes.items():
        if value is None:
            known.pop(name, None)
        else:
            known[name] = value


@dataclass(slots=True)
class Transaction:
    """An open transaction: explicit, or that of one statement."""

    isolation: str = READ_COMMITTED
    explicit: bool = False
    snapshot: World | None = None  # what it sees of the others, above read committed
    changes: World = field(default_factory=World)
    savepoints: list[tuple[str, World]] = field(default_factory=list)
    statements: int = 0
    failed: bool = False
    running: Any = None  # the statement that is under way
    before: World | None = None  # what was committed when that statement began, if it may wait


class Sessions:
    """What is committed, and what each session's open transaction has changed."""

    def __init__(self, now: int) -> None:
        self.now = self.latest = now  # and the latest moment that it ever was
        self.committed = World()
        self.open: dict[str, Transaction] = {}
        self.rates: dict[str, Rate] = defaultdict(Rate)
        self.attempts_changed: set[str] = set()  # channels whose max_attempts was set
        self.tokens: set[str] = set()
        self.lapsed: set[str] = set()  # tokens of leases that somebody may have taken back
        self.noticed = (now, 0)  # when somebody last looked for them, and the number below
        self.commits_of_late_leases = 0
        self.concurrent: set[str] = set()  # messages that became visible while a statement ran
        self.ever: set[str] = set()  # tags that were ever created, committed or not

    # ---- transactions

    def begin(self, session: str, isolation: str) -> None:
        """Open a transaction that lasts until `commit` or `rollback`."""
        self.open[session] = Transaction(isolation, explicit=True)

    def commit(self, session: str) -> None:
        """What the transaction did becomes visible; one that has failed rolls back instead."""
        transaction = self.open.pop(session)
        if transaction.failed:
            return
        changes, world = transaction.changes, self.committed
        world.add(changes)
        self.commits_of_late_leases += sum(
            bool(each and each.lease and each.lease.until <= self.now)
            for each in changes.messages.values()
        )
        for channel in [name for name, policy in changes.policies.items() if policy is None]:
            self.rates[channel].low = 0
        for channel in {channel for channel, _, _ in changes.grants}:
            rate, policy = self.rates[channel], self.policy(world, channel)
            granted = [each[1:] for each in changes.grants if each[0] == channel]
            rate.low, rate.high = rate.moved(granted, policy)
            rate.low_rate = policy.rate

    def rollback(self, session: str) -> None:
        """What the transaction did never was."""
        self.open.pop(session)

    def savepoint(self, session: str, name: str) -> None:
        """Remember what the transaction has done so far."""
        transaction = self.open[session]
        transaction.savepoints.append((name, transaction.changes.copy()))

    def rollback_to(self, session: str, name: str) -> None:
        """Undo what came after the savepoint, which stays."""
        transaction = self.open[session]
        while transaction.savepoints[-1][0] != name:
            transaction.savepoints.pop()
        transaction.changes = transaction.savepoints[-1][1].copy()
        transaction.failed = False

    def see(self, transaction: Transaction) -> None:
        """The first statement of a transaction above read committed decides what it sees."""
        if transaction.isolation != READ_COMMITTED and transaction.snapshot is None:
            transaction.snapshot = self.committed.copy()

    def crash(self) -> None:
        """Every open transaction is gone."""
        self.open.clear()

    # ---- statements

    def begins(self, session: str, statement: Statement) -> bool:
        """A statement is about to be sent; whether it may wait for another session."""
        transaction = self.open.setdefault(session, Transaction())
        self.see(transaction)
        transaction.running = statement
        may_wait = self.may_wait(session, statement)
        transaction.before = self.committed.copy() if may_wait else None
        return may_wait

    def answers(self, session: str, statement: Statement, answer: Any) -> None:
        """The statement was answered: judge the answer, and take it as what happened."""
        transaction = self.open[session]
        getattr(self, f"judge_{type(statement).__name__.lower()}")(session, statement, answer)
        self.ended(session)
        transaction.statements += 1

    def fails(
        self, session: str, statement: Statement, state: str, text: str, *, cancelled: bool = False
    ) -> None:
        """The statement raised an error: judge whether it may, and take what it did as undone."""
        transaction = self.open[session]
        waits = transaction.before is not None
        isolated = transaction.isolation != READ_COMMITTED
        own = isinstance(statement, Dequeue | Sweep | Claim)
        allowed = {
            "57014": cancelled,
            "55P03": waits,  # it gave up waiting where it had to wait
            "40P01": waits,
            "40001": isolated,
            "LM003": own and transaction.explicit and transaction.statements > 0,
            "LM004": own and isolated,
        }
        if not allowed.get(state, False):
            rule = "waited" if state == "55P03" else "error"
            raise Violation(rule, f"{describe(statement)} failed with {state}: {text}")
        # PostgreSQL undoes at once what came after the last savepoint, and waits to be told to roll back.
        transaction.failed = transaction.explicit
        transaction.changes = (
            transaction.savepoints[-1][1].copy() if transaction.savepoints else World()
        )
        self.ended(session)

    def ended(self, session: str) -> None:
        """A statement is over; without an explicit transaction it commits."""
        transaction = self.open[session]
        transaction.running = transaction.before = None
        if not transaction.explicit:
            self.commit(session)

    def may_wait(self, session: str, statement: Statement) -> bool:
        """Whether another session holds what this statement needs: an equal key, a setting, a message."""
        others = [each for name, each in self.open.items() if name != session]
        if isinstance(statement, Create):
            keys = {(row.channel, row.key) for row in statement.rows if row.key}
            # A dequeue that is open may have taken back the last attempt of who has the key.
            return bool(keys) and (
                any(keys & self.keys_in(each) for each in others)
                or (
                    self.is_dequeuing(session)
                    and any(
                        each
                        and (each.channel, each.key) in keys
                        and (self.is_maybe_over(each) or self.is_expired(each))
                        for each in self.committed.messages.values()
                    )
                )
            )
        if isinstance(statement, SetChannel):
            return any(
                statement.channel in each.changes.policies
                or (
                    isinstance(each.running, SetChannel)
                    and each.running.channel == statement.channel
                )
                for each in others
            )
        if isinstance(statement, SetQueue):
            return any(
                each.changes.queue_limit or isinstance(each.running, SetQueue) for each in others
            )
        if isinstance(statement, Settle | Acknowledge) and statement.how != "heartbeat":
            held, taken_back = self.held(session), self.is_dequeuing(session)
            return any(
                tag in held or (taken_back and self.is_maybe_over(self.committed.messages.get(tag)))
                for tag, _, _ in statement.leases
            )
        return False

    def keys_in(self, transaction: Transaction) -> set[tuple[str, str | None]]:
        """The keys that a transaction has taken or set free."""
        keys = {
            (row.channel, row.key)
            for row in (transaction.running.rows if isinstance(transaction.running, Create) else ())
        }
        for tag, message in transaction.changes.messages.items():
            for version in (message, self.committed.messages.get(tag)):
                if version is not None and version.key:
                    keys.add((version.channel, version.key))
        return keys

    # ---- who sees and who holds what

    def view(self, session: str, committed: World | None = None) -> World:
        """What a session sees: what is committed (or was, when its snapshot was taken) and its own changes."""
        transaction = self.open[session]
        base = transaction.snapshot or committed or self.committed
        changes = transaction.changes
        if not changes.has_written:
            return base
        seen = base.copy()
        seen.add(changes)
        return seen

    def views(self, session: str) -> list[World]:
        """What a statement may have seen: one view, or two if it had to wait."""
        before = self.open[session].before
        return [self.view(session), *([self.view(session, before)] if before else [])]

    def others(self, session: str) -> Iterator[Transaction]:
        """The open transactions of the other sessions."""
        return (each for name, each in self.open.items() if name != session)

    def held(self, session: str, *, maybe: bool = True) -> set[str]:
        """The messages that other open transactions have changed, or may be about to change."""
        tags: set[str] = set()
        for each in self.others(session):
            tags.update(each.changes.messages)
            if maybe and isinstance(each.running, Settle | Acknowledge):
                tags.update(tag for tag, _, _ in each.running.leases)
            if maybe and isinstance(each.running, Create):
                keys = {(row.channel, row.key) for row in each.running.rows if row.when_duplicate}
                found = self.committed.messages.items() if keys else ()
                tags.update(tag for tag, m in found if m and (m.channel, m.key) in keys)
        return tags

    def is_dequeuing(self, session: str) -> bool:
        """Whether another session has dequeued in a transaction that is still open."""
        return any(
            each.changes.has_dequeued or isinstance(each.running, Dequeue | Sweep | Claim)
            for each in self.others(session)
        )

    def is_leasing(self, message: Message) -> bool:
        """Whether an open transaction has changed a message, or may be about to."""
        return any(
            message.tag in each.changes.messages or each.changes.has_dequeued or each.running
            for each in self.open.values()
        )

    def is_obstructed(self, session: str) -> bool:
        """Whether another open transaction may stand in a dequeue's way: producers never do."""
        return any(
            each.changes.has_dequeued or each.changes.policies or each.changes.queue_limit or each.running
            or any(tag in self.committed.messages for tag in each.changes.messages)
            for each in self.others(session)
        )  # fmt: skip

    @staticmethod
    def policy(world: World, channel: str) -> Policy:
        """The settings of a channel, or the defaults."""
        return world.policies.get(channel) or world.defaults or Policy()

    def is_maybe_over(self, message: Message | None) -> bool:
        """Whether a lease may have been taken back: its deadline is past, or was when somebody looked."""
        lease = message.lease if message else None
        return lease is not None and (lease.until <= self.now or lease.token in self.lapsed)

    def is_maybe_dead(self, world: World, message: Message) -> bool:
        """Whether a message may be dead because its last lease ran out, or gone because it has expired."""
        most = message.max_attempts or self.policy(world, message.channel).max_attempts
        return self.is_expired(message) or (self.is_maybe_over(message) and message.attempt >= most)

    def is_expired(self, message: Message) -> bool:
        """Whether a message may be gone because it waited, or may have, when its `expires_at` had come."""
        is_late = message.expires_at is not None and message.expires_at <= max(
            self.latest, self.now
        )
        return is_late and (message.lease is None or self.is_maybe_over(message))

    def notice(self) -> None:
        """Somebody looks for leases that are over and may take them back."""
        if self.noticed == (self.now, self.commits_of_late_leases):
            return
        self.noticed = self.now, self.commits_of_late_leases
        for message in self.committed.messages.values():
            if message and message.lease and message.lease.until <= self.now:
                self.lapsed.add(message.lease.token)
