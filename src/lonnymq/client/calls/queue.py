"""The functions of the whole queue, of channels and producers, of schedules and workers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, TypedDict

from lonnymq import results
from lonnymq.client.arguments import (
    Content,
    Count,
    Duration,
    Flag,
    Identifier,
    Json,
    JsonOrEmpty,
    Kinds,
    MisfireArgument,
    Name,
    Names,
    Period,
    Text,
    Time,
    Times,
    names,
    optional,
)
from lonnymq.client.arguments import count as whole
from lonnymq.client.call import Call, Record, Row, statement
from lonnymq.client.describe import (
    ADMIN,
    CONSUMER,
    EVERYBODY,
    READER,
    VIEWER,
    sql_builder,
    sql_function,
)

ACTIVITY = Record(results.ChannelActivity)


class ChannelOptions(TypedDict, total=False):
    """A channel's policy: only what is given changes; None is no limit, or the default."""

    max_concurrency: int | None
    min_interval_ms: Duration | None
    burst: int | None
    max_size: int | None
    when_full: Literal["reject", "drop"] | None
    weight: int | None
    max_attempts: int | None
    retry_delays_ms: Sequence[Duration] | None
    retry_jitter: float | None


class QueueOptions(TypedDict, total=False):
    """The queue's policy, and that of channels which are made by their first message."""

    max_concurrency: int | None
    history: Literal["off", "outcomes", "content"]
    history_keep_ms: Duration | None
    channel_idle_ms: Duration
    default_max_concurrency: int | None
    default_min_interval_ms: Duration | None
    default_burst: int | None
    default_max_size: int | None
    default_when_full: Literal["reject", "drop"] | None
    default_weight: int | None
    default_max_attempts: int | None
    default_retry_delays_ms: Sequence[Duration] | None
    default_retry_jitter: float | None


@sql_function(EVERYBODY)
def queue_installed() -> results.Installed:
    """Show which version of the queue is installed in the schema."""


@sql_function(EVERYBODY, runs_as="caller")
def epoch() -> int:
    """Answer the time of the database in epoch milliseconds."""


@sql_function(ADMIN, method=False)
def queue_set(options: Json) -> results.QueueSetAnswer:
    """Set options of the queue. Options that you do not give stay as they are."""


@sql_function(VIEWER)
def queue_stats() -> results.QueueStats:
    """Show the state and the options of the queue."""


@sql_function(CONSUMER)
def queue_maintain(*, limit: Count = 1000) -> results.MaintenanceResult:
    """Expire leases, remove idle channels and drop old history. Any number of processes can run this at once."""


@sql_function(VIEWER)
def queue_check() -> list[results.Violation]:
    """Check the queue for broken invariants. An empty list means that the queue is healthy."""


@sql_function(ADMIN)
def queue_repair() -> list[results.Repair]:
    """Repair broken invariants, and list the repairs."""


@sql_function(ADMIN, method=False)
def channel_set(channel: Name, options: Json) -> results.ChannelSetAnswer:
    """Set options of a channel. Options that you do not give stay as they are."""


@sql_function(ADMIN)
def channel_pause(channel: Name) -> results.PauseAnswer:
    """Stop a channel: no message of the channel is dequeued until you resume the channel."""


@sql_function(ADMIN)
def channel_resume(channel: Name) -> results.ResumeAnswer:
    """Resume a paused channel."""


@sql_function(ADMIN)
def channel_retire(channel: Name) -> results.RetireAnswer:
    """Retire a channel: the channel takes no new messages and is removed when the last message is done."""


@sql_function(VIEWER)
def channel_stats(
    channel: Name | None = None, *, after: Text | None = None, limit: Count = 100
) -> list[results.ChannelStats]:
    """Show the state and the options of a channel, or of all channels page by page, after a name."""


@sql_function(READER)
def channel_policy_list(
    *, after: Text | None = None, limit: Count = 1000
) -> list[results.ChannelPolicy]:
    """List the default options and then the options of all channels, page by page, after a name."""


@sql_builder(VIEWER)
def channel_active(
    schema: str, channels: Iterable[str] | None = None, *, limit: int = 100, count: int = 1000
) -> Call[list[results.ChannelActivity]]:
    """List channels with work: up to `limit` of each kind, or the channels that you name."""
    values = (whole("limit", limit), whole("count", count), optional(names, "channels", channels))
    return ACTIVITY.call(schema, "channel_active", "integer integer text[]", values)


@sql_function(VIEWER)
def queue_attention(
    target_ms: Period = 300_000, *, failing_percent: Count = 20, limit: Count = 100
) -> list[results.Attention]:
    """List what needs attention now: channels that fail, are paused, at a limit or late, with reason and advice."""


@sql_function(VIEWER)
def attempt_stats(
    by: Text, *, start: Time, names: Names | None = None, limit: Count = 100
) -> list[results.AttemptStats]:
    """Show the outcomes and durations of attempts since a time, by 'channel' or by 'kind'."""


@sql_function(EVERYBODY)
def channel_permitted(channel: Name) -> bool:
    """Tell whether the connected login may use a channel: True unless the login is restricted to other channels."""


@sql_function(ADMIN)
def producer_restrict(
    role: Name, *, channels: Names = (), prefixes: Names = ()
) -> results.RestrictAnswer:
    """Restrict a role and its members to some channels, by name or by prefix."""


@sql_function(ADMIN)
def producer_unrestrict(role: Name) -> results.UnrestrictAnswer:
    """Let a role use every channel again."""


@sql_function(VIEWER)
def producer_list() -> list[results.Restricted]:
    """List the roles that are restricted to some channels."""


@sql_function(CONSUMER)
def schedule_set(
    name: Text,
    *,
    channel: Name,
    cron: Text | None = None,
    every_ms: Period | None = None,
    timezone: Text = "UTC",
    content: Content = b"",
    kind: Name | None = None,
    headers: Json | None = None,
    misfire: MisfireArgument = "once",
) -> results.ScheduleSetAnswer:
    """Create or change a schedule, with a cron line or an interval. Workers create the messages."""


@sql_function(VIEWER)
def schedule_list(*, after: Text | None = None, limit: Count = 100) -> list[results.Schedule]:
    """List schedules page by page, after a name."""


@sql_builder(VIEWER, function="schedule_list", method=False)
def schedule_columns(schema: str, columns: Sequence[str], *, limit: int) -> Call[list[Row]]:
    """List some columns of the schedules: contents may be large."""
    listed = ", ".join(f"r.{each}" for each in columns)
    sql = statement(schema, "schedule_list", "text integer", listed)
    return Call(sql, (None, whole("limit", limit)), list)


@sql_function(CONSUMER)
def schedule_due(*, within_ms: Period = 0, limit: Count = 1000) -> list[results.Schedule]:
    """List the schedules with a run within `within_ms`, and the schedules whose next run is not known yet."""


@sql_function(CONSUMER)
def schedule_advance(
    name: Text, *, version: Identifier, upto_at: Time, runs: Times, next_at: Time | None = None
) -> results.ScheduleAdvanced:
    """Create the messages of runs that are due, each message once."""


@sql_function(ADMIN)
def schedule_run(name: Text) -> results.ScheduleRan:
    """Create the message of a schedule now, in addition to the runs."""


@sql_function(ADMIN)
def schedule_pause(name: Text) -> results.PauseAnswer:
    """Stop a schedule until you resume the schedule."""


@sql_function(ADMIN)
def schedule_resume(name: Text) -> results.ResumeAnswer:
    """Resume a paused schedule with the first run after now."""


@sql_function(ADMIN)
def schedule_delete(name: Text) -> results.ScheduleDeleteAnswer:
    """Delete a schedule. Messages of the schedule that exist already stay."""


@sql_function(CONSUMER)
def worker_seen(
    name: Name,
    *,
    concurrency: Count,
    running: Count = 0,
    stopping: Flag = False,
    about: JsonOrEmpty = None,
    interval_ms: Period = 10_000,
    kinds: Kinds | None = None,
) -> results.WorkerSeenAnswer:
    """Report that a worker is alive, and the kinds of messages that it takes, all by default.

    The next report is due within `interval_ms`.
    """


@sql_function(READER)
def kind_list(*, limit: Count = 100, most: Count = 1000) -> list[results.KindServed]:
    """List the kinds of live messages, and how many active workers take each kind."""


@sql_function(CONSUMER)
def worker_gone(name: Name) -> results.WorkerGoneAnswer:
    """Report that a worker has ended."""


@sql_function(READER)
def worker_list(*, after: Text | None = None, limit: Count = 100) -> list[results.WorkerSeen]:
    """List workers page by page, after a name."""
