"""Runs a schedule: real connections, one statement at a time, each answer compared with the contract.

A statement that the contract lets wait (an equal key, a setting, a message that another session settles) runs in a
thread and stays pending until the other session ends. Any other statement that waits for a lock fails by
`lock_timeout`, and that is a violation.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from copy import deepcopy
from dataclasses import asdict, dataclass, field, fields
from itertools import groupby, permutations
from os import sysconf
from pathlib import Path
from typing import Any

import psycopg

from . import calls
from .contract import MANY, PATIENCE, Contract
from .stage import START, Stage
from .statements import (
    Acknowledge,
    Cancel,
    Check,
    Claim,
    Create,
    Dequeue,
    Leased,
    NewMessage,
    Nothing,
    Policy,
    Purge,
    Redrive,
    Renew,
    SetChannel,
    SetDefaults,
    SetQueue,
    Settle,
    Statement,
    Sweep,
    Violation,
)
from .steps import Step
from .turns import Turns
from .visibility import READ_COMMITTED, World

SLOW_SECONDS = 10.0
# A dequeue of few messages takes milliseconds of a processor, whatever ran out meanwhile.
FEW, SHORT_SECONDS = 100, 0.25
MOST_AT_ONCE = 10_000  # messages that message_create_many takes
DRAIN_ROUNDS = 10_000
LIMITED_ROUNDS = 6
KEEPS_TURNS = ("create", "create_many", "copy", "burst", "bulk")
# Steps after which a consumer that waits for messages is notified if there are any for it.
WAKES = {
    *KEEPS_TURNS, "set", "pause", "resume", "queue", "redrive", "begin", "commit", "rollback", "savepoint",
    "rollback_to", "check", "clock",
}  # fmt: skip
ENDS = {"settle", "cancel", "purge"}  # nobody is notified of slots and keys that come free
SOON_MS = 50  # who was told to look again so soon does not wait to be notified
LOOKS, LOOK_AGAIN_SECONDS = 3, 0.006  # so does a consumer that finds nothing, before it sleeps
NOTIFY_SECONDS = 0.1


@dataclass(frozen=True)
class Failure:
    """A schedule that broke the contract: which rule, what happened, at which step, and what was answered till then."""

    rule: str
    text: str
    steps: list[Step]
    log: list[str]

    def __str__(self) -> str:
        lines: list[str] = []
        for _, repeated in groupby(self.log, key=lambda line: line.split(" -> ")[0]):
            first, *more = repeated
            lines += [first, *(["      ..."] if len(more) > 1 else []), *more[-1:]]
        return "\n".join([*lines[-80:], f"VIOLATION of {self.text}"])


@dataclass
class Pending:
    """A statement that waits for another session."""

    future: Future[Any]
    statement: Statement | str  # a word: the end of a transaction
    number: int
    ended_at: float = field(default=0.0)


class Run:
    """One schedule on one stage."""

    def __init__(self, stage: Stage, *, seconds: float = 900) -> None:
        self.stage = stage
        self.deadline = time.monotonic() + seconds
        self.contract = Contract(START)
        self.log: list[str] = []
        self.pending: dict[str, Pending] = {}
        self.threads = ThreadPoolExecutor(8)
        self.leases: list[Leased] = []
        self.owners: dict[str, str] = {}
        self.settled: set[str] = set()
        self.cursors: dict[Any, Any] = {}
        self.turns: dict[Any, Turns] = {}
        self.asked: dict[str, Dequeue] = {}  # by session, what its last dequeue wanted
        self.channels: set[str] = set()
        self.relaxed: dict[str, Policy] = {}
        self.sleepers: dict[str, int | None] = {}  # who found nothing, and when to look again
        self.stream = "reader"
        self.claims: dict[tuple[str, int], list[Leased]] = {}
        self.claim_tokens: dict[tuple[str, int], str] = {}
        self.say: Callable[[str], None] = self.log.append

    # ---- the whole

    def play(self, steps: list[Step]) -> Failure | None:
        """Run all steps, let everything be delivered, and look whether nothing is left."""
        self.stage.reset()

        def play_all() -> None:
            self.go(steps)
            self.finish()

        return self.judged(steps, play_all)

    def judged(self, steps: list[Step], action: Callable[[], object]) -> Failure | None:
        """Do something; a broken rule becomes a failure, and the sessions are free again in any case."""
        try:
            action()
        except Violation as violation:
            return Failure(violation.rule, str(violation), steps, self.log)
        finally:
            self.free()
        return None

    def go(self, steps: Iterable[Step]) -> None:
        """Take the steps one after the other."""
        for step in steps:
            self.take(step)
            self.collect()
            self.judge_sleepers(step)

    def free(self) -> None:
        """Roll everything back, whatever state it is in; whom the queue has ended for idling comes back."""
        try:
            self.roll_back()
        except psycopg.Error:
            self.stage.connect()
        self.pending.clear()
        self.threads.shutdown()

    def roll_back(self) -> None:
        """End the transactions that nothing waits for, then those that waited."""
        for name, connection in self.stage.sessions.items():
            if (
                name not in self.pending
                and not connection.closed
                and connection.info.transaction_status
            ):
                connection.execute("rollback")
        for pending in self.pending.values():
            pending.future.exception(timeout=20)
        for name in self.pending:
            connection = self.stage.sessions[name]
            if not connection.closed and connection.info.transaction_status:
                connection.execute("rollback")

    # ---- one step

    def take(self, step: Step) -> None:
        """Do one step, if it can be done now."""
        name, transaction = step.session, self.contract.open.get(step.session)
        if step.op == "clock":
            if self.pending:  # nobody could say by which time what waits was done
                return
            self.say(str(step))
            self.disturb(step)
            self.set_clock(self.contract.now + step.args["by"])
            return
        ends = step.op in ("commit", "rollback", "rollback_to")
        if name in self.pending or (transaction and transaction.failed and not ends):
            return
        self.disturb(step)
        if step.op == "together":
            self.together(step)
            return
        if step.op in ("begin", "commit", "rollback", "savepoint", "rollback_to"):
            if self.can(step, transaction):
                self.control_transaction(step)
            return
        if step.op in ("nibble", "grab"):
            limit = 1 if step.op == "nibble" else 10_000
            for _ in range(step.args["count"]):
                dequeue = Step(
                    step.number, name, "dequeue", {"limit": limit, "cursor": True, **step.args}
                )
                if transaction or not self.dequeue(dequeue):
                    break
            return
        if step.op == "flap":
            self.flap(step)
        elif step.op == "dequeue":
            for _ in range(LOOKS):
                if self.dequeue(step) or self.contract.open or name in self.sleepers:
                    break
                time.sleep(LOOK_AGAIN_SECONDS)
        elif step.op == "wide" and step.args["rate"]:
            self.set_many(step)
        if (statement := self.statement(step)) is not None:
            self.run_statement(step, statement)

    def disturb(self, step: Step) -> None:
        """After most steps the count of turns begins anew."""
        for (session, _), turns in self.turns.items():
            is_quiet = step.op in KEEPS_TURNS or (
                step.op == "settle" and step.args["how"] == "complete"
            )
            own = step.op in ("dequeue", "nibble", "grab") and session == step.session
            if not (is_quiet or own) or self.contract.open:
                turns.forget()

    def set_clock(self, now: int) -> None:
        """Set the clock of the queue and of the contract."""
        self.stage.set_clock(now)
        self.contract.now = now
        self.contract.latest = max(self.contract.latest, now)

    def can(self, step: Step, transaction: Any) -> bool:
        """Whether a transaction can be begun or ended as the step wants."""
        if step.op == "begin":
            return transaction is None
        if (
            transaction is None
            or not transaction.explicit
            or (transaction.failed and step.op == "savepoint")
        ):
            return False
        return step.op != "rollback_to" or step.args["name"] in [
            name for name, _ in transaction.savepoints
        ]

    def control_transaction(self, step: Step) -> None:
        """Begin, commit, roll back, set a savepoint or go back to one."""
        connection = self.stage.sessions[step.session]
        words = {
            "begin": f"begin isolation level {step.args.get('isolation')}",
            "savepoint": f"savepoint {step.args.get('name')}",
            "rollback_to": f"rollback to savepoint {step.args.get('name')}",
        }
        try:
            connection.execute(words.get(step.op, step.op).encode(), prepare=False)
        except psycopg.errors.SerializationFailure as error:
            if step.op != "commit" or self.contract.open[step.session].isolation == READ_COMMITTED:
                raise Violation("error", f"{step} failed: {error}") from error
            self.say(f"{step} -> {error.sqlstate}")
            self.contract.rollback(step.session)
            return
        self.say(str(step))
        getattr(self.contract, step.op)(step.session, *step.args.values())

    # ---- statements

    def statement(self, step: Step) -> Statement | None:
        """The statement of a step, or None if there is nothing to do it to."""
        args = step.args
        match step.op:
            case "create" | "create_many":
                return Create(
                    tuple(self.new(step, index, *row) for index, row in enumerate(args["rows"]))
                )
            case "copy":
                rows = tuple(
                    self.new(step, i, row[0], row[1], None) for i, row in enumerate(args["rows"])
                )
                return Create(rows, is_copy=True)
            case "burst" | "bulk" if step.op == "bulk" or step.session not in self.contract.open:
                row = [args["channel"], ["delay", args["delay"]], None]
                rows = tuple(self.new(step, i, *row) for i in range(args["count"]))
                return Create(rows, is_burst=step.op == "burst", is_copy=step.op == "bulk")
            case "wide":
                when, count = ["delay", args["delay"]], args["count"]
                total = count * (2 if args["rate"] else 1)
                rows = tuple(self.new(step, i, f"w{i % count}", when, None) for i in range(total))
                return Create(rows, is_copy=total > MOST_AT_ONCE)
            case "settle":
                return self.settle(step)
            case "cancel":
                return self.cancel(step)
            case "set":
                return SetChannel(self.known(args["channel"]), args["options"])
            case "pause" | "resume":
                return SetChannel(self.known(args["channel"]), {"paused": step.op == "pause"})
            case "release":
                return SetChannel(self.known(args["channel"]), {"retiring": True})
            case "defaults" if self.contract.committed == World() and not self.contract.open:
                return SetDefaults(args["options"])
            case "purge":
                return Purge(args["channel"], args["limit"])
            case "redrive":
                return self.redrive(step)
            case "claim" | "acknowledge" | "renew" if self.has_stream(step.session):
                return getattr(self, step.op)(step)
            case "queue":
                return SetQueue(args["max_concurrency"])
            case "sweep":
                return Sweep()
            case "check":
                return Check()
        return None

    def known(self, channel: str) -> str:
        """Remember a channel for the end."""
        self.channels.add(channel)
        return channel

    def new(
        self,
        step: Step,
        index: int,
        channel: str,
        when: list[Any] | None,
        key: str | None,
        options: dict[str, int] | None = None,
    ) -> NewMessage:
        """A message to be created, with its times as they are asked for."""
        kind, value = when or ("delay", None)
        at = {"at": value, "ago": self.contract.now - (value or 0)}.get(kind)
        if step.op in ("copy", "bulk", "wide") and at is None:  # a COPY has no delays
            at = self.contract.now + (value or 0)
        delay = value if at is None else None
        given: dict[str, Any] = dict(options or {})
        period, when_duplicate = given.pop("unique_for_ms", None), given.pop("when_duplicate", None)
        if "expires_at" in given:
            given["expires_at"] += self.contract.now
        tag = f"{step.number}.{index}"
        more = tuple(given.items()), period, when_duplicate
        return NewMessage(tag, self.known(channel), at, delay, key, *more)

    def settle(self, step: Step) -> Settle | None:
        """Leases by number among those of this session, of everybody, or all that there ever were."""
        args, who = step.args, step.args["who"]
        pool = self.leases
        if who != "old":
            pool = [lease for lease in pool if lease.token not in self.settled]
        if who == "own":
            pool = [lease for lease in pool if self.owners[lease.token] == step.session]
        if not pool:
            return None
        chosen = {
            pool[-1 - pick % len(pool)].id: pool[-1 - pick % len(pool)] for pick in args["picks"]
        }
        leases = tuple((lease.tag, lease.id, lease.token) for lease in chosen.values())
        state = args["state"].encode() if args["state"] else None
        return Settle(args["how"], leases, args["delay"], state, bool(args["dead"]))

    def cancel(self, step: Step) -> Cancel | None:
        """Messages by number among those that are committed."""
        pool = sorted(
            (message.id, tag)
            for tag, message in self.contract.committed.messages.items()
            if message
        )
        chosen = {pool[pick % len(pool)] for pick in step.args["picks"]} if pool else ()
        return Cancel(tuple((tag, id_) for id_, tag in sorted(chosen))) if chosen else None

    def redrive(self, step: Step) -> Redrive | None:
        """Messages by number among those that are dead, or may be; none whose key somebody else may hold."""
        contract = self.contract
        pool = [message for message in contract.committed.dead.values() if message]
        pool += [
            m
            for m in contract.committed.messages.values()
            if m and contract.is_maybe_dead(contract.committed, m)
        ]
        pool = [message for message in pool if not (message.key and contract.open)]
        pool.sort(key=lambda message: message.id)
        chosen = {pool[pick % len(pool)] for pick in step.args["picks"]} if pool else ()
        return Redrive(tuple(sorted((m.tag, m.id) for m in chosen))) if chosen else None

    # ---- claims

    def has_stream(self, session: str) -> bool:
        """Whether a session may use the stream: calls of a transaction of their own, one after the other."""
        waiting = (each.statement for each in self.pending.values())
        return session not in self.contract.open and not any(
            isinstance(each, Acknowledge) for each in waiting
        )

    def claim(self, step: Step) -> Claim:
        """A new claim, or one more part of the last one."""
        stream, args = self.stream, step.args
        numbers = [seq for name, seq in self.claim_tokens if name == stream]
        if stream not in self.cursors:
            self.cursors[stream] = None
            self.stage.column("select lonnymq.stream_open(%s)", stream)
        seq = max(numbers, default=1)
        if (stream, seq) not in self.claims or not args["add"]:
            seq += bool(numbers)
        channels = tuple(args["channels"]) if args["channels"] else None
        ids = sorted(message.id for message in self.contract.committed.messages.values() if message)
        last_id = ids[args["last_id"] % len(ids)] if ids and "last_id" in args else None
        last_at = self.contract.now + args["last_at"] if "last_at" in args else None
        return Claim(
            stream, seq, args["limit"], args["lease"], channels, last_id, last_at, self.cursors.get(stream)
        )  # fmt: skip

    def acknowledge(self, step: Step) -> Acknowledge | None:
        """The first claim, with what was decided of its messages."""
        mine = sorted(self.claims)
        if not mine:
            return None
        leases, outcomes = self.claims.pop(mine[0]), step.args["outcomes"]
        names = tuple(outcomes[index % len(outcomes)] for index in range(len(leases)))
        how = "acknowledge"
        if step.args["release"]:
            how, names = "release", ("release",) * len(leases)
        triples = tuple((lease.tag, lease.id, lease.token) for lease in leases)
        return Acknowledge(*mine[0], self.claim_tokens[mine[0]], triples, names, how)

    def renew(self, step: Step) -> Renew | None:
        """All claims."""
        mine = [lease for leases in self.claims.values() for lease in leases]
        triples = tuple((lease.tag, lease.id, lease.token) for lease in mine)
        return Renew(self.stream, step.args["lease"], triples) if mine else None

    # ---- turns and sleep

    def flap(self, step: Step) -> None:
        """One consumer at work, while some channels give their last message and come back with a new one."""
        args = step.args
        if self.contract.open or self.pending:
            return
        rows = tuple(self.new(step, index, *row) for index, row in enumerate(args["rows"]))
        self.run_statement(step, Create(rows))
        for index in range(len(rows), len(rows) + args["count"]):
            leases = len(self.leases)
            if not self.dequeue(step):
                return
            taken = self.leases[leases:]
            self.run_statement(
                step, Settle("complete", tuple((each.tag, each.id, each.token) for each in taken)), quiet=True
            )  # fmt: skip
            back = [each.channel for each in taken if each.channel in args["back"]][:1]
            if back:
                self.run_statement(
                    step, Create((self.new(step, index, back[0], None, None),)), quiet=True
                )

    def judge_sleepers(self, step: Step) -> None:
        """Who was told to look again later, and was not notified, must not miss anything meanwhile."""
        if step.op not in (*WAKES, *ENDS) or step.args.get("by", 1) < 0:
            own = {step.session} if step.op == "dequeue" else set()
            self.sleepers = {name: at for name, at in self.sleepers.items() if name in own}
        world = self.contract.committed
        policies = [policy for policy in (*world.policies.values(), world.defaults) if policy]
        has_slots = bool(world.queue_limit) or any(each.max_concurrency for each in policies)
        # Who ends a lease looks for the next message itself, whether now or at some later step.
        if step.op in ENDS and (self.contract.open or self.pending or has_slots):
            self.sleepers.clear()
        if not self.sleepers or self.contract.open or self.pending:
            return
        try:
            for session, retry_at in self.sleepers.items():
                self.contract.judge_sleep(session, retry_at, self.asked[session])
        except Violation:
            if step.op not in ENDS and not self.stage.hears(NOTIFY_SECONDS):
                raise
            self.sleepers.clear()

    def set_many(self, step: Step) -> None:
        """Give each of many channels a rate."""
        for index in range(min(step.args["count"], 5_000)):
            self.run_statement(
                step, SetChannel(f"w{index}", {"min_interval_ms": 1_000}), quiet=True
            )

    def run_statement(self, step: Step, statement: Statement, *, quiet: bool = False) -> Any:
        """Send one statement and judge its answer; one that waits is judged when it has been answered."""
        session, interrupt = step.session, step.args.get("interrupt")
        if time.monotonic() > self.deadline:
            raise Violation("slow", "the schedule does not end")
        may_wait = self.contract.begins(session, statement)
        connection = self.stage.sessions[session]
        if may_wait:
            future = self.threads.submit(calls.send, connection, statement, self)
            pending = self.pending[session] = Pending(future, statement, step.number)
            future.add_done_callback(lambda _: setattr(pending, "ended_at", time.monotonic()))
            if self.is_waiting(session):
                self.say(f"{step} ... waits")
                return None
            return self.conclude(session, step)
        if interrupt and calls.interrupts(connection, interrupt):
            future = calls.interrupted(
                self.threads, self.stage.control, connection, statement, self, interrupt
            )
            return self.judge(session, statement, future, step, cancelled=True)
        future = Future()
        began, worked = time.monotonic(), processor_seconds(connection)
        try:
            future.set_result(calls.send(connection, statement, self))
        except psycopg.Error as error:
            future.set_exception(error)
        is_burst = (
            isinstance(statement, Create) and statement.is_burst
        )  # thousands of transactions by one statement
        is_short = isinstance(statement, Dequeue) and statement.limit <= FEW
        took, worked = time.monotonic() - began, processor_seconds(connection) - worked
        if (took > SLOW_SECONDS and not is_burst) or (worked > SHORT_SECONDS and is_short):
            self.say(str(step))
            raise Violation(
                "slow",
                f"{type(statement).__name__} took {took:.1f} s, {worked:.2f} s of a processor",
            )
        return self.judge(session, statement, future, step, quiet=quiet)

    def judge(
        self, session: str, statement: Statement, future: Future[Any], step: Step | str,
        *, cancelled: bool = False, quiet: bool = False,
    ) -> Any:  # fmt: skip
        """Hand the answer, or the error, to the contract."""
        error = future.exception()
        if error is not None:
            if not isinstance(error, psycopg.Error):
                raise error
            self.say(f"{step} -> {error.sqlstate} {str(error).splitlines()[0]}")
            self.contract.fails(
                session, statement, error.sqlstate or "", str(error), cancelled=cancelled
            )
            return None
        answer = future.result()
        if (
            isinstance(statement, Dequeue)
            and statement.turns is None
            and not isinstance(answer, Nothing)
        ):
            self.remember(session, answer)
        if not quiet:
            self.say(f"{step} -> {calls.describe(answer)}")
        self.contract.answers(session, statement, answer)
        if isinstance(statement, Claim) and not isinstance(answer, Nothing):
            self.claims.setdefault((statement.stream, statement.seq), []).extend(answer)
            self.remember(session, answer)
        if isinstance(statement, Settle) and statement.how != "heartbeat":
            self.settled.update(
                token for _, id_, token in statement.leases if answer[id_][0] != "settling"
            )
        return answer

    def dequeue(self, step: Step) -> bool:
        """Dequeue, and after `contended` again at once, unless somebody is in the way; whether anything was leased."""
        session, args = step.session, step.args
        for _ in range(PATIENCE):
            kinds = tuple(args["kinds"]) if args.get("kinds") else None
            consumer = session, kinds
            turns = self.turns.setdefault(consumer, Turns()) if args["cursor"] else None
            if any(name != session for name in self.contract.open) and turns:
                turns.forget()
            cursor = self.cursors.get(consumer) if turns else None
            for other, each in self.turns.items():
                if other != consumer or turns is None:
                    each.forget()
            statement = Dequeue(args["limit"], args["lease"], turns, cursor, kinds)
            self.asked[session] = statement
            self.stage.hears(0)
            self.sleepers.pop(session, None)
            answer = self.run_statement(step, statement, quiet=step.op == "flap")
            if answer is None:
                return False
            if answer == Nothing("empty", None) or (
                isinstance(answer, Nothing)
                and answer.word == "empty"
                and (answer.retry_at or 0) > self.contract.now + SOON_MS
            ):
                self.sleepers[session] = answer.retry_at
            if not isinstance(answer, Nothing):
                self.remember(session, answer)
                return True
            if (
                answer.word == "empty"
                or session in self.contract.open
                or self.contract.is_obstructed(session)
            ):
                return False
        raise Violation("contended", f"{PATIENCE} times in a row, and nobody is in the way")

    def remember(self, session: str, leases: list[Leased]) -> None:
        """Keep leases for steps that settle them."""
        new = [lease for lease in leases if lease.token not in self.owners]
        self.leases += new
        self.owners |= {lease.token: session for lease in new}

    # ---- two at the same instant

    def together(self, step: Step) -> None:
        """Send two statements at once; one of the two orders must be allowed by the contract."""
        pair: list[Step] = step.args["pair"]
        ready = [each for each in pair if self.is_ready(each)]
        if len(ready) < len(pair) or self.pending:
            self.go(pair)
            return
        self.contract.concurrent = {tag for each in pair for tag in self.touches(each)}
        for each in pair:
            statement = self.statement(each) if each.op not in ("commit", "rollback") else None
            if each.op == "dequeue":
                kinds = tuple(each.args["kinds"]) if each.args.get("kinds") else None
                cursor = self.cursors.get((each.session, kinds))
                statement = Dequeue(each.args["limit"], each.args["lease"], None, cursor, kinds)
            if statement is not None:
                self.contract.begins(each.session, statement)
            elif each.op not in ("commit", "rollback"):
                continue
            send: Callable[..., Any] = calls.send if statement is not None else calls.end
            connection = self.stage.sessions[each.session]
            future = self.threads.submit(send, connection, statement or each.op, self)
            self.pending[each.session] = Pending(future, statement or each.op, each.number)
        for pending in self.pending.values():
            if pending.future.exception(timeout=60) is None and isinstance(
                pending.statement, Dequeue
            ):
                answer = pending.future.result()
                leased = [] if isinstance(answer, Nothing) else answer
                self.contract.concurrent |= {lease.tag for lease in leased}
        self.say(f"{step}   at the same instant:")
        sessions = [each.session for each in pair if each.session in self.pending]
        self.conclude_in_some_order(sorted(sessions, key=lambda each: self.pending[each].ended_at))
        self.contract.concurrent = set()

    def touches(self, step: Step) -> set[str]:
        """The messages that a step makes visible at some moment of another statement."""
        if step.op in ("commit", "rollback"):
            return set(self.contract.open[step.session].changes.messages)
        statement = self.statement(step)
        if isinstance(statement, Settle):
            return {tag for tag, _, _ in statement.leases}
        return {row.tag for row in statement.rows} if isinstance(statement, Create) else set()

    def is_ready(self, step: Step) -> bool:
        """Whether a session is free for a statement of its own, or for the end of its transaction."""
        transaction = self.contract.open.get(step.session)
        if step.op in ("commit", "rollback"):
            # A dequeue that met a commit may have seen its messages and not its settings.
            return bool(
                transaction
                and transaction.explicit
                and not transaction.failed
                and not transaction.changes.policies
                and not transaction.changes.queue_limit
            )
        return transaction is None

    # ---- statements that wait

    def is_waiting(self, session: str) -> bool:
        """Look until a statement has been answered, or stands at a lock."""
        pid = self.stage.sessions[session].info.backend_pid
        future = self.pending[session].future
        seen = 0
        while not future.done() and seen < 3:  # one look may meet a lock that is just being let go
            seen += self.stage.column("select cardinality(pg_blocking_pids(%s)) > 0", pid)[0]
            time.sleep(0.0005)
        return not future.done()

    def conclude(self, session: str, step: Step | str) -> Any:
        """Judge a statement that has been answered."""
        pending = self.pending.pop(session)
        if isinstance(pending.statement, str):
            return self.conclude_transaction(session, pending)
        return self.judge(session, pending.statement, pending.future, step)

    def conclude_transaction(self, session: str, pending: Pending) -> None:
        """A transaction was ended while something else went on."""
        error = pending.future.exception()
        self.say(f"{pending.number:>4} {session}  {pending.statement} -> {error or 'done'}")
        if isinstance(error, psycopg.errors.SerializationFailure):
            self.contract.rollback(session)
        elif error is not None:
            raise Violation("error", f"{pending.statement} failed: {error}")
        else:
            getattr(self.contract, str(pending.statement))(session)

    def collect(self) -> None:
        """Judge the pending statements that are answered by now."""
        while done := self.answered():
            done.sort(key=lambda each: self.pending[each].ended_at)
            self.conclude_in_some_order(done)

    def answered(self) -> list[str]:
        """Who has been answered, and whoever ended first and so let them go on."""
        done: list[str] = []
        while new := [
            each for each in self.pending if each not in done and not self.is_waiting(each)
        ]:
            done += new
        return done

    def conclude_in_some_order(self, sessions: list[str]) -> None:
        """Statements that ended together may have ended in any order: one that the contract allows will do."""
        contract, pending, lines = self.contract, dict(self.pending), len(self.log)
        broken: list[Violation] = []
        for order in permutations(sessions):
            self.contract = deepcopy(contract) if len(sessions) > 1 else contract
            try:
                for session in order:
                    number = pending[session].number
                    self.conclude(session, f"{number:>4} {session}  ... goes on")
                self.compare_settings([pending[session].statement for session in sessions])
                return
            except Violation as violation:
                broken.append(violation)
                if len(sessions) > 1:
                    self.pending = dict(pending)
                    del self.log[lines:]
        for session in sessions:
            self.pending.pop(session, None)
            future = pending[session].future
            answer = future.exception() or calls.describe(future.result())
            self.say(f"{pending[session].number:>4} {session}  ... goes on -> {answer}")
        rule = next((each.rule for each in broken if each.rule != "phantom"), broken[0].rule)
        raise Violation(rule, "; in another order ".join(dict.fromkeys(map(str, broken))))

    def compare_settings(self, statements: list[Statement | str]) -> None:
        """Which of several settings came last is seen by what is set, where their answers do not tell."""
        channels = [each.channel for each in statements if isinstance(each, SetChannel)]
        for channel in {each for each in channels if channels.count(each) > 1}:
            policy = self.contract.policy(self.contract.committed, channel)
            names = ", ".join(each.name for each in fields(policy))
            query = f"select row_to_json(p) from (select {names} from lonnymq.channel_policy(%s)) p"
            [stored] = self.stage.column(query, channel)
            if stored != asdict(policy):
                raise Violation("setting", f"{channel} is set to {stored}, not {policy}")
        if sum(isinstance(each, SetQueue) for each in statements) > 1:
            limits = self.contract.committed.queue_limit or [None]
            [limit] = self.stage.column("select max_concurrency from lonnymq.queue")
            if limit != limits[-1]:
                raise Violation("setting", f"the queue is set to {limit}, not {limits[-1]}")

    # ---- the end

    def finish(self) -> None:
        """End all transactions, deliver everything, look for leftovers, and do it again with new messages."""
        self.say("---- the end: everything is delivered")
        self.end_transactions()
        self.run_statement(Step(899, "s1", "check"), Check())
        for channel in sorted(self.channels):
            if self.contract.policy(self.contract.committed, channel).paused:
                self.take(Step(900, "s1", "resume", {"channel": channel}))
        self.drain(901)
        self.look_for_leftovers()
        rows = [[channel, None, None] for channel in sorted(self.channels)[:20] for _ in range(3)]
        if rows:
            self.restore_limits()
            self.take(Step(910, "s2", "create_many", {"rows": rows}))
            self.drain(911)
            self.look_for_leftovers()

    def end_transactions(self) -> None:
        """Roll back what is open; what waited for that goes on."""
        while self.contract.open:
            for session in [name for name in self.contract.open if name not in self.pending]:
                self.take(Step(899, session, "rollback"))
            self.collect()
            if self.pending:
                time.sleep(0.005)

    def drain(self, number: int) -> None:
        """Dequeue and complete, and let time pass when nothing is due, until nothing is left.

        After some rounds the limits are taken away, or a long line would take long."""
        for count in range(DRAIN_ROUNDS):
            if count == LIMITED_ROUNDS:
                self.relax_limits()
            leases = len(self.leases)
            limit = 1000 if len(self.contract.committed.messages) < MANY else 10_000
            if self.dequeue(
                Step(number, "s1", "dequeue", {"limit": limit, "lease": 60_000, "cursor": True})
            ):
                rows = tuple((lease.tag, lease.id, lease.token) for lease in self.leases[leases:])
                self.run_statement(Step(number + 1, "s1", "complete"), Settle("complete", rows))
                continue
            moment = self.contract.next_moment("s1") or self.last_deadline()
            if moment is None:
                break
            self.take(Step(number + 2, "-", "clock", {"by": moment - self.contract.now}))
        else:
            raise Violation(
                "left",
                f"{len(self.contract.committed.messages)} messages after {DRAIN_ROUNDS} rounds",
            )

    def relax_limits(self) -> None:
        """Take the limits of channels and queue away."""
        committed = self.contract.committed
        for channel, policy in sorted(committed.policies.items()):
            if policy and (policy.max_concurrency, policy.min_interval_ms) != (None, None):
                self.relaxed[channel] = policy
                options = {"max_concurrency": None, "min_interval_ms": None}
                self.take(Step(905, "s2", "set", {"channel": channel, "options": options}))
        if committed.queue_limit and committed.queue_limit[-1] is not None:
            self.take(Step(905, "s2", "queue", {"max_concurrency": None}))

    def restore_limits(self) -> None:
        """Give channels the limits back that were taken away."""
        for channel, policy in sorted(self.relaxed.items())[:20]:
            options = {
                "max_concurrency": policy.max_concurrency,
                "min_interval_ms": policy.min_interval_ms,
            }
            self.take(Step(909, "s2", "set", {"channel": channel, "options": options}))

    def last_deadline(self) -> int | None:
        """When the last lease will be over, or the last message has expired: nothing is delivered after that."""
        messages = [each for each in self.contract.committed.messages.values() if each]
        moments = [message.lease.until for message in messages if message.lease]
        moments += [message.expires_at for message in messages if message.expires_at]
        return max((moment for moment in moments if moment > self.contract.now), default=None)

    def look_for_leftovers(self) -> None:
        """Nothing is stored but dead messages, and those are the ones that ought to be dead."""
        contract, committed = self.contract, self.contract.committed
        left = {
            tag
            for tag, message in committed.messages.items()
            if message and not contract.is_maybe_dead(committed, message)
        }
        if left:
            raise Violation("left", f"not delivered and not scheduled: {sorted(left)[:10]}")
        for _ in range(50):
            stored = self.stage.column(
                "select convert_from(content, 'UTF8') from lonnymq.message limit 10"
            )
            if not stored:
                break
            self.dequeue(Step(920, "s1", "dequeue", {"limit": 1, "lease": 60_000, "cursor": False}))
            if any(message and message.expires_at for message in committed.messages.values()):
                self.run_statement(Step(920, "s1", "sweep"), Sweep())
        else:
            raise Violation("left", f"still stored: {stored}")
        dead = set(self.stage.column("select convert_from(content, 'UTF8') from lonnymq.dead"))
        maybe = committed.dead.keys() | committed.messages.keys()
        if not committed.dead.keys() <= dead or not dead <= maybe:
            raise Violation(
                "dead",
                f"dead are {sorted(dead)}; expected {sorted(committed.dead)}, perhaps {sorted(maybe)}",
            )
        committed.dead.update(
            {tag: message for tag, message in committed.messages.items() if message and tag in dead}
        )
        committed.messages.clear()
        self.run_statement(Step(921, "s1", "check"), Check())


def processor_seconds(connection: psycopg.Connection[Any]) -> float:
    """How long the server has worked for a connection, which other work beside does not change; 0 if nobody says."""
    try:
        text = Path(f"/proc/{connection.info.backend_pid}/stat").read_text()
    except OSError:
        return 0.0
    user, system = text.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / sysconf("SC_CLK_TCK")


def play(stage: Stage, steps: list[Step], *, seconds: float = 900) -> Failure | None:
    """Run a schedule from an empty queue; None if the contract was kept."""
    return Run(stage, seconds=seconds).play(steps)


def shrink(stage: Stage, failure: Failure, *, seconds: float = 60.0, player: Any = play) -> Failure:
    """Leave steps out, many at first and then one by one, while the same rule is broken."""
    deadline, steps, size = time.monotonic() + seconds, failure.steps, len(failure.steps) // 2
    while size >= 1 and time.monotonic() < deadline:
        index, is_smaller = 0, False
        while index < len(steps) and time.monotonic() < deadline:
            fewer = steps[:index] + steps[index + size :]
            again = player(stage, fewer)
            if again is not None and again.rule == failure.rule:
                failure, steps, is_smaller = again, fewer, True
            else:
                index += size
        if not is_smaller:
            size //= 2
    return failure
