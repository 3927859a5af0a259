"""The contract of the queue, as a program: read this page first.

A queue is a pool of channels. A channel is one tenant's line of messages. Producers create messages, consumers lease
them, and every lease ends in one of six ways: completed, deferred, failed, expired, cancelled, or the message is dead.
That is all there is, and this file says exactly what each call may answer. It knows nothing of how the engine does it.

**Sessions and commits.** Calls are made by sessions, one statement at a time. What a session does is seen by the
others when its transaction commits, all of it at once, and never when it rolls back; a rollback to a savepoint undoes
what came after the savepoint. A transaction of isolation level `repeatable read` or `serializable` sees what was
committed when its first statement began, and what it did itself.

**Order.** Within a channel, messages are leased by (`priority`, `dequeue_at`, id), the highest priority first, among
those that were committed when the dequeue began, are due, and are not held by anybody. No message is leased before its
`dequeue_at`; one with a priority that was due once stays due if the clock is set back. Beside a dequeue that is open, a
priority may come late. Between channels there are
turns, so which channel comes next is the engine's choice, within two bounds (turns.py): channels that wait all the
time are given equally many turns, and no channel is passed over more than twice by another, even by one that leaves
and comes back.

**Leases.** A dequeue hands out a message with a random token and a deadline. Until then nobody else gets the message.
A lease of a dequeue that is rolled back never was. A lease whose deadline has passed is over: the message counts as
due again, where it stood, unless it is out of attempts; then it is dead. Until somebody takes the message back, its
holder may still settle it or extend the lease, so both answers are allowed after the deadline. A dequeue looks at up to
`LOOKED_AT` leases that were to end, and stops where `TAKEN_BACK` were over, though not within the first `FIRST_LOOK`.
Where there are more, later messages may overtake those that are not back yet. A token that has been followed by another
one is answered `lease_lost`, a message that is gone `not_found`.

**Limits.** `max_concurrency` of a channel, and of the queue, counts the leases that were handed out, by committed and
by open transactions, until their settlement commits or their deadline passes. `min_interval_ms` with `burst` is
the generic cell rate algorithm: one timestamp, moved by each lease. No dequeue exceeds a limit that was committed
before it began, and none leases from a channel that was paused before it began.

**No false "empty".** A dequeue says `empty` only if nothing can be leased: no message is committed, due, permitted and
unheld. If somebody else's open transaction stands in the way, it says `contended`. When no such transaction is open,
trying again at once must soon (`PATIENCE` tries) lead to a lease or to `empty`. A dequeue waits for nobody.

**Sleep.** With `empty` goes `retry_at`, when to look again. A consumer may sleep until then or until a notification:
nothing that is created, redriven, or let go on by a setting can be leased meanwhile without one.

**Expiry.** A message with an `expires_at` is not leased from then on, and may be gone with its key at any time after:
the next dequeue or sweep ends it. A lease that began before goes on. **Attempts** of a message's own count instead of
the channel's.

**Claims.** A claim leases as a dequeue does, but only what it wants, and keeps what it has until it is acknowledged:
each message is completed then, or becomes what was decided of it. A claim that is released gives its messages back,
as if they had never been leased.

**Cancel.** A message that waits or runs is taken back. Its lease is over with the commit: the token is answered
`not_found`, and the slot is free. A message that somebody else holds is `busy`.

**Purge and redrive.** A purge deletes the first messages that wait in a channel, and none that somebody holds. A dead
message that is redriven stands where it stood, with all its attempts, unless its key is taken.

**Release.** A channel that is released rejects new messages and delivers what it has. A sweep forgets it and its
settings when it is empty. After a sweep history has partitions for today and tomorrow, unless the partition of the
days without one is large or held by somebody else. **Defaults** are the settings of every channel that nobody has set.

**Capacity.** `max_size` counts the live messages that the transaction can see: committed ones and its own. A channel
that is full rejects or drops, as its `when_full` says.

**Keys.** A key is unique among the live messages of its channel, and for the period of `unique_for_ms` after a create,
whatever becomes of the message. A second create answers `duplicate` with the id of the first, or gives the message its
content (`replaced`), also its time and priority (`postponed`), unless the message runs. Two transactions that create
the same key wait for each other; that, two settings of the same channel
(maintenance that forgets the channel is one), and two settlements of the same message are the only waits there are.

Which session sees and holds what is PostgreSQL's business, and a file of its own: visibility.py. What can be leased is
in availability.py, how leases end in settlement.py, how full a channel is in capacity.py. The words in which
sessions ask and are answered are in statements.py.

The scheduler (scheduler.py) runs statements and tells the contract about each of them: `begins` before the statement
is sent, then `answers` with what the engine answered, or `fails` with its error. An answer that is not allowed raises
`Violation`. Where several answers are allowed, the contract takes the one that was given and goes on from there.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import Any

from .availability import everything
from .capacity import Lines
from .settlement import Settlements
from .statements import (
    Check,
    Claim,
    Create,
    Created,
    Dequeue,
    Lease,
    Leased,
    Message,
    NewMessage,
    Nothing,
    Policy,
    SetChannel,
    SetDefaults,
    SetQueue,
    Sweep,
    Violation,
    describe,
)
from .visibility import READ_COMMITTED

PATIENCE = 200  # immediate tries after `contended` when nobody is in the way
LOOKED_AT = 4_000  # leases that were to end and that one dequeue looks at
FIRST_LOOK = 500  # of these, looked at in any case
TAKEN_BACK = 250  # leases that are over, after which it looks no further
MANY = 2_000  # messages, above which turns are not counted: it would take too long


class Contract(Settlements):
    """One queue: judges each answer by what is committed, and by what each session's open transaction has changed."""

    # ---- create

    def judge_create(self, session: str, statement: Create, answers: list[Created]) -> None:
        """Each message is created, or there is a reason why not: its key is taken, or its channel is full."""
        if len(answers) != len(statement.rows):
            raise Violation("create", f"{len(answers)} answers for {len(statement.rows)} messages")
        changes = self.open[session].changes
        waited = self.open[session].before is not None
        lines = [Lines(self, world, statement) for world in self.views(session)]
        last_id = 0
        for row, got in zip(statement.rows, answers, strict=True):
            if not any(line.allows(row, got, statement, exact=not waited) for line in lines):
                expected = " or ".join(
                    sorted({word for line in lines for word in line.expected(row, statement)})
                )
                raise Violation(
                    "capacity"
                    if {"rejected", "dropped"} & {got.answer, *expected.split(" or ")} or got.size
                    else "create",
                    f"{row} was answered {got}; expected {expected}, {lines[0].describe(row.channel)}",
                )
            if got.answer == "created":
                assert got.id is not None
                if got.id <= last_id:
                    raise Violation(
                        "create",
                        f"ids do not follow the order of the call: {got.id} after {last_id}",
                    )
                last_id = got.id
                due = (
                    row.dequeue_at if row.dequeue_at is not None else self.now + (row.delay_ms or 0)
                )
                options: dict[str, Any] = dict(row.options)
                message = Message(row.tag, got.id, row.channel, due, row.key, **options)
                changes.messages[row.tag] = message
                self.ever.add(row.tag)
                for line in lines:
                    line.add(message)
                is_fixed = self.open[session].isolation != READ_COMMITTED
                if row.key and (row.unique_for_ms or is_fixed):
                    until = self.now + (row.unique_for_ms or 0)
                    changes.holds[row.channel, row.key] = got.id, until
                    for line in lines:
                        line.holds[row.channel, row.key] = got.id, until
            elif got.answer in ("replaced", "postponed"):
                self.change_holder(session, row, got, lines)

    def change_holder(
        self, session: str, row: NewMessage, got: Created, lines: list[Lines]
    ) -> None:
        """The message that has the key has the content of another one now, and perhaps its time."""
        changes = self.open[session].changes
        holder = next(filter(None, (line.holder(row, got.id) for line in lines)))
        given: dict[str, Any] = {"expires_at": None, "max_attempts": None, **dict(row.options)}
        priority = given.pop("priority", 0)
        if got.answer == "postponed":
            delay = self.now + (row.delay_ms or 0)
            given["dequeue_at"] = delay if row.dequeue_at is None else row.dequeue_at
            given["priority"] = priority
        changed = replace(holder, tag=row.tag, lease=None, **given)
        changes.messages[holder.tag] = None
        changes.messages[row.tag] = changed
        self.ever.add(row.tag)
        for line in lines:
            line.change(changed)

    # ---- dequeue

    def judge_dequeue(
        self, session: str, statement: Dequeue, answer: list[Leased] | Nothing
    ) -> None:
        """What was leased was asked for, due, free, first in its line and within every limit."""
        if statement.kinds is not None:
            self.chooses = statement.chooses
        try:
            self.judge_dequeued(session, statement, answer)
        finally:
            self.chooses = everything

    def judge_dequeued(
        self, session: str, statement: Dequeue, answer: list[Leased] | Nothing
    ) -> None:
        """Judge a dequeue among the messages that it asks for."""
        transaction = self.open[session]
        if transaction.isolation != READ_COMMITTED or transaction.changes.has_written:
            raise Violation(
                "rejection",
                "a dequeue was answered in a transaction that has written, or is isolated",
            )
        turns = statement.turns if len(self.committed.messages) < MANY else None
        if self.is_dequeuing(session):  # it may hold a channel, whose turn is passed over then
            turns = None
        if self.may_leave_leases():
            turns = None
        before = (
            self.deliverable(session) if isinstance(answer, Nothing) or turns is not None else {}
        )
        if isinstance(answer, Nothing):
            self.judge_nothing(session, answer, before)
            answer = []
        elif answer:
            self.judge_leases(session, statement, answer)
        self.notice()
        for row in answer:
            message = self.committed.messages[row.tag]
            assert message is not None
            policy = self.policy(self.committed, row.channel)
            lease = Lease(row.token, row.lease_until)
            transaction.changes.messages[row.tag] = replace(
                message, attempt=row.attempt, lease=lease
            )
            transaction.changes.grants.append((row.channel, policy.rate, self.now))
            self.tokens.add(row.token)
        transaction.changes.has_dequeued = True
        if turns is not None:
            after = self.deliverable(session)
            served = [row.channel for row in answer]
            weights = {name: self.policy(self.committed, name).weight for name in served}
            # A channel with a first limit rests until its leases are counted: those with limits are left out.
            waiting = {
                name
                for name in before.keys() & after.keys()
                if self.policy(self.committed, name).max_concurrency is None
            }
            turns.take(served, waiting, weights)

    def judge_claim(self, session: str, statement: Claim, answer: list[Leased] | Nothing) -> None:
        """A claim leases as a dequeue does, but only what it wants."""
        self.chooses = statement.chooses
        try:
            if isinstance(answer, Nothing):
                found = {} if answer.word == "contended" else self.deliverable(session)
                if found:
                    raise Violation("empty", f"the claim was empty while it could have {found}")
                answer = []
            known = self.committed.messages
            wrong = [
                r.tag
                for r in answer
                if (message := known.get(r.tag)) and not statement.chooses(message)
            ]
            if wrong:
                raise Violation("claim", f"{describe(statement)} was given {wrong}")
            self.judge_dequeued(session, Dequeue(statement.limit, statement.lease_ms), answer)
        finally:
            self.chooses = everything

    def judge_leases(self, session: str, statement: Dequeue, rows: list[Leased]) -> None:
        """Judge the messages one by one, then each channel's line, then the limits."""
        if len(rows) > statement.limit:
            raise Violation("limit", f"{len(rows)} messages for a limit of {statement.limit}")
        held = self.held(session, maybe=False)
        taken: dict[str, list[Message]] = defaultdict(list)
        for row in rows:
            taken[row.channel].append(self.judge_lease(row, statement, held))
        if len({row.tag for row in rows}) < len(rows):
            raise Violation("twice", "a message was leased twice in one call")
        if len({row.token for row in rows} - self.tokens) < len(rows):
            raise Violation("token", "a token was used before")
        waiting = self.available(session, taken.keys())
        limit = self.committed.queue_limit[-1] if self.committed.queue_limit else None
        has_limits = limit is not None or any(name in self.committed.policies for name in taken)
        low = self.in_flight()[0] if has_limits else Counter[str]()
        for channel, messages in taken.items():
            if self.is_dequeuing(
                session
            ):  # which may be about to move up what has a priority and is due
                messages = [message for message in messages if not message.priority]
                waiting[channel] = [each for each in waiting.get(channel, []) if not each.priority]
            if messages:
                self.judge_line(channel, messages, waiting.get(channel, []))
            self.judge_limits(channel, len(taken[channel]), low[channel])
        if limit is not None and sum(low.values()) + len(rows) > limit:
            raise Violation(
                "limit",
                f"{len(rows)} leased, {sum(low.values())} in flight, the queue allows {limit}",
            )

    def judge_lease(self, row: Leased, statement: Dequeue, held: set[str]) -> Message:
        """One message: it is committed, free and due, and its row says what it is."""
        message = self.committed.messages.get(row.tag)
        if message is None:
            known = (
                "is gone, or its create was rolled back"
                if row.tag in self.ever
                else "was never created"
            )
            open_ = any(row.tag in each.changes.messages for each in self.open.values())
            raise Violation(
                "phantom", f"{row.tag} was leased and {'is not committed' if open_ else known}"
            )
        policy = self.policy(self.committed, message.channel)
        if row.tag in held:
            raise Violation("twice", f"{row.tag} was leased and another open transaction holds it")
        if message.lease and not self.is_maybe_over(message):
            raise Violation(
                "twice",
                f"{row.tag} was leased until {message.lease.until} and leased again at {self.now}",
            )
        if not statement.chooses(message):
            raise Violation("kind", f"{row.tag} was leased for {statement.kinds}")
        if message.expires_at is not None and message.expires_at <= self.now:
            raise Violation(
                "expired", f"{row.tag} expired at {message.expires_at}, leased at {self.now}"
            )
        # One with a priority that was due once stays due, even if the clock is set back.
        if message.dequeue_at > (self.latest if message.priority else self.now):
            raise Violation(
                "early", f"{row.tag} is due at {message.dequeue_at} and was leased at {self.now}"
            )
        if policy.paused:
            raise Violation(
                "paused", f"{row.tag} was leased from {message.channel}, which is paused"
            )
        # A lease may have been taken back while more attempts were allowed.
        is_changed = message.channel in self.attempts_changed
        most = message.max_attempts or policy.max_attempts
        if message.lease and message.attempt >= most and not is_changed:
            raise Violation(
                "attempts", f"{row.tag} was leased again after {message.attempt} attempts"
            )
        expected = (
            message.id,
            message.channel,
            message.dequeue_at,
            message.key,
            message.attempt + 1,
            message.state,
        )
        found = (row.id, row.channel, row.dequeue_at, row.key, row.attempt, row.state)
        if found != expected or row.lease_until != self.now + statement.lease_ms:
            raise Violation(
                "row",
                f"{row} is not {message} leased once more until {self.now + statement.lease_ms}",
            )
        return message

    def judge_line(self, channel: str, taken: list[Message], waiting: list[Message]) -> None:
        """The messages of a channel come in order, and no earlier one is left behind."""
        # What became visible while the dequeue ran may come late: its channel is visited more than once.
        ranks = [message.rank for message in taken if message.tag not in self.concurrent]
        if ranks != sorted(ranks):
            raise Violation(
                "order", f"{channel} came in the order {[message.tag for message in taken]}"
            )
        tags = {message.tag for message in taken} | self.concurrent
        last = max(message.rank for message in taken)
        left = [message for message in waiting if message.rank < last and message.tag not in tags]
        if left and self.may_leave_leases():
            left = [message for message in left if message.lease is None]
        if left:
            first = min(left, key=lambda message: message.rank)
            raise Violation(
                "order",
                f"{taken[-1].tag} of {channel} was leased while {first.tag} waited before it",
            )

    def may_leave_leases(self) -> bool:
        """Whether a dequeue may end before all leases are back that are over."""
        if len(self.tokens) <= FIRST_LOOK:
            return False
        over = sum(
            bool(message and message.lease and message.lease.until <= self.now)
            for message in self.committed.messages.values()
        )
        return over > (TAKEN_BACK if len(self.tokens) <= LOOKED_AT else 0)

    def judge_limits(self, channel: str, count: int, in_flight: int) -> None:
        """A channel's concurrency and rate."""
        policy = self.policy(self.committed, channel)
        if policy.max_concurrency is not None and in_flight + count > policy.max_concurrency:
            allowed = policy.max_concurrency
            raise Violation(
                "limit", f"{channel}: {count} leased, {in_flight} in flight, {allowed} allowed"
            )
        low, _ = self.rates[channel].moved(self.granted(channel), policy)
        if count > self.rates[channel].allows(low, policy, self.now):
            raise Violation(
                "rate",
                f"{channel}: {count} leased at {self.now}, paid up to {low}, rate {policy.rate}",
            )

    def judge_nothing(self, session: str, answer: Nothing, deliverable: dict[str, int]) -> None:
        """`empty` is said only if nothing can be leased, and names a time to look again that is not too late."""
        if answer.word == "contended":
            return
        if deliverable:
            raise Violation(
                "empty", f"the answer was empty while these could be leased: {deliverable}"
            )
        if any(self.others(session)) or len(self.committed.messages) > PATIENCE:
            return
        moment = self.next_moment(session)
        # A lease that was extended may be looked at a second late.
        if moment is not None and (answer.retry_at is None or answer.retry_at > moment + 1000):
            raise Violation(
                "retry_at", f"look again at {answer.retry_at}, but something is due at {moment}"
            )

    def judge_sleep(self, session: str, retry_at: int | None, wanted: Dequeue) -> None:
        """Who was told to look again at `retry_at`, and was not notified since, misses nothing by waiting."""
        if retry_at is not None and retry_at <= self.now + 1000:
            return  # a lease that was extended may be looked at a second late
        self.chooses = wanted.chooses
        try:
            found = self.deliverable(session)
        finally:
            self.chooses = everything
        if found:
            raise Violation(
                "asleep",
                f"{session} waits until {retry_at}, nobody notified it, and these can be leased: {found}",
            )

    # ---- settings and housekeeping

    def judge_setchannel(self, session: str, statement: SetChannel, answer: str) -> None:
        """A setting is made, changed or left as it is; what is not given stays."""
        channel, options, words, changed = statement.channel, statement.options, set(), None
        is_word = "paused" in options or "retiring" in options
        for world in reversed(self.views(session)):
            known, old = channel in world.policies, self.policy(world, channel)
            changed = replace(old, **options)
            if is_word:
                word = (
                    ("retiring", "already_retiring") if "retiring" in options
                    else ("paused", "already_paused") if options["paused"]
                    else ("resumed", "not_paused")
                )  # fmt: skip
                words.add(word[changed == old])
                is_known = known or any(
                    m and m.channel == channel and not self.is_expired(m)
                    for m in world.messages.values()
                )
                words |= set() if is_known else {"not_found"}
            else:  # the last of the views: who had to wait answers by what it has waited for
                words = {"created" if not known else "changed" if changed != old else "unchanged"}
        if answer not in words:
            raise Violation(
                "setting", f"{describe(statement)} was answered {answer}; expected {words}"
            )
        if answer in ("not_found", "not_paused"):
            return
        if any(channel in each.changes.policies for each in self.others(session)):
            raise Violation(
                "setting", f"{describe(statement)} did not wait for another who sets {channel}"
            )
        self.open[session].changes.policies[channel] = changed
        if "max_attempts" in options:
            self.attempts_changed.add(channel)

    def judge_setqueue(self, session: str, statement: SetQueue, answer: str) -> None:
        """The queue's own limit."""
        limits = self.view(session).queue_limit
        limit = limits[-1] if limits else None
        word = "unchanged" if limit == statement.max_concurrency else "changed"
        if answer != word:
            raise Violation(
                "setting", f"{describe(statement)} was answered {answer}; expected {word}"
            )
        if any(each.changes.queue_limit for each in self.others(session)):
            raise Violation(
                "setting", f"{describe(statement)} did not wait for another who sets the queue"
            )
        self.open[session].changes.queue_limit = [statement.max_concurrency]

    def judge_setdefaults(self, session: str, statement: SetDefaults, answer: str) -> None:
        """The settings of every channel that nobody has set; made before there are channels."""
        old = self.view(session).defaults or Policy()
        new = replace(old, **statement.options)
        if answer != ("changed" if new != old else "unchanged"):
            raise Violation("setting", f"{describe(statement)} was answered {answer}")
        self.open[session].changes.defaults = new

    def judge_sweep(self, session: str, statement: Sweep, answer: tuple[set[str], Any]) -> None:
        """A sweep takes back leases that are over, and forgets channels that are released and empty."""
        self.notice()
        names, days = answer
        if days and days != ([],):
            raise Violation("partitions", f"history has no partition for the days {days[0]}")
        world, changes = self.view(session), self.open[session].changes
        changes.has_dequeued = True
        for channel in world.policies.keys() - names:
            messages = [m for m in world.messages.values() if m and m.channel == channel]
            alive = [m.tag for m in messages if not self.is_maybe_dead(world, m)]
            if alive or not self.policy(world, channel).retiring:
                raise Violation("release", f"the settings of {channel} are gone; it holds {alive}")
            changes.policies[channel] = None
            for message in messages:  # by the settings that are gone now, it has died
                changes.messages[message.tag] = None
                if not self.is_expired(message):
                    changes.dead[message.tag] = replace(message, lease=None)

    def judge_check(self, session: str, statement: Check, answer: list[Any]) -> None:
        """queue_check finds nothing, ever, but for leases that are over and that nobody has looked at yet."""
        leases = [
            message.lease
            for message in self.view(session).messages.values()
            if message and message.lease
        ]
        # A clock that is set back makes nobody look for what has expired.
        expired = {m.id for m in self.view(session).messages.values() if m and self.is_expired(m)}
        answer = [row for row in answer if row[2] not in expired]
        if answer and all(lease.until > self.now for lease in leases):
            raise Violation("check", f"queue_check found {answer[:5]}")
