"""Checks of the queue at work: invariants, changes, maintenance, workers, kinds, schedules and dead messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from lonnymq.client.installation import rank_numbers
from lonnymq.doctor.base import CheckContext, Level, Problem, format_names

DAY_MS = 86_400_000
EXPECTED_DAY = """
select to_regclass(format('{schema}.history_%%s',
  to_char(to_timestamp({schema}.epoch() / 1000) at time zone 'UTC' + interval '7 days', 'YYYYMMDD'))) is not null,
  q.history <> 'off'
from {schema}.queue q
"""
OLD_DAYS = """
select count(*), min(c.relname) from pg_inherits i
join pg_class c on c.oid = i.inhrelid
join {schema}.queue q on q.history_keep_ms is not null
where i.inhparent = '{schema}.history'::regclass and c.relname ~ '^history_[0-9]{8}$'
  and (extract(epoch from (to_date(right(c.relname, 8), 'YYYYMMDD') + 1)::timestamp) * 1000)::bigint
    < {schema}.epoch() - q.history_keep_ms - %s
"""
SLOW_READER = """
select r.name, extract(epoch from clock_timestamp() - r.confirmed_at)::bigint * 1000
from {schema}.history_reader r order by r.confirmed limit 1
"""
UNREAD_CHANGES = """
select n.channel from {schema}.change n cross join {schema}.checkpoint_now() t
where n.can_wait = any ('{false,true}') and n.xid < t.until_xid and n.xid <> all (t.running_xids)
limit 1000
"""
OLD_CHANGES = """
select n.channel, ({schema}.epoch() - m.created_at) / 1000 from (
  select n.* from {schema}.change n cross join {schema}.checkpoint_now() t
  where n.can_wait = any ('{false,true}') and n.xid >= t.until_xid and n.message_id is not null
  limit 1000
) n
join {schema}.message m on m.id = n.message_id
where m.created_at < {schema}.epoch() - %s
order by m.created_at limit 1
"""
SERVED = "select i.library_version, array_to_string(i.serves_rank, '.') from {schema}.installed i"


def check_changes(context: CheckContext) -> Iterator[Problem]:
    """Changes of channels that no dequeue will read any more, or that nobody reads."""
    if found := context.rows(UNREAD_CHANGES):
        yield Problem(
            "changes",
            "broken",
            f"{len(found)} {'change is' if len(found) == 1 else 'changes are'} older than the last checkpoint, first "
            f"in channel '{found[0][0]}'. No dequeue reads these changes, and messages may wait forever.",
            context.repair_command,
        )
    for channel, seconds in context.rows(OLD_CHANGES, context.stuck_after_ms):
        yield Problem(
            "changes",
            "warning",
            f"Nobody has read the changes of channel '{channel}' for {seconds} s, because nobody dequeues and nobody "
            "runs maintenance. Run a worker.",
            context.repair_command,
        )


def check_invariants(context: CheckContext) -> Iterator[Problem]:
    """Invariants that `queue_check` finds broken."""
    found = context.queue.check()
    for invariant, many in Counter(each.invariant for each in found).items():
        first = next(each for each in found if each.invariant == invariant)
        where = f" in channel '{first.channel}'" if first.channel is not None else ""
        yield Problem(
            "invariants",
            "broken",
            f"The invariant {invariant} is broken {many} {'time' if many == 1 else 'times'}, "
            f"first{where}: {first.detail}.",
            context.repair_command,
        )


def check_maintenance(context: CheckContext) -> Iterator[Problem]:
    """Maintenance creates and drops the partitions of history. Workers run maintenance automatically."""
    if context.rows(EXPECTED_DAY) == [(False, True)]:
        yield Problem(
            "maintenance",
            "warning",
            "History has no partition for the day in one week, so nobody runs maintenance. "
            "Run a worker, or run maintenance every minute.",
            context.repair_command,
        )
    [(old, first)] = context.rows(OLD_DAYS, DAY_MS)
    if old:
        readers = context.rows(SLOW_READER)
        reader = f" The reader '{readers[0][0]}' has not confirmed these days." if readers else ""
        yield Problem(
            "maintenance",
            "warning",
            f"{old} {'day' if old == 1 else 'days'} of history should be deleted already, from {first} on. "
            f"Nobody runs maintenance, or a reader is behind.{reader}",
            context.repair_command,
        )


def check_workers(context: CheckContext) -> Iterator[Problem]:
    """Messages that are due need a worker."""
    seen = context.queue.worker_list(limit=1_000)
    active = context.queue.channel_active(limit=100, count=100)
    lost = [each for each in seen if not each.alive]
    if lost:
        yield Problem(
            "workers",
            "note",
            f"{len(lost)} {'worker' if len(lost) == 1 else 'workers'} stopped without signing off, most recently "
            f"'{max(lost, key=lambda each: each.seen_at).name}'. "
            "Other workers get the messages when the leases end.",
        )
    late = [
        each
        for each in active
        if each.state == "ready"
        and each.waiting_since is not None
        and each.now_at - each.waiting_since > context.stuck_after_ms
    ]
    works = any(each.alive for each in seen) or any(each.leased or each.finished for each in active)
    if late and not works:
        first = max(late, key=lambda each: each.now_at - (each.waiting_since or 0))
        seconds = (first.now_at - (first.waiting_since or 0)) // 1_000
        yield Problem(
            "workers",
            "warning",
            f"No worker is alive and messages are due. Channel '{first.channel}' has waited for {seconds} s.",
            "lonnymq worker module:object",
        )


def check_worker_versions(context: CheckContext) -> Iterator[Problem]:
    """Workers whose library is newer than the queue, or is not served by the queue any more."""
    for theirs, oldest in context.rows(SERVED):
        workers: dict[str, list[str]] = {}
        for each in context.queue.worker_list(limit=1_000):
            used = str(each.about.get("version", theirs))
            if each.alive and used != theirs:
                workers.setdefault(used, []).append(each.name)
        for used, names in sorted(workers.items()):
            yield judge_version(context, used, format_names(names), theirs, oldest)


def judge_version(
    context: CheckContext, used: str, workers: str, theirs: str, oldest: str
) -> Problem:
    """The problem of workers with another version than the queue."""
    if rank_numbers(used) < rank_numbers(oldest):
        level: Level = "broken"
        advice = f"serves versions from {oldest} on. Restart the workers with a newer version"
        fix = "pip install --upgrade lonnymq"
    elif rank_numbers(used) > rank_numbers(theirs):
        level, advice = "warning", f"is older. Run the fix with version {used}"
        fix = context.install_command
    else:
        level, advice = "note", "serves both. Restart the workers with the version of the queue"
        fix = f"pip install lonnymq=={theirs}"
    return Problem(
        "worker versions",
        level,
        f"Version {used} is used by worker {workers}. The queue has version {theirs} and {advice}.",
        fix,
    )


def check_kinds(context: CheckContext) -> Iterator[Problem]:
    """Kinds of due messages that no active worker takes. Such messages wait."""
    if not any(each.alive for each in context.queue.worker_list(limit=1_000)):
        return
    found = [
        "messages without a kind" if each.kind is None else f"kind {each.kind!r}"
        for each in context.queue.kind_list(limit=1_000)
        if not each.workers and each.oldest_at is not None and each.oldest_at <= each.now_at
    ]
    if found:
        yield Problem(
            "kinds",
            "warning",
            f"No worker serves {format_names(found)}. These messages wait until a worker with a handler starts.",
            "lonnymq worker module:object",
        )


def check_schedules(context: CheckContext) -> Iterator[Problem]:
    """Overdue schedules need a worker."""
    late = [
        each
        for each in context.queue.schedule_list(limit=1_000)
        if not each.paused
        and each.next_at is not None
        and each.now_at - each.next_at > context.stuck_after_ms
    ]
    if late:
        first = min(late, key=lambda each: each.next_at or 0)
        seconds = (first.now_at - (first.next_at or 0)) // 1_000
        yield Problem(
            "schedules",
            "warning",
            f"{len(late)} {'schedule is' if len(late) == 1 else 'schedules are'} overdue, "
            f"'{first.name}' by {seconds} s. No worker creates the messages.",
            "lonnymq worker module:object",
        )


def check_dead_messages(context: CheckContext) -> Iterator[Problem]:
    """Dead messages wait until somebody redrives or purges them."""
    dead = len(context.queue.dead_ids(limit=10_000))
    if dead:
        many = f"{dead:,}" if dead < 10_000 else "10,000 or more"
        yield Problem(
            "dead messages",
            "note",
            f"{many} {'message is' if dead == 1 else 'messages are'} dead. Look at the errors, then redrive or purge.",
            f"lonnymq dead list{context.schema_option}",
        )
