"""The server itself: its version, its clock, and settings that make promises void."""

from __future__ import annotations

from collections.abc import Iterator

from lonnymq.doctor.finding import Finding
from lonnymq.doctor.patient import Patient

OLDEST_SERVER = 150_000
CLOCK_MS = 2_000
LISTENERS = 0.5


def server_version(patient: Patient) -> Iterator[Finding]:
    """PostgreSQL 15 and later are supported."""
    if int(patient.setting("server_version_num")) < OLDEST_SERVER:
        yield Finding(
            "server version",
            "broken",
            f"PostgreSQL {patient.setting('server_version')} is too old: the queue needs 15 or later.",
            "pg_upgrade --help",
        )


def standby(patient: Patient) -> Iterator[Finding]:
    """A standby takes no writes, and a queue is all writes."""
    if patient.value("select pg_is_in_recovery()"):
        yield Finding(
            "standby",
            "broken",
            "This server is a standby and takes no writes: connect to the primary.",
            "lonnymq doctor --dsn 'host=... target_session_attrs=read-write'",
        )


def pooler(patient: Patient) -> Iterator[Finding]:
    """Notifications do not pass through a pooler in transaction mode."""
    if patient.value("select pg_backend_pid()") != patient.connection.info.backend_pid:
        yield Finding(
            "pooler",
            "note",
            "There is a connection pooler in between: workers behind it hear no notifications and look at "
            "intervals. Name the server itself to have them listen.",
        )


def durability(patient: Patient) -> Iterator[Finding]:
    """With these settings a crash loses what was promised."""
    if patient.setting("fsync") == "off":
        yield Finding(
            "durability",
            "broken",
            "fsync is off: a crash of the machine may lose messages, or the whole database.",
            "alter system set fsync = on; select pg_reload_conf();",
        )
    if patient.setting("full_page_writes") == "off":
        yield Finding(
            "durability",
            "broken",
            "full_page_writes is off: a crash of the machine may tear pages that nothing can mend.",
            "alter system set full_page_writes = on; select pg_reload_conf();",
        )
    if patient.setting("synchronous_commit") == "off":
        yield Finding(
            "durability",
            "warning",
            "synchronous_commit is off for this database, user or server: a crash may lose messages whose create "
            "was answered, and repeat those whose completion was. (Dequeues relax it for themselves alone.)",
            "alter system set synchronous_commit = on; select pg_reload_conf();",
        )


def clock(patient: Patient) -> Iterator[Finding]:
    """The database's clock counts; a program whose own differs schedules for the wrong moment."""
    before = patient.clock()
    there = patient.value("select extract(epoch from clock_timestamp())::float8")
    here = (before + patient.clock()) / 2
    apart = round((float(there) - here) * 1_000)
    if abs(apart) > CLOCK_MS:
        yield Finding(
            "clock",
            "warning",
            f"The server's clock is {abs(apart)} ms {'ahead of' if apart > 0 else 'behind'} this machine's: moments "
            "that programs here reckon by themselves (dequeue_at) mean another time there.",
            "timedatectl set-ntp true",
        )


def queue_clock(patient: Patient) -> Iterator[Finding]:
    """The queue's clock is the database's, unless a test has replaced it and was not cleaned up."""
    apart = patient.value(
        "select {schema}.epoch() - (extract(epoch from clock_timestamp()) * 1000)::bigint"
    )
    if abs(int(apart)) > CLOCK_MS:
        yield Finding(
            "queue clock",
            "broken",
            f"The queue's clock, {patient.schema}.epoch(), is {abs(int(apart))} ms off the server's: somebody has "
            "replaced that function, as tests do. Nothing is due when it should be.",
            f"update {patient.schema}.installed set functions_checksum = '';"  # noqa: S608 - to be read
            " -- and then: lonnymq install",
        )


def clock_step(patient: Patient) -> Iterator[Finding]:
    """What the queue wrote down is of the past, unless the server's clock was set back since."""
    ahead = patient.value(
        "select greatest(t.folded_at, 0) - {schema}.epoch() "
        "from {schema}.tick t order by t.id desc limit 1"
    )
    if int(ahead or 0) > CLOCK_MS:
        yield Finding(
            "clock step",
            "warning",
            f"The server's clock was set back: the queue was at work {int(ahead)} ms from now. What is leased or "
            "scheduled comes so much later than it should.",
            "timedatectl set-ntp true",
        )


def notifications(patient: Patient) -> Iterator[Finding]:
    """When the queue of notifications is full, every create fails."""
    usage = float(patient.value("select pg_notification_queue_usage()"))
    if usage >= LISTENERS:
        yield Finding(
            "notifications",
            "warning",
            f"The server's queue of notifications is {usage:.0%} full: a session listens and stays in a transaction. "
            "When it is full, creates fail.",
            "select pid, state, query from pg_stat_activity where wait_event_type = 'Client' "
            "order by xact_start limit 5; -- end the one that listens in an open transaction",
        )
