"""The JSON documents that the API returns. OpenAPI describes them from these classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, get_args

from msgspec import UNSET, Meta, Struct, UnsetType

Digits = Annotated[str, Meta(pattern="^-?[0-9]+$")]
Time = Annotated[int, Meta(description="Epoch milliseconds of the database's clock.")]
ChannelState = Literal["ready", "idle", "scheduled", "saturated", "throttled", "paused", "retiring"]
STATES: Final[tuple[str, ...]] = get_args(ChannelState)
OUTCOMES: Final = ("completed", "failed", "deferred", "expired", "died")


class Document(Struct, forbid_unknown_fields=True):
    """A JSON object with exactly these fields."""


class Answer(Document):
    now_at: Time


class Page(Answer):
    next: str | None


class ErrorDetails(Document):
    code: str
    message: str
    advice: str | None


class Error(Document):
    error: ErrorDetails


class Count(Document):
    """A number, and whether it is exact, an estimate, or the point where counting stopped."""

    value: int
    exact: bool
    at_least: bool | UnsetType = UNSET


def build_count(value: int | None, *, exact: bool = True, at_least: bool = False) -> dict[str, Any]:
    """A `Count` as a dictionary."""
    count = {"value": value or 0, "exact": exact and not at_least}
    return {**count, "at_least": True} if at_least else count


def select_fields(kind: type[Document], row: Mapping[str, Any], **other: Any) -> dict[str, Any]:
    """A document of this kind as a dictionary: the fields of a row, and other values."""
    return {name: other[name] if name in other else row[name] for name in kind.__struct_fields__}


class SessionQueue(Document):
    key: str
    database: str
    schema: str
    label: str
    role: Literal["view", "act", "administer"]
    channels: list[str] | None
    shows_payloads: bool
    actions: list[str]


class Session(Document):
    signed_in: bool
    actions: bool
    report: bool
    user: str | None
    login: Literal["none", "token", "host", "oidc"]
    shared_token: bool
    csrf: str
    version: str
    queues: list[SessionQueue]


class Fairness(Document):
    jain: float | None
    channels: int
    attempts: int


class WorkerCounts(Document):
    alive: int
    stopping: int
    gone: int
    running: int
    concurrency: int


class AttemptStats(Document):
    """Outcomes and durations of attempts in the last hour, of a channel or of a kind."""

    name: str
    completed: int
    failed: int
    deferred: int
    expired: int
    died: int
    failed_share: float | None
    wait_mean_ms: int
    wait_p50_ms: int | None
    wait_p95_ms: int | None
    wait_p99_ms: int | None
    run_mean_ms: int
    run_p50_ms: int | None
    run_p95_ms: int | None
    run_p99_ms: int | None


class Kinds(Answer):
    kinds: list[AttemptStats]


class AttentionRow(Document):
    reason: Literal["no_workers", "failing", "dying", "paused", "saturated", "throttled", "old"]
    channel: str | None
    figure: int | None
    total: int | None
    since_at: Time | None
    explanation: str
    advice: str


class Attention(Answer):
    rows: list[AttentionRow]
    complete: bool


class BusyChannel(Document):
    channel: str
    state: ChannelState
    waiting: Count
    running: int
    out_per_s: float | None


class Overview(Answer):
    waiting: Count
    running: Count
    dead: Count
    channels: Count
    ready_channels: Count
    oldest_at: Time | None
    next_at: Time | None
    in_per_s: float | None
    out_per_s: float | None
    failed_per_s: float | None
    failed_share: float | None
    oldest_exact: bool
    last_id: int
    rate_ms: int
    fairness: Fairness
    workers: WorkerCounts
    max_concurrency: int | None
    in_flight: int
    history: Literal["off", "outcomes", "content"]
    top: list[BusyChannel]


class Outcomes(Document):
    at: Time
    completed: int
    failed: int
    deferred: int
    expired: int
    died: int


class SeriesPoint(Outcomes):
    created: int
    waiting: int
    running: int
    dead: int
    workers: int
    oldest_ms: int | None
    whole: bool


class Series(Answer):
    from_at: Time
    to_at: Time
    step_ms: int
    sampled: bool
    points: list[SeriesPoint]


class ChannelRow(Document):
    channel: str
    state: ChannelState
    held: str | None
    waiting: Count
    scheduled: Count
    dead: Count
    running: int
    out_per_s: float | None
    turns_share: float | None
    recent_failed: int | None
    failed_share: float | None
    rate_limit_per_s: float | None
    oldest_at: Time | None
    next_at: Time | None
    max_concurrency: int | None
    min_interval_ms: int | None
    burst: int
    weight: int
    max_size: int | None
    paused: bool
    retiring: bool


class Channels(Page):
    channels: list[ChannelRow]
    total: Count
    ranked: Literal["exact", "estimated"]
    complete: bool
    searched: int


class ChannelDetails(ChannelRow):
    when_full: Literal["reject", "drop"]
    max_attempts: int
    retry_delays_ms: list[int]
    retry_jitter: float
    size: Count


class ChannelDefaults(Document):
    max_concurrency: int | None
    min_interval_ms: int | None
    burst: int
    max_size: int | None
    when_full: Literal["reject", "drop"]
    weight: int
    max_attempts: int
    retry_delays_ms: list[int]
    retry_jitter: float


SETTINGS: Final = ChannelDefaults.__struct_fields__


class ChannelPoint(Outcomes):
    wait_ms: int
    run_ms: int


class ChannelSeries(Answer):
    start_at: Time
    to_at: Time
    step_ms: int
    exact: bool
    from_at: Time
    points: list[ChannelPoint]


class Channel(Answer):
    channel: ChannelDetails
    stats: AttemptStats | None
    defaults: ChannelDefaults


class MessageBase(Document):
    id: Digits
    channel: str
    kind: str | None
    key: str | None
    attempt: int
    created_at: Time


class LiveMessage(MessageBase):
    worker: str | None
    error: str | None
    dequeue_at: Time


class MessageRow(LiveMessage):
    state: Literal["leased", "waiting", "scheduled"]
    lease_until: Time | None
    size: int
    preview: str


class FoundMessage(Document):
    id: Digits
    state: Literal["waiting", "scheduled", "retrying", "running", "dead", "completed"]
    channel: str
    kind: str | None
    key: str | None
    attempt: int
    worker: str | None
    created_at: Time
    dequeue_at: Time
    dequeued_at: Time | None
    finished_at: Time | None
    error: str | None
    size: int
    preview: str
    progress: float | None


class FoundMessages(Page):
    messages: list[FoundMessage]
    looked_at: int


class Messages(Page):
    messages: list[MessageRow]


class Content(Document):
    size: int
    shown: int
    cut: bool
    kind: Literal["json", "text", "hex"]
    text: str | None
    hex: str


class MessageDetails(LiveMessage):
    state: Literal["waiting", "scheduled", "leased", "dead", "completed", "gone"]
    max_attempts: int | None
    dequeued_at: Time | None
    lease_until: Time | None
    died_at: Time | None
    payloads: Literal["shown", "redacted", "hidden"]
    headers: Any
    content: Content | None
    state_content: Content | None
    progress: float | None
    progress_note: str | None
    result: Content | None
    result_size: int | None


class Explanation(Document):
    answer: str
    text: str
    fields: Any


class Attempt(Document):
    attempt: int
    outcome: Literal["completed", "failed", "deferred", "expired", "dead", "cancelled", "lapsed"]
    worker: str | None
    error: str | None
    summary: str | None
    dequeue_at: Time
    dequeued_at: Time
    finished_at: Time
    wait_ms: int
    run_ms: int


class TimelineStep(Document):
    at: Time
    what: str
    text: str
    attempt: int | None
    future: bool


class Message(Answer):
    message: MessageDetails
    explanation: Explanation
    attempts: list[Attempt]
    attempts_complete: bool
    timeline: list[TimelineStep]


class DeadGroup(Document):
    group: str
    error: str
    count: int
    channels: int
    example_channels: list[str]
    kinds: list[str]
    first_at: Time
    last_at: Time
    newest_id: Digits


class DeadGroups(Answer):
    total: Count
    looked_at: int
    complete: bool
    groups: list[DeadGroup]


class DeadRow(MessageBase):
    died_at: Time
    summary: str | None
    size: int
    preview: str


class DeadMessages(Page):
    messages: list[DeadRow]


class Worker(Document):
    name: str
    alive: bool
    stopping: bool
    concurrency: int
    running: int
    started_at: Time
    seen_at: Time
    about: Any


class Workers(Answer):
    workers: list[Worker]


class Schedule(Document):
    name: str
    cron: str | None
    every_ms: int | None
    timezone: str
    channel: str
    kind: str | None
    misfire: Literal["skip", "once", "all"]
    paused: bool
    last_run_at: Time
    next_at: Time | None
    message_id: Digits | None
    answer: str | None
    set_at: Time


class Schedules(Answer):
    schedules: list[Schedule]


class AuditEntry(Document):
    id: Digits
    at: Time
    who: str
    db_user: str
    action: str
    subject: str | None
    parameters: Any
    answer: Any


class AuditLog(Page):
    entries: list[AuditEntry]


class ReportPicture(Document):
    name: str
    url: str
    title: str


class Report(Document):
    available: bool
    configured: bool
    title: str | UnsetType = UNSET
    made_at: Time | UnsetType = UNSET
    pictures: list[ReportPicture] | UnsetType = UNSET
    url: str | UnsetType = UNSET
    advice: str | UnsetType = UNSET


class Preview(Document):
    message: str
    count: int
    exact: bool
    at_least: bool
    warning: str | None
    bound: dict[str, str]


class ActionDone(Document):
    message: str
    answer: str
    count: int
    more: bool
    audit_id: Digits


class Readiness(Document):
    ready: bool
    queues: dict[str, bool]


class Health(Document):
    status: Literal["ok"]
