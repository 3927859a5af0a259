"""The rules of the queue in plain Python: what the SQL is compared with, one operation at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

LEASE_RAN_OUT = "the lease ran out"


@dataclass
class Policy:
    """What holds for a channel: said by people, or the queue's defaults at its birth."""

    max_concurrency: int | None = None
    min_interval_ms: int | None = None
    burst: int = 1
    max_size: int | None = None
    when_full: str = "reject"
    weight: int = 1
    max_attempts: int = 5
    retry_delays_ms: list[int] = field(default_factory=lambda: [1000, 5000, 30000, 120000, 600000])
    retry_jitter: float = 0
    paused: bool = False
    retiring: bool = False


@dataclass
class Channel:
    """A channel that the engine knows: the policy it goes by, and when it has paid for what it was given."""

    policy: Policy
    tat: int = 0
    used_at: int = 0


@dataclass
class Message:
    """A message in its channel's line, or leased (token set)."""

    id: int
    channel: str
    content: bytes
    dequeue_at: int
    created_at: int
    key: str | None = None
    kind: str | None = None
    attempt: int = 0
    state: bytes | None = None
    error: str | None = None
    token: Any = None
    lease_until: int | None = None
    dequeued_at: int | None = None
    worker: str | None = None
    died_at: int | None = None

    @property
    def rank(self) -> tuple[int, int]:
        """Its place in the line."""
        return self.dequeue_at, self.id

    def put_back(self, dequeue_at: int) -> None:
        """End the lease: it waits again, for the moment given."""
        self.token = self.lease_until = self.dequeued_at = self.worker = None
        self.dequeue_at = dequeue_at


class Model:
    """One queue. A method is an operation: it changes the model and says what the SQL must answer."""

    def __init__(self, now: int) -> None:
        self.now = now
        self.max_concurrency: int | None = None
        self.history_mode = "outcomes"
        self.channel_idle_ms = 86400000
        self.defaults = Policy()
        self.settings: dict[str, Policy] = {}
        self.channels: dict[str, Channel] = {}
        self.messages: dict[int, Message] = {}
        self.dead: dict[int, Message] = {}
        self.history: list[tuple[Any, ...]] = []
        self.changed: set[str] = set()
        self.is_folded = True

    # ---- what there is

    def policy(self, name: str) -> Policy:
        """What people said of a channel, or what it was born with, or the defaults."""
        if name in self.settings:
            return self.settings[name]
        return self.channels[name].policy if name in self.channels else self.defaults

    def exists(self, name: str) -> bool:
        """Whether anything is known of a channel."""
        return name in self.settings or name in self.channels or bool(self.of(name))

    def of(self, name: str) -> list[Message]:
        """The messages of a channel, leased ones too, in the order of its line."""
        return sorted(
            (each for each in self.messages.values() if each.channel == name),
            key=lambda each: each.rank,
        )

    def waiting(self, name: str) -> list[Message]:
        """The messages of a channel that nobody has leased."""
        return [each for each in self.of(name) if each.token is None]

    def line(self, name: str) -> list[Message]:
        """What a channel could give out now, first one first, if it had no limits."""
        return [each for each in self.waiting(name) if each.dequeue_at <= self.now]

    def leased(self, name: str | None = None) -> list[Message]:
        """What is leased, of a channel or of all."""
        return [
            each
            for each in self.messages.values()
            if each.token is not None and name in (None, each.channel)
        ]

    def holder(self, channel: str, key: str | None) -> Message | None:
        """The live message that has the key."""
        return next((each for each in self.of(channel) if key and each.key == key), None)

    # ---- what may be leased

    def slots(self, name: str) -> float:
        """How many more leases the channel's concurrency allows."""
        limit = self.channels[name].policy.max_concurrency
        return inf if limit is None else max(0, limit - len(self.leased(name)))

    def allowed_at(self, name: str) -> int | None:
        """From when on the channel's rate allows one more: the generic cell rate algorithm."""
        channel = self.channels[name]
        interval = channel.policy.min_interval_ms
        return None if interval is None else channel.tat - (channel.policy.burst - 1) * interval

    def rate(self, name: str) -> float:
        """How many leases the channel's rate allows at this moment."""
        policy, tat = self.channels[name].policy, self.channels[name].tat
        if policy.min_interval_ms is None:
            return inf
        horizon = self.now + policy.burst * policy.min_interval_ms
        return max(0, (horizon - max(tat, self.now)) // policy.min_interval_ms)

    def eligible(self, name: str) -> int:
        """How many messages of a channel may be leased now, the queue's own limit aside."""
        if name not in self.channels or self.channels[name].policy.paused:
            return 0
        return int(min(len(self.line(name)), self.slots(name), self.rate(name)))

    def queue_slots(self) -> float:
        """How many more leases the queue's own limit allows."""
        if self.max_concurrency is None:
            return inf
        return max(0, self.max_concurrency - len(self.leased()))

    def leasable(self, limit: int) -> int:
        """How many messages a dequeue of this limit must give."""
        return int(min(limit, self.queue_slots(), sum(map(self.eligible, self.channels))))

    def next_moment(self) -> int | None:
        """When something becomes eligible by itself: it is due, the rate allows it, or a lease runs out."""
        messages = self.messages.values()
        moments = {each.dequeue_at for each in messages} | {each.lease_until for each in messages}
        moments |= {self.allowed_at(name) for name in self.channels}
        later = deepcopy(self)
        for moment in sorted(each for each in moments if each is not None and each > self.now):
            later.now = moment
            later.expire(later.overdue())
            later.fold()
            if later.leasable(1):
                return moment
        return None

    # ---- create

    def created_at(self, dequeue_at: int | None, delay_ms: int | None) -> int:
        """For when a message is meant."""
        return self.now + (delay_ms or 0) if dequeue_at is None else dequeue_at

    def rejection(self, channel: str, key: str | None) -> tuple[str, int | None, str | None] | None:
        """Why a message would not be let in, if it would not."""
        policy, holder = self.policy(channel), self.holder(channel, key)
        is_full = policy.max_size is not None and len(self.of(channel)) >= policy.max_size
        if holder:
            return "duplicate", holder.id, None
        if policy.retiring:
            return "rejected", None, "retiring"
        if is_full:
            return ("dropped" if policy.when_full == "drop" else "rejected"), None, "full"
        return None

    def create(self, message: Message) -> None:
        """Let a message in."""
        self.messages[message.id] = message
        self.tell(message.channel)

    def tell(self, channel: str) -> None:
        """Leave a note for the next fold."""
        self.changed.add(channel)
        self.is_folded = False

    # ---- fold

    def fold(self) -> None:
        """What every dequeue and every sweep does first: channels come into being, settings hold."""
        for name in sorted(self.changed):
            self.channels.setdefault(name, Channel(replace(self.policy(name)), used_at=self.now))
        for name, channel in self.channels.items():
            channel.policy = replace(self.policy(name))
        self.changed.clear()
        self.is_folded = True

    def overdue(self) -> list[Message]:
        """The leases that ran out, and are to be taken back."""
        return [each for each in self.leased() if (each.lease_until or 0) <= self.now]

    def expire(self, leases: list[Message]) -> list[str]:
        """Take back leases that ran out; which of them went back, which died."""
        return [self.end(each, "expired", LEASE_RAN_OUT, each.dequeue_at) for each in leases]

    def end(
        self, message: Message, outcome: str, error: str | None, next_at: int, dead: bool = False
    ) -> str:
        """End an attempt that did not succeed: back into the line, or dead."""
        is_dead = dead or message.attempt >= self.policy(message.channel).max_attempts
        self.log(message, "dead" if is_dead else outcome, error)
        message.error = error
        if is_dead:
            self.remove(message)
            message.put_back(message.dequeue_at)
            message.died_at = self.now
            self.dead[message.id] = message
        else:
            message.put_back(next_at)
            self.channels[message.channel].used_at = self.now
        self.is_folded = False
        return "dead" if is_dead else "retrying"

    def log(self, message: Message, outcome: str, error: str | None = None) -> None:
        """Write history, as much of it as the queue keeps."""
        if self.history_mode == "off":
            return
        content = message.content if self.history_mode == "content" else None
        self.history.append(
            (message.id, message.channel, message.kind, message.key, message.attempt,
             message.worker, outcome, message.created_at, message.dequeue_at, message.dequeued_at,
             self.now, len(message.content), error, content)
        )  # fmt: skip

    def remove(self, message: Message) -> None:
        """Take a message out of its channel."""
        del self.messages[message.id]
        self.is_folded = False

    # ---- lease

    def lease(self, message: Message, token: Any, lease_ms: int, worker: str | None) -> None:
        """Give a message out."""
        channel = self.channels[message.channel]
        message.token, message.worker = token, worker
        message.dequeued_at, message.lease_until = self.now, self.now + lease_ms
        message.attempt += 1
        channel.used_at = self.now
        if channel.policy.min_interval_ms is not None:
            channel.tat = max(channel.tat, self.now) + channel.policy.min_interval_ms

    def held(self, id_: int, token: Any) -> Message | str:
        """The message under this lease, or what to answer instead."""
        message = self.messages.get(id_)
        if message is None:
            return "not_found"
        return message if message.token == token else "lease_lost"

    def heartbeat(self, id_: int, token: Any, lease_ms: int) -> str:
        """Extend a lease."""
        message = self.held(id_, token)
        if isinstance(message, str):
            return message
        message.lease_until = self.now + lease_ms
        return "extended"

    def complete(self, id_: int, token: Any) -> str:
        """End a lease: done."""
        message = self.held(id_, token)
        if isinstance(message, str):
            return message
        self.log(message, "completed")
        self.remove(message)
        return "completed"

    def defer(
        self,
        id_: int,
        token: Any,
        delay_ms: int | None,
        state: bytes | None,
        dequeue_at: int | None,
    ) -> str:
        """End a lease: not now. It does not use up an attempt."""
        message = self.held(id_, token)
        if isinstance(message, str):
            return message
        self.log(message, "deferred")
        message.put_back(self.created_at(dequeue_at, delay_ms))
        message.attempt -= 1
        message.state = message.state if state is None else state
        self.channels[message.channel].used_at = self.now
        self.is_folded = False
        return "deferred"

    def fail(
        self, id_: int, token: Any, error: str | None, retry_ms: int | None, dead: bool
    ) -> str:
        """End a lease: this attempt failed."""
        message = self.held(id_, token)
        if isinstance(message, str):
            return message
        delays = self.policy(message.channel).retry_delays_ms
        delay = delays[min(message.attempt, len(delays)) - 1] if retry_ms is None else retry_ms
        return self.end(message, "failed", error, self.now + delay, dead)

    # ---- take away, bring back

    def cancel(self, id_: int) -> str:
        """Take back a message that waits or runs."""
        message = self.messages.get(id_)
        if message is None:
            return "dead" if id_ in self.dead else "not_found"
        if message.token is not None:
            self.log(message, "cancelled")
        else:
            self.log(replace(message, attempt=0, dequeued_at=self.now), "cancelled")
        self.remove(message)
        return "cancelled"

    def purge(self, name: str, limit: int) -> int:
        """Take away the waiting messages of a channel, first ones first."""
        gone = self.waiting(name)[:limit]
        for message in gone:
            self.remove(message)
        return len(gone)

    def dead_of(
        self, channel: str | None, kind: str | None, ids: Iterable[int] | None = None
    ) -> list[Message]:
        """The dead messages that are meant, by id."""
        return [
            each
            for id_, each in sorted(self.dead.items())
            if (ids is None or id_ in ids)
            and channel in (None, "*", each.channel)
            and kind in (None, each.kind)
        ]

    def redrive(self, picked: list[Message]) -> dict[int, str]:
        """Put dead messages back where they stood in time, with all their attempts before them."""
        answers = {}
        for message in sorted(picked, key=lambda each: (each.channel, each.key or "~", each.id)):
            if self.holder(message.channel, message.key):
                answers[message.id] = "duplicate"
                continue
            answers[message.id] = "redriven"
            del self.dead[message.id]
            message.attempt, message.died_at = 0, None
            self.create(message)
        return answers

    # ---- policy

    def set_channel(self, name: str, **options: Any) -> str:
        """Say something of a channel."""
        is_new, old = name not in self.settings, self.policy(name)
        self.settings[name] = replace(old, **options)
        if not is_new and self.settings[name] == old:
            return "unchanged"
        self.tell(name)
        return "created" if is_new else "changed"

    def switch(self, name: str, option: str, on: bool) -> str | None:
        """Pause, resume or release a channel; None where there is nothing to do."""
        if getattr(self.policy(name), option) == on:
            return None
        self.set_channel(name, **{option: on})
        return option

    def forget(self, name: str) -> None:
        """A channel that is done with vanishes."""
        self.channels.pop(name, None)
        if self.policy(name).retiring:
            del self.settings[name]

    def is_done(self, name: str) -> bool:
        """Whether a channel is empty, and its rate has been paid for: else its limit would begin anew."""
        return not self.of(name) and self.channels[name].tat <= self.now

    def must_vanish(self, name: str) -> bool:
        """A released channel vanishes when it is done."""
        return self.policy(name).retiring and self.is_done(name)

    def may_vanish(self, name: str) -> bool:
        """So does one that nobody has set, when it has been idle for long."""
        is_idle = self.channels[name].used_at <= self.now - self.channel_idle_ms
        return self.is_done(name) and name not in self.settings and is_idle

    # ---- explain

    def explanations(self, id_: int) -> Iterator[str]:
        """The words that may say why a message is not running."""
        message = self.messages.get(id_)
        if message is None:
            yield "dead" if id_ in self.dead else "not_found"
        elif message.token is not None:
            yield "leased"
        elif message.dequeue_at > self.now:
            yield "scheduled"
        elif self.policy(message.channel).paused:
            yield "paused"
        elif not self.is_folded:
            yield from ("new", "saturated", "throttled", "queue_saturated", "behind", "next")
        elif self.slots(message.channel) == 0:
            yield "saturated"
        elif self.rate(message.channel) == 0:
            yield "throttled"
        elif self.queue_slots() == 0:
            yield "queue_saturated"
        else:
            yield "behind" if self.line(message.channel)[0] is not message else "next"
