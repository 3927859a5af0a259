"""Messages: what came of a create, leased messages and their batches, waiting and dead messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, Literal, Protocol, TypeVar, overload
from uuid import UUID

RejectionReason = Literal["full", "retiring"]
WhenDuplicate = Literal["keep", "replace", "postpone", "refuse"]
Handle = TypeVar("Handle")
NothingAnswer = Literal["empty", "contended"]
HeartbeatAnswer = Literal["extended", "lease_lost", "not_found", "settling"]
CompleteAnswer = Literal["completed", "lease_lost", "not_found"]
DeferAnswer = Literal["deferred", "lease_lost", "not_found"]
FailAnswer = Literal["retrying", "dead", "lease_lost", "not_found"]
SealAnswer = Literal["sealed", "already_sealed", "not_found"]
GroupState = Literal["open", "sealed", "ended", "not_found"]
CancelAnswer = Literal["cancelled", "busy", "dead", "not_found"]
MessageState = Literal[
    "waiting",
    "scheduled",
    "retrying",
    "running",
    "completed",
    "dead",
    "cancelled",
    "lapsed",
    "not_found",
]
ENDED_STATES: Final = frozenset[MessageState](
    ("completed", "dead", "cancelled", "lapsed", "not_found")
)
RedriveAnswer = Literal["redriven", "duplicate", "not_found"]
WaitingBecause = Literal[
    "lapsed",
    "not_found",
    "dead",
    "leased",
    "scheduled",
    "new",
    "paused",
    "saturated",
    "throttled",
    "queue_saturated",
    "behind",
    "next",
]


@dataclass(frozen=True, slots=True)
class Created:
    """The message is stored under this id, once the transaction commits."""

    id: int


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A message of the channel already has the key; this is its id, and nothing was stored."""

    id: int


@dataclass(frozen=True, slots=True)
class Replaced:
    """The message with this id has the key, and has the new content now (`when_duplicate="replace"`)."""

    id: int


@dataclass(frozen=True, slots=True)
class Postponed:
    """The message with this id has the key, and has the new content and time now (`when_duplicate="postpone"`)."""

    id: int


@dataclass(frozen=True, slots=True)
class Dropped:
    """The channel is full (or being retired) and drops what comes: nothing was stored."""

    reason: RejectionReason
    size: int | None
    max_size: int | None


@dataclass(frozen=True, slots=True)
class Rejected:
    """The channel is full (or being retired) and rejects: nothing was stored; a single create raises this instead."""

    reason: RejectionReason
    size: int | None
    max_size: int | None


CreateResult = Created | Duplicate | Replaced | Postponed | Dropped
CreateManyResult = CreateResult | Rejected


class Leased(Protocol):
    """Anything that names a lease: a message handle, or a `Lease` put together from stored parts."""

    @property
    def id(self) -> int:
        """The message's id."""

    @property
    def token(self) -> UUID:
        """The lease's token."""


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease by its two parts, for a worker that settles a message which another process dequeued."""

    id: int
    token: UUID


@dataclass(slots=True, eq=False)  # frozen, it would take four times as long to make
class LeasedMessage:
    """One message in the hands of one worker until `lease_until`; times are epoch milliseconds of the database."""

    id: int
    token: UUID
    channel: str
    content: bytes
    state: bytes | None
    attempt: int
    kind: str | None
    headers: Mapping[str, Any] | None
    key: str | None
    created_at: int
    dequeue_at: int
    dequeued_at: int
    lease_until: int


@dataclass(frozen=True, slots=True)
class Batch(Sequence[Handle], Generic[Handle]):
    """What one dequeue took; if nothing, `reason`, and when to look again (None: nothing is scheduled).

    `now_at` is the database's time when it found nothing: `retry_at` is reckoned from there, not by our own clock.
    """

    messages: tuple[Handle, ...]
    reason: NothingAnswer | None = None
    retry_at: int | None = None
    now_at: int | None = None

    @property
    def retry_in_ms(self) -> int | None:
        """How long to wait before looking again, by the database's clock; None if nothing is scheduled."""
        if self.retry_at is None or self.now_at is None:
            return None
        return max(0, self.retry_at - self.now_at)

    def __len__(self) -> int:
        return len(self.messages)

    def __iter__(self) -> Iterator[Handle]:
        return iter(self.messages)

    @overload
    def __getitem__(self, index: int) -> Handle: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Handle]: ...
    def __getitem__(self, index: int | slice) -> Handle | Sequence[Handle]:
        return self.messages[index]


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """What became of one lease of a batch: extended until `lease_until`, or not."""

    id: int
    answer: HeartbeatAnswer
    lease_until: int | None


@dataclass(frozen=True, slots=True)
class Completed:
    """What became of one completion of a batch."""

    id: int
    answer: CompleteAnswer


@dataclass(frozen=True, slots=True)
class Deferred:
    """What became of one deferral of a batch: runs again at `dequeue_at`, or the lease was gone."""

    id: int
    answer: DeferAnswer
    dequeue_at: int | None


@dataclass(frozen=True, slots=True)
class Failed:
    """What became of one failure of a batch: retried at `dequeue_at`, dead, or the lease was gone."""

    id: int
    answer: FailAnswer
    dequeue_at: int | None


@dataclass(frozen=True, slots=True)
class Cancelled:
    """What became of one cancellation of a batch."""

    id: int
    answer: CancelAnswer


@dataclass(frozen=True, slots=True)
class GroupStatus:
    """How far a group is: members that are left, up to 10,000, and members that ended by how they ended."""

    id: int
    state: GroupState
    remaining: int
    completed: int
    dead: int
    cancelled: int
    created_at: int | None
    ended_at: int | None
    callback_id: int | None


@dataclass(frozen=True, slots=True)
class Redriven:
    """What became of one dead message that was to live again."""

    id: int
    answer: RedriveAnswer


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """The fields that live and dead messages share."""

    id: int
    channel: str
    content: bytes
    state: bytes | None
    attempt: int
    kind: str | None
    headers: Mapping[str, Any] | None = field(hash=False)
    key: str | None
    created_at: int
    dequeue_at: int


@dataclass(frozen=True, slots=True)
class PeekedMessage(StoredMessage):
    """One live message, looked at and not taken."""

    leased: bool
    lease_until: int | None
    worker: str | None
    error: str | None


@dataclass(frozen=True, slots=True)
class DeadMessage(StoredMessage):
    """One message that ran out of attempts, kept until it is redriven or purged."""

    died_at: int
    error: str | None


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a message is not running: a word, the sentence for people, and the figures behind it."""

    answer: WaitingBecause
    explanation: str
    fields: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class MessageStatus:
    """What became of a message, while the message lives and as long as history keeps its attempts.

    `retrying`: the message waits after an attempt that did not succeed. `finished_at`: when the last attempt ended.
    `result_size`: the bytes of the result, or None without a result. `progress`: from 0 to 1, as the handler says.
    """

    id: int
    state: MessageState
    channel: str | None
    kind: str | None
    key: str | None
    attempt: int | None
    worker: str | None
    created_at: int | None
    dequeue_at: int | None
    dequeued_at: int | None
    lease_until: int | None
    finished_at: int | None
    error: str | None
    result_size: int | None
    progress: float | None
    progress_note: str | None
    now_at: int

    @property
    def has_ended(self) -> bool:
        """Whether no worker will take the message: completed, dead, cancelled, lapsed or not found."""
        return self.state in ENDED_STATES
