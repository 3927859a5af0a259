"""The doctor: a server is made sick in each way, the sickness is found, and where there is a remedy it is mended."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from faults.stand import Clock as SteppedClock

import lonnymq
from commands import run as command
from lonnymq.doctor import Finding, Report, examine, mend, settings, tables
from lonnymq.doctor.examine import CHECKS
from lonnymq.embedded_postgres import TemporaryServer, temporary
from lonnymq.embedded_postgres.binaries import embedded_binaries
from lonnymq.testing import Clock
from lonnymq.testing import run as execute
from support import Target, eventually, prepare_template

NOTES = {"sweeps"}  # of a fresh install nobody expects that it was swept


@pytest.fixture(scope="module")
def hospital() -> Iterator[Target]:
    """A server with nothing wrong, to be made sick."""
    with temporary(
        fsync=True, max_connections=20, max_prepared_transactions=5, max_notify_queue_pages=64
    ) as server:
        prepare_template(server.dsn)
        yield Target("hospital", server.dsn, server.dsn)


@pytest.fixture
def sick(hospital: Target) -> Iterator[str]:
    """A healthy queue at first; what a test does to it is found."""
    with hospital.database() as (dsn, _):
        assert findings(dsn) == []
        yield dsn


def findings(dsn: str, **options) -> list[Finding]:
    return [each for each in examine(dsn, **options).findings if each.check not in NOTES]


def found(dsn: str, check: str, **options) -> Finding:
    """The first finding of a check, which must be there."""
    report = examine(dsn, **options)
    [first, *_] = [each for each in report.findings if each.check == check]
    assert first.said.endswith(".")
    assert report.healthy == all(each.level == "note" for each in report.findings)
    return first


def treat(dsn: str, finding: Finding) -> None:
    """Do what the remedy says, in psql or in a shell."""
    assert finding.remedy is not None
    if finding.remedy.startswith("lonnymq "):
        words = finding.remedy.removeprefix("lonnymq ").split()
        assert command(*words, *(["--yes"] if "--repair" in words else []), dsn=dsn).code in (0, 1)
        return
    psql = [str(embedded_binaries() / "psql"), "-qX", "-v", "ON_ERROR_STOP=1", dsn]
    subprocess.run(psql, input=finding.remedy, text=True, check=True, capture_output=True, cwd="/")


def is_cured(dsn: str, check: str, **options) -> bool:
    return check not in {each.check for each in examine(dsn, **options).findings}


def test_a_healthy_queue_gets_every_check_and_no_warning(hospital: Target) -> None:
    with hospital.database() as (dsn, _):
        report = examine(dsn)
    assert report.healthy
    assert report.checked == tuple(check.name for check in CHECKS)


def test_every_kind_of_server_can_be_examined(dsn: str) -> None:
    report = examine(dsn)
    assert [each for each in report.findings if "could not be looked at" in each.said] == []
    assert {each.check for each in report.findings if each.level != "note"} == {"durability"}


@pytest.mark.parametrize("setting", ["full_page_writes", "synchronous_commit"])
def test_settings_that_lose_messages_are_found(sick: str, setting: str) -> None:
    change(sick, f"alter system set {setting} = off")
    finding = eventually(lambda: (findings(sick) or [None])[0])
    assert f"{setting} is off" in finding.said
    treat(sick, finding)
    eventually(lambda: is_cured(sick, "durability"))


def test_a_server_that_does_not_wait_for_the_disk_is_found(dsn_18: str) -> None:
    finding = found(dsn_18, "durability")
    assert (finding.level, "fsync is off" in finding.said) == ("broken", True)


def change(dsn: str, statement: str) -> None:
    execute(dsn, statement)
    execute(dsn, "select pg_reload_conf()")


@pytest.mark.parametrize("setting", ["autovacuum", "track_counts"])
def test_a_server_that_does_not_vacuum_is_found(sick: str, setting: str) -> None:
    change(sick, f"alter system set {setting} = off")
    finding = eventually(lambda: (findings(sick) or [None])[0])
    assert (finding.check, finding.level) == ("autovacuum", "broken")
    treat(sick, finding)
    eventually(lambda: is_cured(sick, "autovacuum"))


@pytest.mark.parametrize("value", ["false", "off", "no", "0"])
def test_a_table_that_is_not_vacuumed_is_found(sick: str, value: str) -> None:
    execute(sick, f"alter table lonnymq.message set (autovacuum_enabled = {value})")
    finding = found(sick, "autovacuum")
    assert "lonnymq.message" in finding.said
    treat(sick, finding)
    assert is_cured(sick, "autovacuum")


def test_dead_rows_that_outnumber_the_living_are_found(sick: str, connect) -> None:
    connection = connect(sick)
    connection.execute("alter table lonnymq.change set (autovacuum_enabled = false)")
    connection.execute(
        "insert into lonnymq.change (channel) select 'x' from generate_series(1, 60000)"
    )
    connection.execute("delete from lonnymq.change")
    connection.execute("select pg_stat_force_next_flush()")
    connection.execute("alter table lonnymq.change reset (autovacuum_enabled)")
    finding = eventually(lambda: next(iter(findings(sick)), None))
    assert finding.check == "dead rows"
    assert "lonnymq.change has 60,000 dead rows" in finding.said
    treat(sick, finding)
    eventually(lambda: is_cured(sick, "dead rows"))


def test_a_large_table_that_is_nearly_empty_is_told_of(
    sick: str, connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "LARGE_BYTES", 1024 * 1024)
    connection = connect(sick)
    connection.execute(
        "insert into lonnymq.message (channel, content, dequeue_at)"
        " select 'x', 'x', 1 from generate_series(1, 20000)"
    )
    connection.execute(
        "delete from lonnymq.message where id <> (select max(id) from lonnymq.message)"
    )
    connection.execute("vacuum analyze lonnymq.message")
    finding = eventually(lambda: next((e for e in findings(sick) if e.check == "bloat"), None))
    assert (finding.level, "for 1 rows" in finding.said) == ("note", True)
    treat(sick, finding)
    eventually(lambda: is_cured(sick, "bloat"))


def test_a_held_snapshot_and_an_idle_transaction_are_found(sick: str, connect) -> None:
    holder = connect(sick, autocommit=False)
    holder.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    holder.execute("select 1")
    snapshot = found(sick, "held snapshot", patience=0)
    assert str(holder.info.backend_pid) in snapshot.said
    idle = found(sick, "idle in transaction", patience=0)
    assert str(holder.info.backend_pid) in idle.said
    assert findings(sick, patience=3_600_000) == []
    treat(sick, idle)
    eventually(lambda: is_cured(sick, "held snapshot", patience=0))
    assert is_cured(sick, "idle in transaction", patience=0)


def test_a_prepared_transaction_that_nobody_ends_is_found(sick: str, connect) -> None:
    connection = connect(sick)
    connection.execute("begin")
    connection.execute("create table half_done ()")
    connection.execute("prepare transaction 'forgotten'")
    finding = found(sick, "prepared transactions", patience=0)
    assert "'forgotten'" in finding.said
    treat(sick, finding)
    assert is_cured(sick, "prepared transactions", patience=0)


def test_a_replication_slot_that_nobody_reads_is_found(sick: str) -> None:
    execute(sick, "select pg_create_physical_replication_slot('stale', true)")
    finding = found(sick, "replication slots")
    assert "'stale'" in finding.said
    treat(sick, finding)
    assert is_cured(sick, "replication slots")


def test_a_queue_of_notifications_that_fills_up_is_found(sick: str, connect) -> None:
    listener = connect(sick)
    listener.execute("listen slow")
    listener.execute("begin")
    listener.execute("select 1")
    speaker = connect(sick)
    for number in range(45):
        speaker.execute("select pg_notify('slow', %s)", (f"{number} " + "x" * 7_900,))
    finding = found(sick, "notifications")
    assert "% full" in finding.said
    treat(sick, finding)  # says who it is
    listener.close()

    def is_read() -> bool:
        speaker.execute("notify slow")
        return is_cured(sick, "notifications")

    eventually(is_read)


def test_a_flood_of_notifications_of_others_is_found_and_the_queue_goes_on_beside_it(
    sick: str, connect
) -> None:
    deaf = connect(sick)
    deaf.execute("listen flood")
    deaf.execute("begin; select 1")
    with lonnymq.Queue(sick) as queue:
        speaker = connect(sick)
        for number in range(40):
            speaker.execute("select pg_notify('flood', %s)", (f"{number} " + "x" * 7_900,))
        assert "a session listens and stays in a transaction" in found(sick, "notifications").said
        queue.create("acme", b"x")
        assert [each.complete() for each in queue.dequeue()] == ["completed"]
    deaf.close()
    eventually(lambda: speaker.execute("notify flood") and is_cured(sick, "notifications"))


def test_connections_that_run_out_are_found(sick: str, connect) -> None:
    opened = [connect(sick) for _ in range(15)]
    assert "of 17 connections are in use" in found(sick, "connections").said
    for each in opened[:10]:
        each.close()
    eventually(lambda: is_cured(sick, "connections"))


def test_a_user_who_sees_little_is_told_so(sick: str) -> None:
    execute(sick, "create role nearly_blind login")
    execute(sick, "grant usage on schema lonnymq to nearly_blind")
    execute(sick, "grant select on all tables in schema lonnymq to nearly_blind")
    theirs = sick.replace("postgres@", "nearly_blind@", 1)
    finding = found(theirs, "sight")
    assert finding.level == "note"
    treat(sick, finding)
    assert is_cured(theirs, "sight")
    execute(sick, "drop owned by nearly_blind")
    execute(sick, "drop role nearly_blind")


def test_what_a_user_may_not_look_at_is_said_and_the_rest_is_examined(sick: str) -> None:
    execute(sick, "create role blind login")
    report = examine(sick.replace("postgres@", "blind@", 1))
    assert "could not be looked at: permission denied" in " ".join(
        each.said for each in report.findings
    )
    assert "held snapshot" in report.checked
    execute(sick, "drop role blind")


def test_a_standby_is_found() -> None:
    with temporary(fsync=True) as server:
        with lonnymq.Queue(server.dsn) as queue:
            queue.install()
        with as_standby(server):
            assert found(server.dsn, "standby").level == "broken"
        assert is_cured(server.dsn, "standby")


@contextmanager
def as_standby(server: TemporaryServer) -> Iterator[None]:
    server.stop()
    (server.cluster.data / "standby.signal").touch()
    server.start()
    yield
    execute(server.dsn, "select pg_promote()")


def test_a_server_that_is_too_old_is_found(sick: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "OLDEST_SERVER", 990_000)
    assert "is too old" in found(sick, "server version").said


def test_a_pooler_in_between_is_told_of(server_behind_pgbouncer: Target) -> None:
    with server_behind_pgbouncer.database() as (dsn, direct_dsn):
        assert found(dsn, "pooler").level == "note"
        assert is_cured(direct_dsn, "pooler")


@pytest.mark.parametrize(("by", "words"), [(60, "behind"), (-60, "ahead of")])
def test_a_clock_that_is_off_is_found(sick: str, by: int, words: str) -> None:
    finding = found(sick, "clock", clock=lambda: time.time() + by)
    assert words in finding.said


@pytest.fixture
def stepped() -> Iterator[tuple[str, SteppedClock]]:
    """A server whose clock can be set, with a queue that has been at work."""
    if SteppedClock.library() is None:
        pytest.skip("the wheel libfaketime is missing")
    clock = SteppedClock()
    with clock.in_force():
        server = temporary()
    with server, lonnymq.Queue(server.dsn) as queue:
        queue.install()
        queue.create("acme", b"x")
        assert len(queue.dequeue()) == 1
        yield server.dsn, clock


@pytest.mark.parametrize(("step", "words"), [(120, "ahead of"), (-120, "behind")])
def test_a_server_whose_clock_was_stepped_is_found(
    stepped: tuple[str, SteppedClock], step: int, words: str
) -> None:
    dsn, clock = stepped
    assert is_cured(dsn, "clock")
    clock.step(step)
    finding = found(dsn, "clock")
    assert words in finding.said
    assert is_cured(dsn, "clock step") == (step > 0)
    clock.step(0)
    assert is_cured(dsn, "clock")
    assert is_cured(dsn, "clock step")


def test_a_clock_that_was_set_back_is_told_from_one_that_is_only_apart(
    stepped: tuple[str, SteppedClock],
) -> None:
    dsn, clock = stepped
    clock.step(-120)
    finding = found(dsn, "clock step", clock=lambda: time.time() - 120)
    assert (finding.level, "was set back" in finding.said) == ("warning", True)
    assert is_cured(dsn, "clock", clock=lambda: time.time() - 120)


def test_a_clock_that_a_test_left_behind_is_found(sick: str) -> None:
    clock = Clock(sick)
    clock.set(1_000)
    clock.close()
    finding = found(sick, "queue clock")
    assert finding.level == "broken"
    treat(sick, finding)
    assert command("install", dsn=sick).out.startswith("upgraded")
    assert is_cured(sick, "queue clock")


def test_a_sequence_near_its_end_is_found(sick: str) -> None:
    execute(sick, "select setval('lonnymq.seat_seq', 9000000000000000000)")
    finding = found(sick, "sequences")
    assert "lonnymq.seat_seq" in finding.said
    treat(sick, finding)
    assert is_cured(sick, "sequences")


def test_an_invalid_index_is_found(sick: str) -> None:
    execute(
        sick,
        "update pg_index set indisvalid = false where indexrelid = 'lonnymq.message_line_ix'::regclass",
    )
    finding = found(sick, "indexes")
    assert "message_line_ix" in finding.said
    treat(sick, finding)
    assert is_cured(sick, "indexes")


def test_a_queue_that_is_not_there_is_found_and_installed(hospital: Target) -> None:
    with hospital.database() as (dsn, _):
        finding = found(dsn, "installed", schema="other")
        assert finding.remedy == "lonnymq install --schema other"
        treat(dsn, finding)
        assert "installed" not in {each.check for each in examine(dsn, schema="other").findings}


def test_an_older_queue_is_found_and_upgraded(sick: str) -> None:
    execute(sick, "update lonnymq.installed set functions_checksum = 'older'")
    finding = found(sick, "installed")
    assert "its functions are not those of this library" in finding.said
    treat(sick, finding)
    assert is_cured(sick, "installed")


@pytest.mark.parametrize(
    "change",
    [
        "update lonnymq.installed set library_rank = '{99}'",
        "insert into lonnymq.migration (version, name) values (9999, 'to come')",
    ],
)
def test_a_newer_queue_is_found(sick: str, change: str) -> None:
    execute(sick, change)
    assert found(sick, "installed").remedy == "pip install --upgrade lonnymq"


@pytest.mark.parametrize(
    ("harm", "level", "words"),
    [
        ("grant execute on function lonnymq.message_purge to public", "warning", "Everybody may"),
        ("alter function lonnymq.message_purge security definer", "broken", "its owner's rights"),
    ],
)
def test_rights_that_somebody_changed_are_found_and_mended(
    sick: str, harm: str, level: str, words: str
) -> None:
    execute(sick, harm)
    finding = found(sick, "privileges")
    assert (finding.level, words in finding.said) == (level, True)
    treat(sick, finding)
    assert is_cured(sick, "privileges")


def test_tables_that_were_granted_are_told_of(sick: str) -> None:
    execute(sick, "create role reader")
    execute(sick, "grant select on lonnymq.message to reader")
    finding = found(sick, "privileges")
    assert (finding.level, "lonnymq.message to reader" in finding.said) == ("note", True)
    execute(sick, "drop owned by reader")
    execute(sick, "drop role reader")
    assert is_cured(sick, "privileges")


def test_a_role_that_is_confined_and_gone_is_told_of(sick: str) -> None:
    execute(sick, "insert into lonnymq.producer_restriction values ('gone', '{}', '{}')")
    assert "The role 'gone' is confined" in found(sick, "privileges").said


def test_history_that_nobody_sweeps_is_found_and_swept(sick: str) -> None:
    assert is_cured(sick, "sweeps")
    execute(
        sick,
        "do $$ begin execute 'drop table lonnymq.' || lonnymq.history_day_name(lonnymq.epoch() / 86400000 + 7); end $$",
    )
    finding = found(sick, "sweeps")
    assert (finding.level, "no partition of history for the day in a week" in finding.said) == (
        "warning",
        True,
    )
    treat(sick, finding)
    assert is_cured(sick, "sweeps")


OLD_DAY = """
create table lonnymq.history_20200101 partition of lonnymq.history
for values from (1577836800000) to (1577923200000)
"""


def test_history_that_is_too_old_is_found_and_who_keeps_it(sick: str) -> None:
    execute(sick, "select lonnymq.queue_sweep()")
    execute(sick, OLD_DAY)
    execute(sick, "insert into lonnymq.history_reader (name, confirmed) values ('lake', '3')")
    finding = found(sick, "sweeps")
    assert "1 day of history are older than they are kept" in finding.said
    assert "The reader 'lake'" in finding.said
    treat(sick, finding)
    assert is_cured(sick, "sweeps")


def test_messages_that_nobody_takes_are_found(sick: str) -> None:
    execute(sick, "select lonnymq.message_create('acme', 'x', p_dequeue_at => 1)")
    assert findings(sick) == []
    execute(sick, "update lonnymq.message set created_at = 1")
    assert "channel 'acme' has waited for" in found(sick, "workers").said
    execute(sick, "select lonnymq.worker_seen('worker 1', 8)")
    assert is_cured(sick, "workers")


def test_a_worker_that_ended_without_a_word_is_told_of(sick: str) -> None:
    execute(sick, "select lonnymq.worker_seen('worker 1', 8)")
    execute(sick, "update lonnymq.worker set seen_at = 1")
    finding = found(sick, "workers")
    assert (finding.level, "'worker 1'" in finding.said) == ("note", True)


def test_a_schedule_that_is_overdue_is_found(sick: str) -> None:
    with lonnymq.Queue(sick) as queue:
        queue.schedule_set("nightly", channel="acme", cron="0 3 * * *")
    execute(sick, "update lonnymq.schedule set next_at = 1")
    assert "'nightly' by" in found(sick, "schedules").said
    execute(sick, "select lonnymq.schedule_pause('nightly')")
    assert is_cured(sick, "schedules")


def test_dead_messages_are_told_of(sick: str) -> None:
    with lonnymq.Queue(sick) as queue:
        queue.create("acme", b"x")
        queue.dequeue()[0].fail(dead=True)
    finding = found(sick, "dead messages")
    assert (finding.level, finding.remedy) == ("note", "lonnymq dead list")


BREAKS = {
    "in_flight": "update lonnymq.channel_counter set in_flight = in_flight + 5 where channel_id <> 0",
    "reachable": "update lonnymq.channel_position set seat = null, wake_at = null, hold = null",
    "lease_watched": "delete from lonnymq.lease; delete from lonnymq.change where message_ids is not null",
    "lease_shape": "update lonnymq.message set slot = 1 where token is null",
    "stands_once": "delete from lonnymq.channel_position",
}


@pytest.mark.parametrize("invariant", BREAKS)
def test_a_broken_invariant_is_found_and_repaired(sick: str, invariant: str) -> None:
    with lonnymq.Queue(sick) as queue:
        queue.channel("acme").set(max_concurrency=2)
        queue.channel("acme").create_many([b"x"] * 5)
        queue.dequeue()
    execute(sick, BREAKS[invariant])
    broken = [each for each in findings(sick) if each.check == "invariants"]
    assert any(each.said.startswith(f"{invariant} does not hold") for each in broken)
    assert [each for each in findings(sick, quick=True) if each.check == "invariants"] == []
    repairs, _ = mend(sick)
    assert repairs
    assert is_cured(sick, "invariants")


def test_the_command_ends_with_1_until_it_is_mended(sick: str) -> None:
    assert command("doctor", dsn=sick).code == 0
    with lonnymq.Queue(sick) as queue:
        queue.channel("acme").set(max_concurrency=2)
        queue.channel("acme").create_many([b"x"] * 5)
        queue.dequeue()
    execute(sick, BREAKS["in_flight"])
    ran = command("doctor", dsn=sick)
    assert ran.code == 1
    assert "x invariants: in_flight does not hold" in ran.out
    assert "lonnymq doctor --repair" in ran.out
    document = command("doctor", "--json", dsn=sick)
    assert (document.code, document.json["healthy"]) == (1, False)
    assert {"check", "level", "said", "remedy"} == set(document.json["findings"][0])
    assert "Nothing was done" in command("doctor", "--repair", dsn=sick).err
    mended = command("doctor", "--repair", "--yes", dsn=sick)
    assert mended.code == 0
    assert "mended: in_flight in channel 'acme'" in mended.out


def test_the_command_ends_with_4_where_nothing_is_installed(hospital: Target) -> None:
    with hospital.database() as (dsn, _):
        ran = command("doctor", "--schema", "other", dsn=dsn)
    assert ran.code == 4
    assert "Run: lonnymq install --schema other" in ran.err


def test_the_report_is_plain_values(hospital: Target) -> None:
    with hospital.database() as (dsn, _):
        report = examine(dsn)
    assert isinstance(report, Report)
    assert hash(report)
