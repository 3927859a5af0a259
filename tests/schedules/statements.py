"""The words of the contract: messages, leases, settings, what a session may ask, and what it is answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


class Violation(Exception):
    """The engine broke the contract: `rule` in one word, and what happened."""

    def __init__(self, rule: str, text: str) -> None:
        super().__init__(f"{rule}: {text}")
        self.rule = rule


# ---- what there is


@dataclass(frozen=True, slots=True)
class Lease:
    """A message handed out until a deadline."""

    token: str
    until: int


KINDS = ("email", "video", None)


def kind_of(tag: str) -> str | None:
    """The kind of a message, which its name tells: the messages of a step are of all kinds in turn."""
    step, index = tag.split(".")
    return KINDS[(int(step) + int(index)) % len(KINDS)]


@dataclass(frozen=True, slots=True)
class Message:
    """A live message; `tag` is its content and its name in a schedule."""

    tag: str
    id: int
    channel: str
    dequeue_at: int
    key: str | None = None
    attempt: int = 0
    state: bytes | None = None
    lease: Lease | None = None
    expires_at: int | None = None
    max_attempts: int | None = None
    priority: int = 0

    @property
    def rank(self) -> tuple[int, int, int]:
        """Where it stands in its channel's line, when it is due."""
        return -self.priority, self.dequeue_at, self.id


@dataclass(frozen=True, slots=True)
class Policy:
    """The settings of a channel."""

    max_concurrency: int | None = None
    min_interval_ms: int | None = None
    burst: int = 1
    max_size: int | None = None
    when_full: str = "reject"
    weight: int = 1
    max_attempts: int = 5
    paused: bool = False
    retiring: bool = False

    @property
    def rate(self) -> tuple[int | None, int]:
        """The settings that make up the rate."""
        return self.min_interval_ms, self.burst


# ---- what is asked, and what is answered


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message to be created; `dequeue_at` as it was asked for, or None and a delay."""

    tag: str
    channel: str
    dequeue_at: int | None = None
    delay_ms: int | None = None
    key: str | None = None
    options: tuple[tuple[str, int], ...] = ()
    unique_for_ms: int | None = None
    when_duplicate: str | None = None


@dataclass(frozen=True, slots=True)
class Create:
    """message_create, message_create_many, COPY with message_announce, which knows no capacity, or a burst of
    single creates in transactions of their own, of which no size is known."""

    rows: tuple[NewMessage, ...]
    is_copy: bool = False
    is_burst: bool = False


@dataclass(frozen=True, slots=True)
class Created:
    """The answer for one message."""

    answer: str
    id: int | None
    reason: str | None = None
    size: int | None = None
    max_size: int | None = None


@dataclass(frozen=True, slots=True)
class Dequeue:
    """message_dequeue, of some kinds or all; `turns` is the consumer, if it hands its cursor on from call to call."""

    limit: int
    lease_ms: int
    turns: Any = None
    cursor: Any = None
    kinds: tuple[str | None, ...] | None = None

    def chooses(self, message: Message) -> bool:
        """Whether the dequeue wants a message."""
        return self.kinds is None or kind_of(message.tag) in self.kinds


@dataclass(frozen=True, slots=True)
class Leased:
    """One row of a dequeue's answer that has a message."""

    tag: str
    id: int
    token: str
    channel: str
    dequeue_at: int
    key: str | None
    attempt: int
    state: bytes | None
    lease_until: int


@dataclass(frozen=True, slots=True)
class Nothing:
    """The answer of a dequeue that leased nothing: `empty` or `contended`."""

    word: str
    retry_at: int | None


@dataclass(frozen=True, slots=True)
class Settle:
    """message_complete, message_defer, message_fail or message_heartbeat of leases (tag, id, token)."""

    how: str
    leases: tuple[tuple[str, int, str], ...]
    delay_ms: int | None = None  # of a defer or a fail; the lease's length for a heartbeat
    state: bytes | None = None
    dead: bool = False


@dataclass(frozen=True, slots=True)
class Cancel:
    """message_cancel of messages (tag, id)."""

    messages: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class SetChannel:
    """channel_set, channel_pause (`{"paused": True}`), channel_resume or channel_retire (`{"retiring": True}`)."""

    channel: str
    options: dict[str, Any]


@dataclass(frozen=True, slots=True)
class SetQueue:
    """queue_set of max_concurrency."""

    max_concurrency: int | None


@dataclass(frozen=True, slots=True)
class SetDefaults:
    """queue_set of the defaults for channels, before there are any."""

    options: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Purge:
    """message_purge; answered with how many are gone, and the messages that the channel has afterwards."""

    channel: str
    limit: int


@dataclass(frozen=True, slots=True)
class Redrive:
    """dead_redrive of messages (tag, id)."""

    messages: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Claim:
    """claim_take for a stream, of these channels or of all; answered as a dequeue."""

    stream: str
    seq: int
    limit: int
    lease_ms: int
    channels: tuple[str, ...] | None
    last_id: int | None = None  # leaves alone what was created later
    last_at: int | None = None  # leaves alone what is due later
    cursor: Any = None

    def chooses(self, message: Message) -> bool:
        """Whether the claim wants a message."""
        return (
            (self.channels is None or message.channel in self.channels)
            and (self.last_id is None or message.id <= self.last_id)
            and (self.last_at is None or message.dequeue_at <= self.last_at or message.priority > 0)
        )


@dataclass(frozen=True, slots=True)
class Acknowledge:
    """claim_acknowledge of all parts of a claim, or claim_release; with what claim_decide was told before."""

    stream: str
    seq: int
    token: str
    leases: tuple[tuple[str, int, str], ...]
    outcomes: tuple[str, ...]  # of each lease: complete, defer, fail, dead; or release
    how: str = "acknowledge"


@dataclass(frozen=True, slots=True)
class Renew:
    """claim_renew: extends every lease of a stream's claims."""

    stream: str
    lease_ms: int
    leases: tuple[tuple[str, int, str], ...]


@dataclass(frozen=True, slots=True)
class Sweep:
    """queue_maintain; answered with the channels that have settings afterwards, and the days that lack a partition."""


@dataclass(frozen=True, slots=True)
class Check:
    """queue_check."""


Statement = (
    Create | Dequeue | Settle | Cancel | Purge | Redrive | Claim | Acknowledge | Renew
    | SetChannel | SetQueue | SetDefaults | Sweep | Check
)  # fmt: skip


def describe(statement: Statement) -> str:
    """A statement in a few words."""
    return f"{type(statement).__name__.lower()} {statement}"[:200]
