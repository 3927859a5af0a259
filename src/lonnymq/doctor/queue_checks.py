"""The queue at work: its invariants, its sweeps, its history, its workers and schedules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from lonnymq.doctor.finding import Finding
from lonnymq.doctor.patient import Patient

DAY_MS = 86_400_000
REPAIR = "lonnymq doctor --repair"
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


def invariants(patient: Patient) -> Iterator[Finding]:
    """What must never be, as queue_check finds it."""
    found = patient.queue.check()
    for invariant, many in Counter(each.invariant for each in found).items():
        first = next(each for each in found if each.invariant == invariant)
        where = f" in channel '{first.channel}'" if first.channel is not None else ""
        yield Finding(
            "invariants",
            "broken",
            f"{invariant} does not hold, {many} {'time' if many == 1 else 'times'}: first{where}, {first.detail}.",
            REPAIR,
        )


def sweeps(patient: Patient) -> Iterator[Finding]:
    """Sweeps make the coming days of history and drop the old ones; workers sweep by themselves."""
    [(is_made, is_kept)] = patient.rows(EXPECTED_DAY)
    if is_kept and not is_made:
        yield Finding(
            "sweeps",
            "warning",
            "There is no partition of history for the day in a week: nobody sweeps. "
            "Run a worker, or sweep every minute.",
            REPAIR,
        )
    [(old, first)] = patient.rows(OLD_DAYS, DAY_MS)
    if old:
        readers = patient.rows(SLOW_READER)
        reader = f" The reader '{readers[0][0]}' has not confirmed them." if readers else ""
        yield Finding(
            "sweeps",
            "warning",
            f"{old} {'day' if old == 1 else 'days'} of history are older than they are kept, from {first} on: "
            f"nobody sweeps, or a reader is behind.{reader}",
            REPAIR,
        )


def workers(patient: Patient) -> Iterator[Finding]:
    """Messages that are due, and nobody who takes them."""
    seen = patient.queue.worker_list(limit=1_000)
    active = patient.queue.channel_active(limit=100, count=100)
    lost = [each for each in seen if not each.alive]
    if lost:
        yield Finding(
            "workers",
            "note",
            f"{len(lost)} {'worker' if len(lost) == 1 else 'workers'} ended without a word, the last one "
            f"'{max(lost, key=lambda each: each.seen_at).name}': "
            "what they had is handed out again when its lease ends.",
        )
    late = [
        each
        for each in active
        if each.state == "ready"
        and each.waiting_since is not None
        and each.now_at - each.waiting_since > patient.patience_ms
    ]
    works = any(each.alive for each in seen) or any(each.leased or each.finished for each in active)
    if late and not works:
        first = max(late, key=lambda each: each.now_at - (each.waiting_since or 0))
        seconds = (first.now_at - (first.waiting_since or 0)) // 1_000
        yield Finding(
            "workers",
            "warning",
            f"Messages are due and nobody takes them: channel '{first.channel}' has waited for {seconds} s, and no "
            "worker is alive.",
            "lonnymq worker module:object",
        )


def schedules(patient: Patient) -> Iterator[Finding]:
    """Ticks that are overdue: no worker makes them."""
    late = [
        each
        for each in patient.queue.schedule_list(limit=1_000)
        if not each.paused
        and each.next_at is not None
        and each.now_at - each.next_at > patient.patience_ms
    ]
    if late:
        first = min(late, key=lambda each: each.next_at or 0)
        seconds = (first.now_at - (first.next_at or 0)) // 1_000
        yield Finding(
            "schedules",
            "warning",
            f"{len(late)} {'schedule is' if len(late) == 1 else 'schedules are'} overdue, "
            f"'{first.name}' by {seconds} s: no worker makes their messages.",
            "lonnymq worker module:object",
        )


def dead_messages(patient: Patient) -> Iterator[Finding]:
    """Messages that ran out of attempts wait for somebody to look at them."""
    dead = len(patient.queue.dead_ids(limit=10_000))
    if dead:
        many = f"{dead:,}" if dead < 10_000 else "10,000 or more"
        yield Finding(
            "dead messages",
            "note",
            f"{many} {'message is' if dead == 1 else 'messages are'} dead: see why, then redrive or purge.",
            "lonnymq dead list",
        )
