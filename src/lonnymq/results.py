"""The queue's answers as values: what `calls` reads rows into and what callers match on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, Literal, Protocol, TypeVar, overload
from uuid import UUID

Handle = TypeVar("Handle")

ChannelSetAnswer = Literal["created", "changed", "unchanged"]
PauseAnswer = Literal["paused", "already_paused", "not_found"]
ResumeAnswer = Literal["resumed", "not_paused", "not_found"]
ReleaseAnswer = Literal["releasing", "already_releasing", "not_found"]
HeartbeatAnswer = Literal["extended", "lease_lost", "not_found", "settling"]
CompleteAnswer = Literal["completed", "lease_lost", "not_found"]
DeferAnswer = Literal["deferred", "lease_lost", "not_found"]
FailAnswer = Literal["retrying", "dead", "lease_lost", "not_found"]
CancelAnswer = Literal["cancelled", "leased", "busy", "dead", "not_found"]
RedriveAnswer = Literal["redriven", "duplicate", "not_found"]
QueueSetAnswer = Literal["changed", "unchanged"]
ConfirmAnswer = Literal["confirmed", "behind"]
ForgetAnswer = Literal["forgotten", "not_found"]
ScheduleSetAnswer = Literal["created", "changed", "unchanged"]
ScheduleDeleteAnswer = Literal["deleted", "not_found"]
ConfineAnswer = Literal["confined", "unchanged"]
FreeAnswer = Literal["freed", "not_found"]
WorkerSeenAnswer = Literal["started", "seen"]
WorkerGoneAnswer = Literal["gone", "not_found"]
MissedTicks = Literal["skip", "once", "all"]
NothingAnswer = Literal["empty", "contended"]
RefusalReason = Literal["full", "releasing"]
Outcome = Literal["completed", "deferred", "failed", "expired", "dead"]
ChannelState = Literal[
    "ready", "idle", "scheduled", "saturated", "throttled", "paused", "releasing"
]
WaitingBecause = Literal[
    "not_found",
    "dead",
    "leased",
    "scheduled",
    "unfolded",
    "paused",
    "saturated",
    "throttled",
    "queue_saturated",
    "behind",
    "next",
]


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


@dataclass(frozen=True, slots=True)
class Created:
    """The message is stored under this id, once the transaction commits."""

    id: int


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A live message of the channel already has the name; this is its id, and nothing was stored."""

    id: int


@dataclass(frozen=True, slots=True)
class Dropped:
    """The channel is full (or being released) and drops what comes: nothing was stored."""

    reason: RefusalReason
    size: int | None
    max_size: int | None


@dataclass(frozen=True, slots=True)
class Refused:
    """The channel is full (or being released) and refuses: nothing was stored; a single create raises this instead."""

    reason: RefusalReason
    size: int | None
    max_size: int | None


CreateResult = Created | Duplicate | Dropped
CreateManyResult = Created | Duplicate | Dropped | Refused


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
    name: str | None
    created_at: int
    dequeue_at: int
    dequeued_at: int
    lease_until: int


@dataclass(frozen=True, slots=True)
class Batch(Sequence[Handle], Generic[Handle]):
    """What one dequeue took; if nothing, `why`, and when to look again (None: nothing is scheduled).

    `now_at` is the database's time when it found nothing: `look_at` is reckoned from there, not by our own clock.
    """

    messages: tuple[Handle, ...]
    why: NothingAnswer | None = None
    look_at: int | None = None
    now_at: int | None = None

    @property
    def look_in_ms(self) -> int | None:
        """How long to wait before looking again, by the database's clock; None if nothing is scheduled."""
        if self.look_at is None or self.now_at is None:
            return None
        return max(0, self.look_at - self.now_at)

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
class Redriven:
    """What became of one dead message that was to live again."""

    id: int
    answer: RedriveAnswer


@dataclass(frozen=True, slots=True)
class PeekedMessage:
    """One live message, looked at and not taken."""

    id: int
    channel: str
    content: bytes
    state: bytes | None
    attempt: int
    kind: str | None
    headers: Mapping[str, Any] | None = field(hash=False)
    name: str | None
    created_at: int
    dequeue_at: int
    leased: bool
    lease_until: int | None
    worker: str | None
    error: str | None


@dataclass(frozen=True, slots=True)
class DeadMessage:
    """One message that ran out of attempts, kept until it is redriven or purged."""

    id: int
    channel: str
    content: bytes
    state: bytes | None
    attempt: int
    kind: str | None
    headers: Mapping[str, Any] | None = field(hash=False)
    name: str | None
    created_at: int
    dequeue_at: int
    died_at: int
    error: str | None


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a message is not running: a word, the sentence for people, and the figures behind it."""

    answer: WaitingBecause
    explanation: str
    fields: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class ChannelPolicy:
    """What holds for a channel; the one without a name is the queue's default."""

    channel: str
    max_concurrency: int | None
    release_interval_ms: int | None
    burst: int
    max_size: int | None
    when_full: Literal["refuse", "drop"]
    weight: int
    max_attempts: int
    paused: bool


@dataclass(frozen=True, slots=True)
class ChannelStats:
    """One channel as it is now, with its policy; counts stop at 10,000 and then `counted_exactly` is false."""

    channel: str
    state: ChannelState
    waiting: int
    scheduled: int
    leased: int
    dead: int
    oldest_at: int | None
    next_at: int | None
    in_flight: int
    size: int
    counted_exactly: bool
    max_concurrency: int | None
    release_interval_ms: int | None
    burst: int | None
    max_size: int | None
    when_full: Literal["refuse", "drop"]
    weight: int
    max_attempts: int | None
    retry_delays_ms: list[int] | None
    retry_jitter: float | None
    paused: bool
    releasing: bool


@dataclass(frozen=True, slots=True)
class ChannelActivity:
    """One channel in which something goes on; `finished` attempts ended within the last `finished_ms`."""

    channel: str
    state: ChannelState
    waiting: int
    scheduled: int
    leased: int
    counted_exactly: bool
    waiting_since: int | None
    next_at: int | None
    in_flight: int
    finished: int | None
    finished_ms: int
    max_concurrency: int | None
    release_interval_ms: int | None
    burst: int | None
    max_size: int | None
    weight: int
    paused: bool
    releasing: bool
    now_at: int


@dataclass(frozen=True, slots=True)
class QueueStats:
    """The whole queue as it is now."""

    channels: int
    ready: int
    waiting: int
    leased: int
    dead: int
    notes: int
    in_flight: int
    max_concurrency: int | None
    history: Literal["off", "outcomes", "content"]
    history_keep_ms: int | None
    oldest_ready_at: int | None
    next_at: int | None
    now_at: int
    estimated: bool


@dataclass(frozen=True, slots=True)
class Swept:
    """What one sweep put right: leases expired, messages that died of it, idle channels, old partitions."""

    expired: int
    died: int
    forgotten: int
    partitions_dropped: int


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken invariant that `check` found; none means healthy."""

    invariant: str
    channel: str | None
    message_id: int | None
    detail: str


@dataclass(frozen=True, slots=True)
class Repair:
    """One invariant that `repair` mended."""

    invariant: str
    channel: str | None
    detail: str


@dataclass(frozen=True, slots=True)
class Horizon:
    """How far history can be read now: up to `upto` for about the rows asked for, never past `horizon`."""

    upto: int
    rows: int
    horizon: int


@dataclass(frozen=True, slots=True)
class HistoryPart:
    """A part of settled history: what transactions from `since` up to `upto`, which is not included, have written."""

    since: int
    upto: int


@dataclass(frozen=True, slots=True)
class HistoryReader:
    """Who reads history, and up to which transaction it is safe there."""

    name: str
    confirmed: int
    confirmed_at: int


@dataclass(frozen=True, slots=True)
class HistoryLag:
    """How far a reader of history is behind: `ready` rows can be read now, `held` wait for open transactions.

    With `is_held`, a transaction that has written is open; the holder is the oldest of them, as far as one may see it:
    a session by its pid, or a prepared transaction by its name.
    """

    horizon: int
    next_xid: int
    ready: int
    held: int
    counted_exactly: bool
    first_xid: int | None
    first_at: int | None
    now_at: int
    is_held: bool
    holder_pid: int | None
    holder_prepared: str | None
    holder_application: str | None
    holder_user: str | None
    holder_database: str | None
    holder_state: str | None
    holder_since: datetime | None


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """One attempt that ended, as analytics reads it."""

    xid: int
    message_id: int
    channel: str
    kind: str | None
    name: str | None
    attempt: int
    worker: str | None
    outcome: Outcome
    created_at: int
    dequeue_at: int
    dequeued_at: int
    finished_at: int
    size: int
    error: str | None
    headers: Mapping[str, Any] | None = field(hash=False)
    content: bytes | None


@dataclass(frozen=True, slots=True)
class Schedule:
    """One schedule as it stands: dealt with up to `tick_at`, next at `next_at` (None: no worker has looked yet).

    `message_id` and `answer` say what became of its last tick; `now_at` is the database's time.
    """

    name: str
    cron: str | None
    every_ms: int | None
    zone: str
    channel: str
    kind: str | None
    headers: Mapping[str, Any] | None = field(hash=False)
    content: bytes
    missed: MissedTicks
    paused: bool
    tick_at: int
    next_at: int | None
    message_id: int | None
    answer: str | None
    set_at: int
    version: int
    now_at: int


@dataclass(frozen=True, slots=True)
class Ticked:
    """What became of ticks that had come: `behind` if another worker dealt with them, or the schedule changed."""

    answer: Literal["ticked", "behind", "paused", "not_found"]
    created: int


@dataclass(frozen=True, slots=True)
class ScheduleRan:
    """What became of a schedule's message that was wanted now."""

    answer: Literal["created", "dropped", "refused", "not_found"]
    id: int | None


@dataclass(frozen=True, slots=True)
class WorkerSeen:
    """One worker that said that it is there; `about` is what it says of itself: host, process, kinds."""

    name: str
    alive: bool
    stopping: bool
    concurrency: int
    running: int
    started_at: int
    seen_at: int
    about: Mapping[str, Any] = field(hash=False)
    now_at: int


@dataclass(frozen=True, slots=True)
class Confined:
    """A role that may use some channels only; `is_known` is False where no role has that name any more."""

    role: str
    channels: Sequence[str] = field(hash=False)
    prefixes: Sequence[str] = field(hash=False)
    is_known: bool


@dataclass(frozen=True, slots=True)
class Installed:
    """Which version of the library installed the queue, up to which migration, and whether with roles."""

    library_version: str
    library_rank: Sequence[int] = field(hash=False)
    functions_checksum: str
    installed_at: datetime
    migration: int
    roles: bool
