"""The doctor: each problem is caused, found, and fixed by the command that the doctor names."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from faults.environment import Clock as SteppedClock
from faults.tcp_proxy import tcp_proxy

import lonnymq
from acceptance.doctor.findings import apply_fix, change, find_problems, found, is_fixed
from commands import run as command
from lonnymq.doctor import Report, checkup, repair, run_checks, server_checks, table_checks
from lonnymq.doctor.checkup import CHECKS
from lonnymq.embedded_postgres import TemporaryServer, temporary
from lonnymq.testing import Clock
from lonnymq.testing import run as execute
from support import Target, eventually


def test_a_healthy_queue_gets_every_check_and_no_warning(healthy_server: Target) -> None:
    with healthy_server.database() as (dsn, _):
        report = run_checks(dsn)
    assert report.healthy
    assert report.checked == tuple(check.name for check in CHECKS)


def test_every_kind_of_server_can_be_examined(dsn: str) -> None:
    report = run_checks(dsn)
    assert [each for each in report.problems if "check could not run" in each.message] == []
    assert {each.check for each in report.problems if each.level != "note"} == {"durability"}


@pytest.mark.parametrize("setting", ["full_page_writes", "synchronous_commit"])
def test_settings_that_lose_messages_are_found(queue_dsn: str, setting: str) -> None:
    change(queue_dsn, f"alter system set {setting} = off")
    problem = eventually(lambda: next(iter(find_problems(queue_dsn)), None))
    assert f"{setting} is off" in problem.message
    apply_fix(queue_dsn, problem)
    eventually(lambda: is_fixed(queue_dsn, "durability"))


def test_a_server_that_does_not_wait_for_the_disk_is_found(dsn_18: str) -> None:
    problem = found(dsn_18, "durability")
    assert (problem.level, "fsync is off" in problem.message) == ("broken", True)


@pytest.mark.parametrize("setting", ["autovacuum", "track_counts"])
def test_a_server_that_does_not_vacuum_is_found(queue_dsn: str, setting: str) -> None:
    change(queue_dsn, f"alter system set {setting} = off")
    problem = eventually(lambda: next(iter(find_problems(queue_dsn)), None))
    assert (problem.check, problem.level) == ("autovacuum", "broken")
    apply_fix(queue_dsn, problem)
    eventually(lambda: is_fixed(queue_dsn, "autovacuum"))


@pytest.mark.parametrize("value", ["false", "off", "no", "0"])
def test_a_table_that_is_not_vacuumed_is_found(queue_dsn: str, value: str) -> None:
    execute(queue_dsn, f"alter table lonnymq.message set (autovacuum_enabled = {value})")
    problem = found(queue_dsn, "autovacuum")
    assert "lonnymq.message" in problem.message
    apply_fix(queue_dsn, problem)
    assert is_fixed(queue_dsn, "autovacuum")


def test_dead_rows_that_outnumber_the_living_are_found(queue_dsn: str, connect) -> None:
    connection = connect(queue_dsn)
    connection.execute("alter table lonnymq.change set (autovacuum_enabled = false)")
    connection.execute(
        "insert into lonnymq.change (channel) select 'x' from generate_series(1, 60000)"
    )
    connection.execute("delete from lonnymq.change")
    connection.execute("select pg_stat_force_next_flush()")
    connection.execute("alter table lonnymq.change reset (autovacuum_enabled)")
    problem = eventually(lambda: next(iter(find_problems(queue_dsn)), None))
    assert problem.check == "dead rows"
    assert "lonnymq.change has 60,000 dead rows" in problem.message
    apply_fix(queue_dsn, problem)
    eventually(lambda: is_fixed(queue_dsn, "dead rows"))


def test_a_large_table_that_is_nearly_empty_is_told_of(
    queue_dsn: str, connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_checks, "MIN_BLOATED_BYTES", 1024 * 1024)
    connection = connect(queue_dsn)
    connection.execute(
        "insert into lonnymq.message (channel, content, dequeue_at)"
        " select 'x', 'x', 1 from generate_series(1, 20000)"
    )
    connection.execute(
        "delete from lonnymq.message where id <> (select max(id) from lonnymq.message)"
    )
    connection.execute("vacuum analyze lonnymq.message")
    problem = eventually(
        lambda: next((e for e in find_problems(queue_dsn) if e.check == "bloat"), None)
    )
    assert (problem.level, "for 1 rows" in problem.message) == ("note", True)
    apply_fix(queue_dsn, problem)
    eventually(lambda: is_fixed(queue_dsn, "bloat"))


def test_a_held_snapshot_and_an_idle_transaction_are_found(queue_dsn: str, connect) -> None:
    holder = connect(queue_dsn, autocommit=False)
    holder.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    holder.execute("select 1")
    snapshot = found(queue_dsn, "held snapshot", stuck_after=0)
    assert str(holder.info.backend_pid) in snapshot.message
    idle = found(queue_dsn, "idle in transaction", stuck_after=0)
    assert str(holder.info.backend_pid) in idle.message
    assert find_problems(queue_dsn, stuck_after=3_600_000) == []
    apply_fix(queue_dsn, idle)
    eventually(lambda: is_fixed(queue_dsn, "held snapshot", stuck_after=0))
    assert is_fixed(queue_dsn, "idle in transaction", stuck_after=0)


def test_a_prepared_transaction_that_nobody_ends_is_found(queue_dsn: str, connect) -> None:
    connection = connect(queue_dsn)
    connection.execute("begin")
    connection.execute("create table half_done ()")
    connection.execute("prepare transaction 'forgotten'")
    problem = found(queue_dsn, "prepared transactions", stuck_after=0)
    assert "'forgotten'" in problem.message
    apply_fix(queue_dsn, problem)
    assert is_fixed(queue_dsn, "prepared transactions", stuck_after=0)


def test_a_replication_slot_that_nobody_reads_is_found(queue_dsn: str) -> None:
    execute(queue_dsn, "select pg_create_physical_replication_slot('stale', true)")
    problem = found(queue_dsn, "replication slots")
    assert "'stale'" in problem.message
    apply_fix(queue_dsn, problem)
    assert is_fixed(queue_dsn, "replication slots")


def test_a_queue_of_notifications_that_fills_up_is_found(queue_dsn: str, connect) -> None:
    listener = connect(queue_dsn)
    listener.execute("listen slow")
    listener.execute("begin")
    listener.execute("select 1")
    speaker = connect(queue_dsn)
    for number in range(45):
        speaker.execute("select pg_notify('slow', %s)", (f"{number} " + "x" * 7_900,))
    problem = found(queue_dsn, "notifications")
    assert "% full" in problem.message
    apply_fix(queue_dsn, problem)  # says who it is
    listener.close()

    def is_read() -> bool:
        speaker.execute("notify slow")
        return is_fixed(queue_dsn, "notifications")

    eventually(is_read)


def test_a_flood_of_notifications_of_others_is_found_and_the_queue_goes_on_beside_it(
    queue_dsn: str, connect
) -> None:
    deaf = connect(queue_dsn)
    deaf.execute("listen flood")
    deaf.execute("begin; select 1")
    with lonnymq.Queue(queue_dsn) as queue:
        speaker = connect(queue_dsn)
        for number in range(40):
            speaker.execute("select pg_notify('flood', %s)", (f"{number} " + "x" * 7_900,))
        assert (
            "a session listens and stays in a transaction"
            in found(queue_dsn, "notifications").message
        )
        queue.create("acme", b"x")
        assert [each.complete() for each in queue.dequeue()] == ["completed"]
    deaf.close()
    eventually(lambda: speaker.execute("notify flood") and is_fixed(queue_dsn, "notifications"))


def test_connections_that_run_out_are_found(queue_dsn: str, connect) -> None:
    opened = [connect(queue_dsn) for _ in range(15)]
    assert "of 17 connections are in use" in found(queue_dsn, "connections").message
    for each in opened[:10]:
        each.close()
    eventually(lambda: is_fixed(queue_dsn, "connections"))


def test_a_user_who_sees_little_is_told_so(queue_dsn: str) -> None:
    execute(queue_dsn, "create role nearly_blind login")
    execute(queue_dsn, "grant usage on schema lonnymq to nearly_blind")
    execute(queue_dsn, "grant select on all tables in schema lonnymq to nearly_blind")
    theirs = queue_dsn.replace("postgres@", "nearly_blind@", 1)
    problem = found(theirs, "visibility")
    assert problem.level == "note"
    apply_fix(queue_dsn, problem)
    assert is_fixed(theirs, "visibility")
    execute(queue_dsn, "drop owned by nearly_blind")
    execute(queue_dsn, "drop role nearly_blind")


def test_what_a_user_may_not_look_at_is_said_and_the_rest_is_examined(queue_dsn: str) -> None:
    execute(queue_dsn, "create role blind login")
    report = run_checks(queue_dsn.replace("postgres@", "blind@", 1))
    assert "check could not run: permission denied" in " ".join(
        each.message for each in report.problems
    )
    assert "held snapshot" in report.checked
    execute(queue_dsn, "drop role blind")


def test_a_standby_is_found() -> None:
    with temporary(fsync=True) as server:
        with lonnymq.Queue(server.dsn) as queue:
            queue.install()
        with as_standby(server):
            assert found(server.dsn, "standby").level == "broken"
        assert is_fixed(server.dsn, "standby")


@contextmanager
def as_standby(server: TemporaryServer) -> Iterator[None]:
    server.stop()
    (server.cluster.data / "standby.signal").touch()
    server.start()
    yield
    execute(server.dsn, "select pg_promote()")


def test_a_server_that_is_too_old_is_found(queue_dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_checks, "MIN_SERVER_VERSION", 990_000)
    assert "is too old" in found(queue_dsn, "server version").message


def test_a_pooler_in_between_is_told_of(server_behind_pgbouncer: Target) -> None:
    with server_behind_pgbouncer.database() as (dsn, direct_dsn):
        assert found(dsn, "pooler").level == "note"
        assert is_fixed(direct_dsn, "pooler")


@pytest.mark.parametrize(("by", "words"), [(60, "behind"), (-60, "ahead of")])
def test_a_clock_that_is_off_is_found(queue_dsn: str, by: int, words: str) -> None:
    problem = found(queue_dsn, "clock", clock=lambda: time.time() + by)
    assert words in problem.message


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
    assert is_fixed(dsn, "clock")
    clock.step(step)
    problem = found(dsn, "clock")
    assert words in problem.message
    assert is_fixed(dsn, "clock step") == (step > 0)
    clock.step(0)
    assert is_fixed(dsn, "clock")
    assert is_fixed(dsn, "clock step")


def test_a_clock_that_was_set_back_is_told_from_one_that_is_only_apart(
    stepped: tuple[str, SteppedClock],
) -> None:
    dsn, clock = stepped
    clock.step(-120)
    problem = found(dsn, "clock step", clock=lambda: time.time() - 120)
    assert (problem.level, "was set back" in problem.message) == ("warning", True)
    assert is_fixed(dsn, "clock", clock=lambda: time.time() - 120)


def test_a_clock_that_a_test_left_behind_is_found(queue_dsn: str) -> None:
    clock = Clock(queue_dsn)
    clock.set(1_000)
    clock.close()
    problem = found(queue_dsn, "queue clock")
    assert problem.level == "broken"
    apply_fix(queue_dsn, problem)
    assert command("install", dsn=queue_dsn).out.startswith("restored")
    assert is_fixed(queue_dsn, "queue clock")


def test_a_sequence_near_its_end_is_found(queue_dsn: str) -> None:
    execute(queue_dsn, "select setval('lonnymq.seat_seq', 9000000000000000000)")
    problem = found(queue_dsn, "sequences")
    assert "lonnymq.seat_seq" in problem.message
    apply_fix(queue_dsn, problem)
    assert is_fixed(queue_dsn, "sequences")


def test_an_invalid_index_is_found(queue_dsn: str) -> None:
    execute(
        queue_dsn,
        "update pg_index set indisvalid = false where indexrelid = 'lonnymq.message_line_ix'::regclass",
    )
    problem = found(queue_dsn, "indexes")
    assert "message_line_ix" in problem.message
    apply_fix(queue_dsn, problem)
    assert is_fixed(queue_dsn, "indexes")


def test_a_queue_that_is_not_there_is_found_and_installed(healthy_server: Target) -> None:
    with healthy_server.database() as (dsn, _):
        problem = found(dsn, "installed", schema="other")
        assert problem.fix == "lonnymq install --schema other"
        apply_fix(dsn, problem)
        assert "installed" not in {each.check for each in run_checks(dsn, schema="other").problems}


def test_an_older_queue_is_found_and_upgraded(queue_dsn: str) -> None:
    execute(queue_dsn, "update lonnymq.installed set functions_checksum = 'older'")
    problem = found(queue_dsn, "installed")
    assert "differ from this library" in problem.message
    apply_fix(queue_dsn, problem)
    assert is_fixed(queue_dsn, "installed")


@pytest.mark.parametrize(
    "change",
    [
        "update lonnymq.installed set library_rank = '{99}'",
        "insert into lonnymq.migration (version, name) values (9999, 'to come')",
    ],
)
def test_a_newer_queue_is_found(queue_dsn: str, change: str) -> None:
    execute(queue_dsn, change)
    assert found(queue_dsn, "installed").fix == "pip install --upgrade lonnymq"


@pytest.mark.parametrize(
    ("harm", "level", "words"),
    [
        ("grant execute on function lonnymq.message_purge to public", "warning", "Everybody may"),
        ("alter function lonnymq.message_purge security definer", "broken", "rights of the owner"),
    ],
)
def test_rights_that_somebody_changed_are_found_and_mended(
    queue_dsn: str, harm: str, level: str, words: str
) -> None:
    execute(queue_dsn, harm)
    problem = found(queue_dsn, "privileges")
    assert (problem.level, words in problem.message) == (level, True)
    apply_fix(queue_dsn, problem)
    assert is_fixed(queue_dsn, "privileges")


def test_tables_that_were_granted_are_told_of(queue_dsn: str) -> None:
    execute(queue_dsn, "create role reader")
    execute(queue_dsn, "grant select on lonnymq.message to reader")
    problem = found(queue_dsn, "privileges")
    assert (problem.level, "lonnymq.message to reader" in problem.message) == ("note", True)
    execute(queue_dsn, "drop owned by reader")
    execute(queue_dsn, "drop role reader")
    assert is_fixed(queue_dsn, "privileges")


def test_a_role_that_is_confined_and_gone_is_told_of(queue_dsn: str) -> None:
    execute(queue_dsn, "insert into lonnymq.producer_restriction values ('gone', '{}', '{}')")
    assert "The role 'gone' is restricted" in found(queue_dsn, "privileges").message


def test_history_that_nobody_sweeps_is_found_and_swept(queue_dsn: str) -> None:
    assert is_fixed(queue_dsn, "maintenance")
    execute(
        queue_dsn,
        "do $$ begin execute 'drop table lonnymq.' || lonnymq.history_day_name(lonnymq.epoch() / 86400000 + 7); end $$",
    )
    problem = found(queue_dsn, "maintenance")
    assert (
        problem.level,
        "History has no partition for the day in one week" in problem.message,
    ) == (
        "warning",
        True,
    )
    apply_fix(queue_dsn, problem)
    assert is_fixed(queue_dsn, "maintenance")


OLD_DAY = """
create table lonnymq.history_20200101 partition of lonnymq.history
for values from (1577836800000) to (1577923200000)
"""


def test_history_that_is_too_old_is_found_and_who_keeps_it(queue_dsn: str) -> None:
    execute(queue_dsn, "select lonnymq.queue_maintain()")
    execute(queue_dsn, OLD_DAY)
    execute(queue_dsn, "insert into lonnymq.history_reader (name, confirmed) values ('lake', '3')")
    problem = found(queue_dsn, "maintenance")
    assert "1 day of history should be deleted already" in problem.message
    assert "The reader 'lake'" in problem.message
    apply_fix(queue_dsn, problem)
    assert is_fixed(queue_dsn, "maintenance")


def test_messages_that_nobody_takes_are_found(queue_dsn: str) -> None:
    execute(queue_dsn, "select lonnymq.message_create('acme', 'x', p_dequeue_at => 1)")
    assert find_problems(queue_dsn) == []
    execute(queue_dsn, "update lonnymq.message set created_at = 1")
    assert "Channel 'acme' has waited for" in found(queue_dsn, "workers").message
    execute(queue_dsn, "select lonnymq.worker_seen('worker 1', 8)")
    assert is_fixed(queue_dsn, "workers")


def test_a_worker_that_ended_without_a_word_is_told_of(queue_dsn: str) -> None:
    execute(queue_dsn, "select lonnymq.worker_seen('worker 1', 8)")
    execute(queue_dsn, "update lonnymq.worker set seen_at = 1")
    problem = found(queue_dsn, "workers")
    assert (problem.level, "'worker 1'" in problem.message) == ("note", True)


def test_a_schedule_that_is_overdue_is_found(queue_dsn: str) -> None:
    with lonnymq.Queue(queue_dsn) as queue:
        queue.schedule_set("nightly", channel="acme", cron="0 3 * * *")
    execute(queue_dsn, "update lonnymq.schedule set next_at = 1")
    assert "'nightly' by" in found(queue_dsn, "schedules").message
    execute(queue_dsn, "select lonnymq.schedule_pause('nightly')")
    assert is_fixed(queue_dsn, "schedules")


def test_dead_messages_are_told_of(queue_dsn: str) -> None:
    with lonnymq.Queue(queue_dsn) as queue:
        queue.create("acme", b"x")
        queue.dequeue()[0].fail(dead=True)
    problem = found(queue_dsn, "dead messages")
    assert (problem.level, problem.fix) == ("note", "lonnymq dead list")


BREAKS = {
    "in_flight": "update lonnymq.channel_counter set in_flight = in_flight + 5 where channel_id <> 0",
    "reachable": "update lonnymq.channel_position set seat = null, wake_at = null, hold = null",
    "lease_checked": "delete from lonnymq.lease; delete from lonnymq.change where message_ids is not null",
    "lease_consistent": "update lonnymq.message set slot = 1 where token is null",
    "one_position": "delete from lonnymq.channel_position",
}


@pytest.mark.parametrize("invariant", BREAKS)
def test_a_broken_invariant_is_found_and_repaired(queue_dsn: str, invariant: str) -> None:
    with lonnymq.Queue(queue_dsn) as queue:
        queue.channel("acme").set(max_concurrency=2)
        queue.channel("acme").create_many([b"x"] * 5)
        queue.dequeue()
    execute(queue_dsn, BREAKS[invariant])
    broken = [each for each in find_problems(queue_dsn) if each.check == "invariants"]
    assert any(each.message.startswith(f"The invariant {invariant} is broken") for each in broken)
    assert [
        each for each in find_problems(queue_dsn, quick=True) if each.check == "invariants"
    ] == []
    repairs, _ = repair(queue_dsn)
    assert repairs
    assert is_fixed(queue_dsn, "invariants")


def test_the_command_ends_with_1_until_it_is_mended(queue_dsn: str) -> None:
    assert command("doctor", dsn=queue_dsn).code == 0
    with lonnymq.Queue(queue_dsn) as queue:
        queue.channel("acme").set(max_concurrency=2)
        queue.channel("acme").create_many([b"x"] * 5)
        queue.dequeue()
    execute(queue_dsn, BREAKS["in_flight"])
    ran = command("doctor", dsn=queue_dsn)
    assert ran.code == 1
    assert "x invariants: The invariant in_flight is broken" in ran.out
    assert "lonnymq doctor --repair" in ran.out
    document = command("doctor", "--json", dsn=queue_dsn)
    assert (document.code, document.json["healthy"]) == (1, False)
    assert {"check", "level", "message", "fix"} == set(document.json["problems"][0])
    assert "Nothing was done" in command("doctor", "--repair", dsn=queue_dsn).err
    repaired = command("doctor", "--repair", "--yes", dsn=queue_dsn)
    assert repaired.code == 0
    assert "repaired: in_flight in channel 'acme'" in repaired.out


def test_the_command_ends_with_4_where_nothing_is_installed(healthy_server: Target) -> None:
    with healthy_server.database() as (dsn, _):
        ran = command("doctor", "--schema", "other", dsn=dsn)
    assert ran.code == 4
    assert "Run: lonnymq install --schema other" in ran.err


def test_the_report_is_plain_values(healthy_server: Target) -> None:
    with healthy_server.database() as (dsn, _):
        report = run_checks(dsn)
    assert isinstance(report, Report)
    assert hash(report)


def test_a_doctor_whose_connection_goes_silent_ends_in_time(
    queue_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkup, "CHECK_SECONDS", 0.3)
    with tcp_proxy(queue_dsn) as proxy:

        def silence(name: str) -> None:
            if name == "tables":
                proxy.silence()

        with pytest.raises(psycopg.OperationalError):
            run_checks(proxy.dsn, progress=silence)
