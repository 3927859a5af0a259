"""The functions behind the dashboard and the doctor: bounded looks at a queue of any size, and the audit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lonnymq.client.arguments import (
    Count,
    Identifier,
    Ids,
    Json,
    JsonList,
    Name,
    Names,
    Period,
    Text,
    Time,
)
from lonnymq.client.describe import ADMIN, READER, VIEWER, sql_function


@dataclass(frozen=True, slots=True)
class AttemptTotals:
    """How many attempts of the queue or of a channel have ended."""

    channel: str
    completed: int
    failed: int
    deferred: int
    expired: int
    died: int
    wait_ms: int
    run_ms: int
    waits: list[int] | None
    runs: list[int] | None
    bounds_ms: list[int]


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """Who did what to which thing, and what came of it."""

    id: int
    at: int
    who: str
    db_user: str
    action: str
    subject: str
    parameters: Mapping[str, Any] | None
    answer: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class ChannelDead:
    """How many dead messages a channel has."""

    channel: str
    dead: int


@dataclass(frozen=True, slots=True)
class ChannelName:
    """A channel's name, or with None how far the look for names has come."""

    channel: str | None
    upto: str | None
    looked_at: int


@dataclass(frozen=True, slots=True)
class ChannelRank:
    """A channel, and the figure by which it is ranked."""

    channel: str
    figure: int


@dataclass(frozen=True, slots=True)
class ChannelSample:
    """The outcomes of a channel's attempts in one step of time."""

    at: int
    completed: int
    failed: int
    deferred: int
    expired: int
    died: int
    wait_ms: int
    run_ms: int
    all_channels: bool
    from_at: int
    now_at: int


@dataclass(frozen=True, slots=True)
class DeadGroup:
    """Dead messages whose errors have the same text apart from numbers and the like."""

    error_group: str
    error: str | None
    messages: int
    channels: int
    example_channels: list[str]
    kinds: list[str]
    first_at: int
    last_at: int
    newest_id: int
    looked_at: int
    now_at: int


@dataclass(frozen=True, slots=True)
class DeadMatch:
    """A dead message with the beginning of its content."""

    id: int | None
    channel: str | None
    kind: str | None
    key: str | None
    attempt: int | None
    created_at: int | None
    died_at: int | None
    size: int | None
    error: str | None
    head: bytes | None
    upto: int | None
    looked_at: int
    now_at: int


@dataclass(frozen=True, slots=True)
class FoundMessage:
    """A message that was found, or with None as the id how far the search has come."""

    id: int | None
    state: str | None
    channel: str | None
    kind: str | None
    key: str | None
    attempt: int | None
    worker: str | None
    created_at: int | None
    dequeue_at: int | None
    dequeued_at: int | None
    finished_at: int | None
    error: str | None
    size: int | None
    head: bytes | None
    progress: float | None
    upto: list[int] | None
    looked_at: int
    now_at: int


@dataclass(frozen=True, slots=True)
class HistoryStep:
    """The outcomes of attempts in one step of time."""

    at: int
    completed: int
    failed: int
    deferred: int
    expired: int
    died: int
    wait_ms: float | None
    run_ms: float | None
    looked_at: int
    from_at: int
    now_at: int


@dataclass(frozen=True, slots=True)
class MessageAttempt:
    """One attempt of a message that ended."""

    attempt: int
    outcome: str
    worker: str | None
    channel: str
    kind: str | None
    key: str | None
    headers: Mapping[str, Any] | None
    created_at: int
    dequeue_at: int
    dequeued_at: int
    finished_at: int
    size: int
    error: str | None
    content: bytes | None
    now_at: int


@dataclass(frozen=True, slots=True)
class MessageSummary:
    """A live message with the beginning of its content."""

    id: int
    channel: str
    kind: str | None
    key: str | None
    attempt: int
    created_at: int
    dequeue_at: int
    leased: bool
    lease_until: int | None
    worker: str | None
    error: str | None
    size: int
    head: bytes
    now_at: int


@dataclass(frozen=True, slots=True)
class MessageDetails:
    """One message, alive or dead."""

    id: int
    channel: str
    kind: str | None
    key: str | None
    attempt: int
    max_attempts: int | None
    created_at: int
    dequeue_at: int
    dequeued_at: int | None
    lease_until: int | None
    died_at: int | None
    leased: bool
    worker: str | None
    headers: Mapping[str, Any] | None
    error: str | None
    content: bytes
    size: int
    state: bytes | None
    state_size: int | None
    now_at: int


@dataclass(frozen=True, slots=True)
class QueueFigures:
    """The queue in figures, some of them estimates."""

    now_at: int
    waiting: int
    waiting_is_exact: bool
    running: int
    running_is_exact: bool
    dead: int
    dead_is_exact: bool
    channels: int
    channels_is_exact: bool
    ready: int
    ready_is_exact: bool
    oldest_at: int | None
    oldest_is_exact: bool
    next_at: int | None
    last_id: int | None
    in_flight: int
    max_concurrency: int | None
    history: str
    workers: int


@dataclass(frozen=True, slots=True)
class QueueSample:
    """The queue in one step of time."""

    at: int
    created: int
    completed: int
    failed: int
    deferred: int
    expired: int
    died: int
    waiting: int
    running: int
    dead: int
    oldest_ms: int | None
    workers: int
    whole: bool


@sql_function(VIEWER, method=False)
def attempt_totals(channels: Names | None = None) -> list[AttemptTotals]:
    """How many attempts of the queue and of these channels have ended."""


@sql_function(ADMIN, method=False)
def audit_add(
    who: Text, *, action: Text, subject: Text, parameters: Json | None, answer: Json | None
) -> int:
    """Write down that somebody did something."""


@sql_function(VIEWER, method=False)
def audit_list(
    subject: Text | None = None, *, before: Identifier | None = None, limit: Count = 50
) -> list[AuditEntry]:
    """What was done, newest first."""


@sql_function(VIEWER, method=False)
def channel_dead(channels: Names) -> list[ChannelDead]:
    """How many dead messages each of these channels has."""


@sql_function(VIEWER, method=False)
def channel_in_state(state: Text, *, limit: Count = 1000) -> list[str]:
    """The channels that are in a state."""


@sql_function(VIEWER, method=False)
def channel_names(
    prefix: Text = "",
    *,
    text: Text = "",
    after: Text = "",
    limit: Count = 100,
    most: Count = 10_000,
) -> list[ChannelName]:
    """The names of channels, by how they begin and by what they contain."""


@sql_function(VIEWER, method=False)
def channel_rank(by: Text, *, limit: Count = 1000) -> list[ChannelRank]:
    """Channels ranked by a figure."""


@sql_function(VIEWER, method=False)
def channel_sample_list(channel: Name, *, start: Time, step_ms: Period) -> list[ChannelSample]:
    """What became of a channel's attempts from a time on."""


@sql_function(VIEWER, method=False)
def dead_groups(
    channel: Name | None = None, *, kind: Name | None = None, most: Count = 10_000
) -> list[DeadGroup]:
    """Dead messages, grouped by what their errors have in common."""


@sql_function(VIEWER, method=False)
def dead_match(
    group: Text | None = None,
    *,
    channel: Name | None = None,
    kind: Name | None = None,
    before: Identifier | None = None,
    limit: Count = 50,
    most: Count = 10_000,
    head_bytes: Count = 256,
) -> list[DeadMatch]:
    """Dead messages by channel, kind and group of errors."""


@sql_function(VIEWER, method=False)
def history_recent(
    start: Time, *, step_ms: Period, channel: Name | None = None, most: Count = 5000
) -> list[HistoryStep]:
    """What became of the attempts that ended lately."""


@sql_function(VIEWER, method=False)
def message_find(
    state: Text = "live",
    *,
    channel: Name | None = None,
    kind: Name | None = None,
    key: Name | None = None,
    worker: Name | None = None,
    fields: JsonList | None = None,
    after: Ids | None = None,
    limit: Count = 50,
) -> list[FoundMessage]:
    """Find messages by state, kind, key, worker and fields of JSON contents. At most 10,000 messages are read."""


@sql_function(VIEWER, method=False)
def message_attempts(message_id: Identifier, *, most: Count = 200) -> list[MessageAttempt]:
    """The attempts of a message that ended."""


@sql_function(VIEWER, method=False)
def message_page(
    channel: Name,
    *,
    after_at: Time | None = None,
    after_id: Identifier | None = None,
    limit: Count = 50,
    head_bytes: Count = 256,
) -> list[MessageSummary]:
    """The live messages of a channel in their order, page by page."""


@sql_function(VIEWER, method=False)
def message_show(message_id: Identifier, *, head_bytes: Count = 16_384) -> list[MessageDetails]:
    """One message, alive or dead; no row if there is none."""


@sql_function(VIEWER, method=False)
def queue_metrics(pages: Count = 300) -> QueueFigures:
    """The queue in figures that cost the same however much is in it."""


@sql_function(READER, method=False)
def queue_options_now() -> Mapping[str, Any]:
    """The settings of the queue as they are now."""


@sql_function(VIEWER, method=False)
def sample_list(start: Time, *, step_ms: Period) -> list[QueueSample]:
    """Samples of the queue from a time on, put together in steps."""
