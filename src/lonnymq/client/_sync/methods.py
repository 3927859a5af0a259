# scripts/make_sync.py writes this file from _async/methods.py: do not edit it.
"""The methods of Queue that are one call each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from lonnymq.client import calls
from lonnymq.client._sync.base import Base
from lonnymq.client.arguments import Bytes, Duration, Moment
from lonnymq.results import (
    CancelAnswer,
    Cancelled,
    ChannelActivity,
    ChannelPolicy,
    ChannelStats,
    CompleteAnswer,
    Completed,
    ConfineAnswer,
    Confined,
    ConfirmAnswer,
    DeadMessage,
    DeferAnswer,
    Deferred,
    Explanation,
    FailAnswer,
    Failed,
    ForgetAnswer,
    FreeAnswer,
    Heartbeat,
    HeartbeatAnswer,
    HistoryLag,
    HistoryPart,
    HistoryReader,
    HistoryResume,
    HistoryRow,
    Horizon,
    Installed,
    Leased,
    MissedTicks,
    PauseAnswer,
    PeekedMessage,
    QueueStats,
    Redriven,
    ReleaseAnswer,
    Repair,
    ResumeAnswer,
    Schedule,
    ScheduleDeleteAnswer,
    ScheduleRan,
    ScheduleSetAnswer,
    Swept,
    Ticked,
    Violation,
    WorkerGoneAnswer,
    WorkerSeen,
    WorkerSeenAnswer,
)


class Methods(Base):
    """One method a SQL function."""

    def channel_pause(self, channel: str) -> PauseAnswer:
        """Stop handing out a channel's messages."""
        return self._run(calls.channel_pause(self.schema, channel))

    def channel_resume(self, channel: str) -> ResumeAnswer:
        """Hand out a paused channel's messages again."""
        return self._run(calls.channel_resume(self.schema, channel))

    def channel_release(self, channel: str) -> ReleaseAnswer:
        """Retire a channel: no new messages, gone when drained."""
        return self._run(calls.channel_release(self.schema, channel))

    def channel_stats(
        self, channel: str | None = None, *, after: str | None = None, limit: int = 100
    ) -> list[ChannelStats]:
        """One channel's figures, or those of all, a page at a time after a name."""
        return self._run(calls.channel_stats(self.schema, channel, after=after, limit=limit))

    def channel_policy_list(
        self, *, after: str | None = None, limit: int = 1000
    ) -> list[ChannelPolicy]:
        """The defaults, then the policies of all channels, a page at a time after a name."""
        return self._run(calls.channel_policy_list(self.schema, after=after, limit=limit))

    def channel_active(
        self, channels: Iterable[str] | None = None, *, limit: int = 100, count: int = 1000
    ) -> list[ChannelActivity]:
        """The channels in which something goes on, up to `limit` of each sort, or those that are named."""
        return self._run(calls.channel_active(self.schema, channels, limit=limit, count=count))

    def channel_permitted(self, channel: str) -> bool:
        """Whether who is connected may use a channel: True unless it is confined to others."""
        return self._run(calls.channel_permitted(self.schema, channel))

    def producer_confine(
        self, role: str, *, channels: Iterable[str] = (), prefixes: Iterable[str] = ()
    ) -> ConfineAnswer:
        """Confine a role and its members to these channels, and to those whose names begin so."""
        return self._run(
            calls.producer_confine(self.schema, role, channels=channels, prefixes=prefixes)
        )

    def producer_free(self, role: str) -> FreeAnswer:
        """Let a role use every channel again."""
        return self._run(calls.producer_free(self.schema, role))

    def producer_list(self) -> list[Confined]:
        """The roles that are confined to some channels."""
        return self._run(calls.producer_list(self.schema))

    def dead_list(
        self,
        channel: str | None = None,
        *,
        kind: str | None = None,
        after: int | None = None,
        limit: int = 100,
    ) -> list[DeadMessage]:
        """A page of dead messages, after an id."""
        return self._run(calls.dead_list(self.schema, channel, kind=kind, after=after, limit=limit))

    def dead_ids(
        self,
        channel: str | None = None,
        *,
        kind: str | None = None,
        after: int | None = None,
        limit: int = 1000,
    ) -> list[int]:
        """A page of the ids of dead messages, after an id."""
        return self._run(calls.dead_ids(self.schema, channel, kind=kind, after=after, limit=limit))

    def dead_redrive(
        self,
        message_ids: Iterable[int] | None = None,
        *,
        channel: str | None = None,
        kind: str | None = None,
        limit: int = 1000,
    ) -> list[Redriven]:
        """Let dead messages live again, at their place in time; channel '*' means all."""
        return self._run(
            calls.dead_redrive(self.schema, message_ids, channel=channel, kind=kind, limit=limit)
        )

    def dead_purge(
        self,
        message_ids: Iterable[int] | None = None,
        *,
        channel: str | None = None,
        kind: str | None = None,
        limit: int = 10_000,
    ) -> int:
        """Delete dead messages for good, and say how many; channel '*' means all."""
        return self._run(
            calls.dead_purge(self.schema, message_ids, channel=channel, kind=kind, limit=limit)
        )

    def history_horizon(self, start: int = 0, *, rows: int = 10_000) -> Horizon:
        """How far a slice of about so many rows from `start` may reach."""
        return self._run(calls.history_horizon(self.schema, start, rows=rows))

    def history_read(self, start: int = 0, *, upto: int | None = None) -> list[HistoryRow]:
        """The finished attempts of a slice, the same whenever it is read."""
        return self._run(calls.history_read(self.schema, start, upto=upto))

    def history_cut(
        self, start: int = 0, *, rows: int = 100_000, parts: int = 10
    ) -> list[HistoryPart]:
        """What is settled from `start` on, in parts of about so many rows for readers side by side."""
        return self._run(calls.history_cut(self.schema, start, rows=rows, parts=parts))

    def history_lag(self, start: int = 0, *, most: int = 1_000_000) -> HistoryLag:
        """How far somebody is behind who has read up to `start`, and what holds the rest back."""
        return self._run(calls.history_lag(self.schema, start, most=most))

    def history_resume(self, reader: str, position: int) -> HistoryResume:
        """Where a reader goes on that has read up to `position`, also after a failover or a restore."""
        return self._run(calls.history_resume(self.schema, reader, position))

    def history_reader_list(self) -> list[HistoryReader]:
        """Who reads history, and up to where; what one of them has not confirmed is kept."""
        return self._run(calls.history_reader_list(self.schema))

    def history_forget(self, reader: str) -> ForgetAnswer:
        """Let a reader that will not come back keep nothing any more."""
        return self._run(calls.history_forget(self.schema, reader))

    def history_confirm(self, reader: str, *, upto: int) -> ConfirmAnswer:
        """Say how far a reader has come, so that the rest is kept for it."""
        return self._run(calls.history_confirm(self.schema, reader, upto=upto))

    def history_prune(self) -> int:
        """Drop history that is past its time and confirmed by every reader."""
        return self._run(calls.history_prune(self.schema))

    def heartbeat(self, message: Leased, *, lease_ms: Duration = 30_000) -> HeartbeatAnswer:
        """Extend a lease to so long from now."""
        return self._run(calls.message_heartbeat(self.schema, message, lease_ms=lease_ms))

    def heartbeat_many(
        self, messages: Iterable[Leased], *, lease_ms: Duration = 30_000
    ) -> list[Heartbeat]:
        """Extend many leases in one call."""
        return self._run(calls.message_heartbeat_many(self.schema, messages, lease_ms=lease_ms))

    def complete(self, message: Leased, *, using: Any = None) -> CompleteAnswer:
        """Be done with a message."""
        return self._run(calls.message_complete(self.schema, message), using)

    def complete_many(self, messages: Iterable[Leased], *, using: Any = None) -> list[Completed]:
        """Be done with many messages in one call; one answer each, in this order."""
        return self._run(calls.message_complete_many(self.schema, messages), using)

    def defer(
        self,
        message: Leased,
        *,
        delay_ms: Duration | None = None,
        dequeue_at: Moment | None = None,
        state: Bytes | None = None,
        using: Any = None,
    ) -> DeferAnswer:
        """Put a message back for later, with state; no attempt is used up."""
        return self._run(
            calls.message_defer(
                self.schema, message, delay_ms=delay_ms, dequeue_at=dequeue_at, state=state
            ),
            using,
        )

    def defer_many(
        self,
        messages: Iterable[Leased],
        *,
        delay_ms: Duration | None = None,
        dequeue_at: Moment | None = None,
        state: Bytes | None = None,
        using: Any = None,
    ) -> list[Deferred]:
        """Put many messages back for later, all in the same way."""
        return self._run(
            calls.message_defer_many(
                self.schema, messages, delay_ms=delay_ms, dequeue_at=dequeue_at, state=state
            ),
            using,
        )

    def fail(
        self,
        message: Leased,
        *,
        error: str | BaseException | None = None,
        retry_ms: Duration | None = None,
        dead: bool = False,
        using: Any = None,
    ) -> FailAnswer:
        """Give up on an attempt: retried by the channel's policy or after `retry_ms`, or dead."""
        return self._run(
            calls.message_fail(self.schema, message, error=error, retry_ms=retry_ms, dead=dead),
            using,
        )

    def fail_many(
        self,
        messages: Iterable[Leased],
        *,
        error: str | BaseException | None = None,
        retry_ms: Duration | None = None,
        dead: bool = False,
        using: Any = None,
    ) -> list[Failed]:
        """Give up on an attempt of each of many messages, all for the same reason."""
        return self._run(
            calls.message_fail_many(
                self.schema, messages, error=error, retry_ms=retry_ms, dead=dead
            ),
            using,
        )

    def cancel(self, message_id: int, *, using: Any = None) -> CancelAnswer:
        """Delete a message that nobody is working on."""
        return self._run(calls.message_cancel(self.schema, message_id), using)

    def cancel_many(self, message_ids: Iterable[int], *, using: Any = None) -> list[Cancelled]:
        """Delete many messages that nobody is working on."""
        return self._run(calls.message_cancel_many(self.schema, message_ids), using)

    def purge(self, channel: str, *, limit: int = 10_000) -> int:
        """Delete a channel's waiting messages, at most `limit`, and say how many."""
        return self._run(calls.message_purge(self.schema, channel, limit=limit))

    def peek(self, channel: str, *, limit: int = 10) -> list[PeekedMessage]:
        """Look at a channel's first messages and take none."""
        return self._run(calls.message_peek(self.schema, channel, limit=limit))

    def explain(self, message_id: int) -> Explanation:
        """Say why a message is not running."""
        return self._run(calls.message_explain(self.schema, message_id))

    def installed(self) -> Installed:
        """Which version of the queue is in the schema."""
        return self._run(calls.queue_installed(self.schema))

    def epoch(self) -> int:
        """The queue's clock: epoch milliseconds of the database."""
        return self._run(calls.epoch(self.schema))

    def stats(self) -> QueueStats:
        """The queue's figures."""
        return self._run(calls.queue_stats(self.schema))

    def sweep(self, *, limit: int = 1000) -> Swept:
        """Expire leases, forget idle channels, drop old history; safe from anywhere, by many."""
        return self._run(calls.queue_sweep(self.schema, limit=limit))

    def check(self) -> list[Violation]:
        """Look for broken invariants; none means healthy."""
        return self._run(calls.queue_check(self.schema))

    def repair(self) -> list[Repair]:
        """Mend broken invariants, and say which."""
        return self._run(calls.queue_repair(self.schema))

    def schedule_set(
        self,
        name: str,
        *,
        channel: str,
        cron: str | None = None,
        every_ms: Duration | None = None,
        zone: str = "UTC",
        content: Bytes = b"",
        kind: str | None = None,
        headers: Mapping[str, Any] | None = None,
        missed: MissedTicks = "once",
    ) -> ScheduleSetAnswer:
        """Say what a schedule creates and when, by a cron line or an interval; workers do it."""
        return self._run(
            calls.schedule_set(
                self.schema,
                name,
                channel=channel,
                cron=cron,
                every_ms=every_ms,
                zone=zone,
                content=content,
                kind=kind,
                headers=headers,
                missed=missed,
            )
        )

    def schedule_list(self, *, after: str | None = None, limit: int = 100) -> list[Schedule]:
        """A page of schedules, after a name."""
        return self._run(calls.schedule_list(self.schema, after=after, limit=limit))

    def schedule_due(self, *, within_ms: Duration = 0, limit: int = 1000) -> list[Schedule]:
        """The schedules whose next tick comes within so long, and those of which nobody knows it yet."""
        return self._run(calls.schedule_due(self.schema, within_ms=within_ms, limit=limit))

    def schedule_tick(
        self,
        name: str,
        *,
        version: int,
        upto_at: Moment,
        ticks: Iterable[Moment],
        next_at: Moment | None = None,
    ) -> Ticked:
        """Create the messages of ticks that have come, each once, and remember it."""
        return self._run(
            calls.schedule_tick(
                self.schema, name, version=version, upto_at=upto_at, ticks=ticks, next_at=next_at
            )
        )

    def schedule_run(self, name: str) -> ScheduleRan:
        """Create the message of a schedule now, beside its ticks."""
        return self._run(calls.schedule_run(self.schema, name))

    def schedule_pause(self, name: str) -> PauseAnswer:
        """Stop a schedule until it is resumed."""
        return self._run(calls.schedule_pause(self.schema, name))

    def schedule_resume(self, name: str) -> ResumeAnswer:
        """Let a paused schedule go on with the first tick after now."""
        return self._run(calls.schedule_resume(self.schema, name))

    def schedule_delete(self, name: str) -> ScheduleDeleteAnswer:
        """Delete a schedule; the messages that it created stay."""
        return self._run(calls.schedule_delete(self.schema, name))

    def worker_seen(
        self,
        name: str,
        *,
        concurrency: int,
        running: int = 0,
        stopping: bool = False,
        about: Mapping[str, Any] | None = None,
        again_ms: Duration = 10_000,
    ) -> WorkerSeenAnswer:
        """Say that a worker is there, to be said again within `again_ms`."""
        return self._run(
            calls.worker_seen(
                self.schema,
                name,
                concurrency=concurrency,
                running=running,
                stopping=stopping,
                about=about,
                again_ms=again_ms,
            )
        )

    def worker_gone(self, name: str) -> WorkerGoneAnswer:
        """Say that a worker has ended."""
        return self._run(calls.worker_gone(self.schema, name))

    def worker_list(self, *, after: str | None = None, limit: int = 100) -> list[WorkerSeen]:
        """A page of workers that said that they are there, after a name."""
        return self._run(calls.worker_list(self.schema, after=after, limit=limit))
