"""The methods of AsyncQueue that are one call each. scripts/make_methods.py writes this file: do not edit it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from lonnymq import results
from lonnymq.client import calls
from lonnymq.client._async.base import AsyncBase
from lonnymq.client.arguments import Bytes, Duration, Moment


class AsyncMethods(AsyncBase):
    """One method a SQL function."""

    async def group_create(
        self,
        channel: str,
        content: Bytes,
        *,
        kind: str | None = None,
        headers: Mapping[str, Any] | None = None,
        using: Any = None,
    ) -> int:
        """Create a group and return its id. The message given here is created when all members have ended."""
        return await self._run(
            calls.group_create(self.schema, channel, content, kind=kind, headers=headers), using
        )

    async def group_add(
        self, group_id: int, message_ids: Iterable[int], *, using: Any = None
    ) -> int:
        """Add live messages to a group that has not ended, and answer how many."""
        return await self._run(calls.group_add(self.schema, group_id, message_ids), using)

    async def group_seal(self, group_id: int, *, using: Any = None) -> results.SealAnswer:
        """Seal a group: the group ends when no member is left."""
        return await self._run(calls.group_seal(self.schema, group_id), using)

    async def group_status(self, group_id: int, *, using: Any = None) -> results.GroupStatus:
        """Tell how far a group is: open, sealed or ended, with the number of members by outcome."""
        return await self._run(calls.group_status(self.schema, group_id), using)

    async def history_horizon(self, start: int = 0, *, rows: int = 10_000) -> results.Horizon:
        """Answer how far you can read from `start` for about `rows` finished attempts."""
        return await self._run(calls.history_horizon(self.schema, start, rows=rows))

    async def history_read(
        self, start: int = 0, *, upto: int | None = None
    ) -> list[results.HistoryRow]:
        """Read the finished attempts from `start` up to `upto`. Each time you read the same attempts."""
        return await self._run(calls.history_read(self.schema, start, upto=upto))

    async def history_cut(
        self, start: int = 0, *, rows: int = 100_000, parts: int = 10
    ) -> list[results.HistoryPart]:
        """Cut the history from `start` on into parts of about `rows` finished attempts, for parallel readers."""
        return await self._run(calls.history_cut(self.schema, start, rows=rows, parts=parts))

    async def history_lag(self, start: int = 0, *, most: int = 1_000_000) -> results.HistoryLag:
        """Show how far a reader at position `start` is behind, and which transaction holds back the rest."""
        return await self._run(calls.history_lag(self.schema, start, most=most))

    async def history_resume(self, reader: str, position: int) -> results.HistoryResume:
        """Answer where a reader at `position` continues, also after a failover or a restore."""
        return await self._run(calls.history_resume(self.schema, reader, position))

    async def history_reader_list(self) -> list[results.HistoryReader]:
        """List the readers of history. History that a reader has not confirmed is kept."""
        return await self._run(calls.history_reader_list(self.schema))

    async def history_forget(self, reader: str) -> results.ForgetAnswer:
        """Forget a reader of history, so that no history is kept for the reader."""
        return await self._run(calls.history_forget(self.schema, reader))

    async def history_confirm(self, reader: str, *, upto: int) -> results.ConfirmAnswer:
        """Confirm that a reader has stored the history up to `upto`. Later history is kept for the reader."""
        return await self._run(calls.history_confirm(self.schema, reader, upto=upto))

    async def history_prune(self) -> int:
        """Drop history that is old enough and confirmed by every reader. Answer how many days were dropped."""
        return await self._run(calls.history_prune(self.schema))

    async def heartbeat(
        self,
        message: results.Leased,
        *,
        lease_ms: Duration = 30_000,
        progress: float | None = None,
        note: str | None = None,
    ) -> results.HeartbeatAnswer:
        """Extend the lease of a message to `lease_ms` from now, and set the progress that `status` shows."""
        return await self._run(
            calls.message_heartbeat(
                self.schema, message, lease_ms=lease_ms, progress=progress, note=note
            )
        )

    async def heartbeat_many(
        self,
        messages: Iterable[results.Leased],
        *,
        lease_ms: Duration = 30_000,
        progress: Iterable[float | None] | None = None,
        notes: Iterable[str | None] | None = None,
    ) -> list[results.Heartbeat]:
        """Extend the leases of many messages to `lease_ms` from now, in one call, with the progress of each message."""
        return await self._run(
            calls.message_heartbeat_many(
                self.schema, messages, lease_ms=lease_ms, progress=progress, notes=notes
            )
        )

    async def complete(
        self, message: results.Leased, *, result: Bytes | None = None, using: Any = None
    ) -> results.CompleteAnswer:
        """Complete a message. `result` is kept with the history of the message."""
        return await self._run(calls.message_complete(self.schema, message, result=result), using)

    async def complete_many(
        self,
        messages: Iterable[results.Leased],
        *,
        results: Iterable[Bytes | None] | None = None,
        using: Any = None,
    ) -> list[results.Completed]:
        """Complete many messages in one call. Answers and results have the order of the messages."""
        return await self._run(
            calls.message_complete_many(self.schema, messages, results=results), using
        )

    async def defer(
        self,
        message: results.Leased,
        *,
        delay_ms: Duration | None = None,
        dequeue_at: Moment | None = None,
        state: Bytes | None = None,
        using: Any = None,
    ) -> results.DeferAnswer:
        """Put a message back for later and keep `state` with the message. This attempt does not count."""
        return await self._run(
            calls.message_defer(
                self.schema, message, delay_ms=delay_ms, dequeue_at=dequeue_at, state=state
            ),
            using,
        )

    async def defer_many(
        self,
        messages: Iterable[results.Leased],
        *,
        delay_ms: Duration | None = None,
        dequeue_at: Moment | None = None,
        state: Bytes | None = None,
        using: Any = None,
    ) -> list[results.Deferred]:
        """Put many messages back for later, all with the same delay and state."""
        return await self._run(
            calls.message_defer_many(
                self.schema, messages, delay_ms=delay_ms, dequeue_at=dequeue_at, state=state
            ),
            using,
        )

    async def fail(
        self,
        message: results.Leased,
        *,
        error: str | BaseException | None = None,
        retry_ms: Duration | None = None,
        dead: bool = False,
        using: Any = None,
    ) -> results.FailAnswer:
        """Fail this attempt. The message is retried after `retry_ms` or as the channel says, or is dead."""
        return await self._run(
            calls.message_fail(self.schema, message, error=error, retry_ms=retry_ms, dead=dead),
            using,
        )

    async def fail_many(
        self,
        messages: Iterable[results.Leased],
        *,
        error: str | BaseException | None = None,
        retry_ms: Duration | None = None,
        dead: bool = False,
        using: Any = None,
    ) -> list[results.Failed]:
        """Fail an attempt of many messages, all with the same error."""
        return await self._run(
            calls.message_fail_many(
                self.schema, messages, error=error, retry_ms=retry_ms, dead=dead
            ),
            using,
        )

    async def cancel(self, message_id: int, *, using: Any = None) -> results.CancelAnswer:
        """Cancel a message. The worker of a running message is told by the next heartbeat."""
        return await self._run(calls.message_cancel(self.schema, message_id), using)

    async def cancel_many(
        self, message_ids: Iterable[int], *, using: Any = None
    ) -> list[results.Cancelled]:
        """Cancel many messages, waiting or running."""
        return await self._run(calls.message_cancel_many(self.schema, message_ids), using)

    async def purge(self, channel: str, *, limit: int = 10_000, last_id: int | None = None) -> int:
        """Delete up to `limit` waiting messages of a channel, up to the id `last_id`, and answer how many."""
        return await self._run(
            calls.message_purge(self.schema, channel, limit=limit, last_id=last_id)
        )

    async def peek(self, channel: str, *, limit: int = 10) -> list[results.PeekedMessage]:
        """Show the first messages of a channel without a lease."""
        return await self._run(calls.message_peek(self.schema, channel, limit=limit))

    async def explain(self, message_id: int) -> results.Explanation:
        """Explain why a message is not running."""
        return await self._run(calls.message_explain(self.schema, message_id))

    async def status(self, message_id: int, *, using: Any = None) -> results.MessageStatus:
        """Tell what became of a message: waiting, running, completed and so on, with times and the error."""
        return await self._run(calls.message_status(self.schema, message_id), using)

    async def status_many(
        self, message_ids: Iterable[int], *, using: Any = None
    ) -> list[results.MessageStatus]:
        """Tell what became of many messages. The answers have the order of the ids."""
        return await self._run(calls.message_status_many(self.schema, message_ids), using)

    async def result(self, message_id: int, *, using: Any = None) -> bytes | None:
        """Return the result of a completed message, or None if no result was stored."""
        return await self._run(calls.message_result(self.schema, message_id), using)

    async def dead_list(
        self,
        channel: str | None = None,
        *,
        kind: str | None = None,
        after: int | None = None,
        limit: int = 100,
    ) -> list[results.DeadMessage]:
        """List dead messages page by page, after an id."""
        return await self._run(
            calls.dead_list(self.schema, channel, kind=kind, after=after, limit=limit)
        )

    async def dead_ids(
        self,
        channel: str | None = None,
        *,
        kind: str | None = None,
        after: int | None = None,
        limit: int = 1000,
    ) -> list[int]:
        """List the ids of dead messages page by page, after an id."""
        return await self._run(
            calls.dead_ids(self.schema, channel, kind=kind, after=after, limit=limit)
        )

    async def dead_redrive(
        self,
        message_ids: Iterable[int] | None = None,
        *,
        channel: str | None = None,
        kind: str | None = None,
        limit: int = 1000,
    ) -> list[results.Redriven]:
        """Put dead messages back into their channels, by id or by channel. The channel '*' means all channels."""
        return await self._run(
            calls.dead_redrive(self.schema, message_ids, channel=channel, kind=kind, limit=limit)
        )

    async def dead_purge(
        self,
        message_ids: Iterable[int] | None = None,
        *,
        channel: str | None = None,
        kind: str | None = None,
        limit: int = 10_000,
    ) -> int:
        """Delete dead messages, by id or by channel, and answer how many. The channel '*' means all channels."""
        return await self._run(
            calls.dead_purge(self.schema, message_ids, channel=channel, kind=kind, limit=limit)
        )

    async def installed(self) -> results.Installed:
        """Show which version of the queue is installed in the schema."""
        return await self._run(calls.queue_installed(self.schema))

    async def epoch(self) -> int:
        """Answer the time of the database in epoch milliseconds."""
        return await self._run(calls.epoch(self.schema))

    async def stats(self) -> results.QueueStats:
        """Show the state and the options of the queue."""
        return await self._run(calls.queue_stats(self.schema))

    async def maintain(self, *, limit: int = 1000) -> results.MaintenanceResult:
        """Expire leases, remove idle channels and drop old history. Any number of processes can run this at once."""
        return await self._run(calls.queue_maintain(self.schema, limit=limit))

    async def check(self) -> list[results.Violation]:
        """Check the queue for broken invariants. An empty list means that the queue is healthy."""
        return await self._run(calls.queue_check(self.schema))

    async def repair(self) -> list[results.Repair]:
        """Repair broken invariants, and list the repairs."""
        return await self._run(calls.queue_repair(self.schema))

    async def channel_pause(self, channel: str) -> results.PauseAnswer:
        """Stop a channel: no message of the channel is dequeued until you resume the channel."""
        return await self._run(calls.channel_pause(self.schema, channel))

    async def channel_resume(self, channel: str) -> results.ResumeAnswer:
        """Resume a paused channel."""
        return await self._run(calls.channel_resume(self.schema, channel))

    async def channel_retire(self, channel: str) -> results.RetireAnswer:
        """Retire a channel: the channel takes no new messages and is removed when the last message is done."""
        return await self._run(calls.channel_retire(self.schema, channel))

    async def channel_stats(
        self, channel: str | None = None, *, after: str | None = None, limit: int = 100
    ) -> list[results.ChannelStats]:
        """Show the state and the options of a channel, or of all channels page by page, after a name."""
        return await self._run(calls.channel_stats(self.schema, channel, after=after, limit=limit))

    async def channel_policy_list(
        self, *, after: str | None = None, limit: int = 1000
    ) -> list[results.ChannelPolicy]:
        """List the default options and then the options of all channels, page by page, after a name."""
        return await self._run(calls.channel_policy_list(self.schema, after=after, limit=limit))

    async def channel_active(
        self, channels: Iterable[str] | None = None, *, limit: int = 100, count: int = 1000
    ) -> list[results.ChannelActivity]:
        """List channels with work: up to `limit` of each kind, or the channels that you name."""
        return await self._run(
            calls.channel_active(self.schema, channels, limit=limit, count=count)
        )

    async def attention(
        self, target_ms: Duration = 300_000, *, failing_percent: int = 20, limit: int = 100
    ) -> list[results.Attention]:
        """List what needs attention now: channels that fail, are paused, at a limit or late, with reason and advice."""
        return await self._run(
            calls.queue_attention(
                self.schema, target_ms, failing_percent=failing_percent, limit=limit
            )
        )

    async def attempt_stats(
        self, by: str, *, start: Moment, names: Iterable[str] | None = None, limit: int = 100
    ) -> list[results.AttemptStats]:
        """Show the outcomes and durations of attempts since a time, by 'channel' or by 'kind'."""
        return await self._run(
            calls.attempt_stats(self.schema, by, start=start, names=names, limit=limit)
        )

    async def channel_permitted(self, channel: str) -> bool:
        """Tell whether the connected login may use a channel: True unless the login is restricted to other channels."""
        return await self._run(calls.channel_permitted(self.schema, channel))

    async def producer_restrict(
        self, role: str, *, channels: Iterable[str] = (), prefixes: Iterable[str] = ()
    ) -> results.RestrictAnswer:
        """Restrict a role and its members to some channels, by name or by prefix."""
        return await self._run(
            calls.producer_restrict(self.schema, role, channels=channels, prefixes=prefixes)
        )

    async def producer_unrestrict(self, role: str) -> results.UnrestrictAnswer:
        """Let a role use every channel again."""
        return await self._run(calls.producer_unrestrict(self.schema, role))

    async def producer_list(self) -> list[results.Restricted]:
        """List the roles that are restricted to some channels."""
        return await self._run(calls.producer_list(self.schema))

    async def schedule_set(
        self,
        name: str,
        *,
        channel: str,
        cron: str | None = None,
        every_ms: Duration | None = None,
        timezone: str = "UTC",
        content: Bytes = b"",
        kind: str | None = None,
        headers: Mapping[str, Any] | None = None,
        misfire: results.Misfire = "once",
    ) -> results.ScheduleSetAnswer:
        """Create or change a schedule, with a cron line or an interval. Workers create the messages."""
        return await self._run(
            calls.schedule_set(
                self.schema,
                name,
                channel=channel,
                cron=cron,
                every_ms=every_ms,
                timezone=timezone,
                content=content,
                kind=kind,
                headers=headers,
                misfire=misfire,
            )
        )

    async def schedule_list(
        self, *, after: str | None = None, limit: int = 100
    ) -> list[results.Schedule]:
        """List schedules page by page, after a name."""
        return await self._run(calls.schedule_list(self.schema, after=after, limit=limit))

    async def schedule_due(
        self, *, within_ms: Duration = 0, limit: int = 1000
    ) -> list[results.Schedule]:
        """List the schedules with a run within `within_ms`, and the schedules whose next run is not known yet."""
        return await self._run(calls.schedule_due(self.schema, within_ms=within_ms, limit=limit))

    async def schedule_advance(
        self,
        name: str,
        *,
        version: int,
        upto_at: Moment,
        runs: Iterable[Moment],
        next_at: Moment | None = None,
    ) -> results.ScheduleAdvanced:
        """Create the messages of runs that are due, each message once."""
        return await self._run(
            calls.schedule_advance(
                self.schema, name, version=version, upto_at=upto_at, runs=runs, next_at=next_at
            )
        )

    async def schedule_run(self, name: str) -> results.ScheduleRan:
        """Create the message of a schedule now, in addition to the runs."""
        return await self._run(calls.schedule_run(self.schema, name))

    async def schedule_pause(self, name: str) -> results.PauseAnswer:
        """Stop a schedule until you resume the schedule."""
        return await self._run(calls.schedule_pause(self.schema, name))

    async def schedule_resume(self, name: str) -> results.ResumeAnswer:
        """Resume a paused schedule with the first run after now."""
        return await self._run(calls.schedule_resume(self.schema, name))

    async def schedule_delete(self, name: str) -> results.ScheduleDeleteAnswer:
        """Delete a schedule. Messages of the schedule that exist already stay."""
        return await self._run(calls.schedule_delete(self.schema, name))

    async def worker_seen(
        self,
        name: str,
        *,
        concurrency: int,
        running: int = 0,
        stopping: bool = False,
        about: Mapping[str, Any] | None = None,
        interval_ms: Duration = 10_000,
        kinds: Iterable[str | None] | None = None,
    ) -> results.WorkerSeenAnswer:
        """Report that a worker is alive, and the kinds of messages that it takes, all by default.

        The next report is due within `interval_ms`.
        """
        return await self._run(
            calls.worker_seen(
                self.schema,
                name,
                concurrency=concurrency,
                running=running,
                stopping=stopping,
                about=about,
                interval_ms=interval_ms,
                kinds=kinds,
            )
        )

    async def kind_list(self, *, limit: int = 100, most: int = 1000) -> list[results.KindServed]:
        """List the kinds of live messages, and how many active workers take each kind."""
        return await self._run(calls.kind_list(self.schema, limit=limit, most=most))

    async def worker_gone(self, name: str) -> results.WorkerGoneAnswer:
        """Report that a worker has ended."""
        return await self._run(calls.worker_gone(self.schema, name))

    async def worker_list(
        self, *, after: str | None = None, limit: int = 100
    ) -> list[results.WorkerSeen]:
        """List workers page by page, after a name."""
        return await self._run(calls.worker_list(self.schema, after=after, limit=limit))
