"""The doctor looks at the installed schema, at settings and at workers: each problem is caused, found and fixed."""

import psycopg
import pytest

import lonnymq
from acceptance.doctor.findings import apply_fix, change, find_problems, found, is_fixed
from lonnymq.doctor import run_checks, table_checks
from lonnymq.doctor.server_checks import read_timeout
from lonnymq.testing import run as execute
from lonnymq.testing import with_database
from support import Target, eventually

HARM = {
    "dropped function": ("functions", "drop function lonnymq.channel_active"),
    "replaced function": (
        "functions",
        "create or replace function lonnymq.channel_exists(p_channel text) returns boolean"
        " language sql stable as 'select true'",
    ),
    "altered function": ("functions", "alter function lonnymq.message_dequeue reset jit"),
    "dropped index": ("indexes", "drop index lonnymq.message_line_ix"),
    "dropped key": ("indexes", "alter table lonnymq.dead drop constraint dead_pkey"),
    "no settings": ("queue settings", "delete from lonnymq.queue"),
    "no version": ("installed", "delete from lonnymq.installed"),
    "dropped version": ("installed", "drop table lonnymq.installed"),
    "dropped sequence of seats": ("sequence positions", "drop sequence lonnymq.seat_seq"),
    "dropped sequence of limits": ("sequence positions", "drop sequence lonnymq.limit_epoch_seq"),
    "owner without rights": ("missing rights", "revoke all on lonnymq.message from postgres"),
    "sequence of a table": (
        "sequence positions",
        "insert into lonnymq.message (id, channel, content) values (700, 'acme', 'x')",
    ),
    "sequence of dead messages": (
        "sequence positions",
        "insert into lonnymq.dead (id, dequeue_at, created_at, died_at, attempt, channel, content)"
        " values (700, 1, 1, 1, 1, 'acme', 'x')",
    ),
    "sequence of channels": (
        "sequence positions",
        "select lonnymq.message_create('acme', 'x'); select lonnymq.queue_maintain();"
        " select setval('lonnymq.channel_id_seq', 1, false)",
    ),
}


@pytest.mark.parametrize(("check", "harm"), HARM.values(), ids=HARM)
def test_harm_to_the_schema_is_found_and_mended(queue_dsn: str, check: str, harm: str) -> None:
    for statement in harm.split("; "):
        execute(queue_dsn, statement)
    problem = found(queue_dsn, check)
    assert problem.level == "broken"
    apply_fix(queue_dsn, problem)
    assert is_fixed(queue_dsn, check)
    with lonnymq.Queue(queue_dsn) as queue:
        queue.create("other", b"x")
        assert len(queue.dequeue(5)) >= 1


ROLES = ("owner", "producer", "consumer", "viewer", "admin")


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        ("drop owned by shop_viewer; drop role shop_viewer", "shop_viewer"),
        ("revoke execute on function shop.queue_stats from shop_viewer", "grant execute on"),
        ("revoke usage on schema shop from shop_producer", "grant usage on schema shop"),
    ],
)
def test_roles_and_rights_that_are_missing_are_found_and_come_back(
    queue_dsn: str, harm: str, words: str
) -> None:
    lonnymq.install(queue_dsn, schema="shop", roles=True)
    execute(queue_dsn, harm)
    problem = found(queue_dsn, "missing rights", schema="shop")
    assert (problem.level, words in problem.message) == ("broken", True)
    apply_fix(queue_dsn, problem)
    assert is_fixed(queue_dsn, "missing rights", schema="shop")
    for role in ROLES:
        execute(queue_dsn, f"drop owned by shop_{role} cascade")
        execute(queue_dsn, f"drop role shop_{role}")


@pytest.mark.parametrize(
    ("table", "harm"),
    [("audit", "drop table"), ("migration", "drop table"), ("migration", "truncate")],
)
def test_a_table_that_was_dropped_or_emptied_is_found(
    queue_dsn: str, table: str, harm: str
) -> None:
    execute(queue_dsn, f"{harm} lonnymq.{table}")
    problem = found(queue_dsn, "tables")
    assert (problem.level, table in problem.message) == ("broken", True)


SETTINGS = {
    "default_transaction_read_only": ("on", "read-only"),
    "statement_timeout": ("50ms", "timeouts"),
    "transaction_timeout": ("50ms", "timeouts"),
}


@pytest.mark.parametrize(
    ("setting", "where"),
    [
        ("default_transaction_read_only", "database {database}"),
        ("statement_timeout", "role postgres in database {database}"),
        ("transaction_timeout", "database {database}"),
    ],
)
def test_settings_that_stop_the_queue_are_found(queue_dsn: str, setting: str, where: str) -> None:
    value, check = SETTINGS[setting]
    target = where.format(database=psycopg.conninfo.conninfo_to_dict(queue_dsn)["dbname"])
    execute(queue_dsn, f"alter {target} set {setting} = '{value}'")
    problem = found(queue_dsn, check)
    assert setting in problem.message
    fixable = f"{queue_dsn}&options=-c%20default_transaction_read_only%3Doff"
    apply_fix(fixable, problem)
    assert is_fixed(queue_dsn, check)


def test_timeouts_are_read_as_postgresql_stores_them() -> None:
    texts = ("50", "50ms", "0.5s", "500us", "2min", "0", "1 h", "default")
    assert [read_timeout(each) for each in texts] == [50, 50, 500, 0.5, 120_000, 0, 3_600_000, 0]


def test_a_timeout_of_another_user_of_the_queue_is_found(queue_dsn: str) -> None:
    execute(queue_dsn, "create role hasty")
    execute(queue_dsn, "alter role hasty set statement_timeout = '50ms'")
    assert is_fixed(queue_dsn, "timeouts")  # does not use the queue
    execute(queue_dsn, "grant usage on schema lonnymq to hasty")
    problem = found(queue_dsn, "timeouts")
    assert "for user hasty" in problem.message
    apply_fix(queue_dsn, problem)
    assert is_fixed(queue_dsn, "timeouts")
    execute(queue_dsn, "drop owned by hasty")
    execute(queue_dsn, "drop role hasty")


def test_a_server_that_is_read_only_by_default_is_found(queue_dsn: str) -> None:
    change(queue_dsn, "alter system set default_transaction_read_only = on")
    problem = eventually(
        lambda: next((e for e in find_problems(queue_dsn) if e.check == "read-only"), None)
    )
    assert problem.level == "broken"
    apply_fix(queue_dsn, problem)
    eventually(lambda: is_fixed(queue_dsn, "read-only"))


def test_a_setting_of_the_dsn_is_found_and_nobody_is_told_to_change_the_server(
    queue_dsn: str,
) -> None:
    assert found(f"{queue_dsn}&options=-c%20statement_timeout%3D50", "timeouts").fix is None


def test_old_transaction_ids_are_found(queue_dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_checks, "MAX_XID_AGE", 500)
    monkeypatch.setattr(table_checks, "BROKEN_XID_AGE", 1_000_000)
    execute(
        queue_dsn,
        "do $$ begin for i in 1 .. 700 loop perform pg_current_xact_id(); commit; end loop; end $$",
    )
    problem = found(queue_dsn, "transaction id age")
    assert problem.level == "warning"
    apply_fix(queue_dsn, problem)
    assert is_fixed(queue_dsn, "transaction id age")


def see_worker(dsn: str, version: str, kinds: str = "[]") -> None:
    about = f'{{"version": "{version}", "kinds": {kinds}}}'
    execute(dsn, f"select lonnymq.worker_seen('worker 1', 8, p_about => '{about}')")


@pytest.mark.parametrize(
    ("version", "level"), [("0.0.9", "broken"), ("99.1", "warning"), ("0.1.0", "none")]
)
def test_workers_of_other_versions_are_found(queue_dsn: str, version: str, level: str) -> None:
    see_worker(queue_dsn, version)
    problems = [each for each in run_checks(queue_dsn).problems if each.check == "worker versions"]
    assert [each.level for each in problems] == ([] if level == "none" else [level])
    see_worker(queue_dsn, lonnymq.__version__)
    assert is_fixed(queue_dsn, "worker versions")


def test_an_older_worker_that_the_queue_serves_is_told_of(queue_dsn: str) -> None:
    see_worker(queue_dsn, lonnymq.__version__)
    execute(queue_dsn, "update lonnymq.installed set library_version = '0.2.0'")
    assert found(queue_dsn, "worker versions").level == "note"


def test_kinds_that_no_worker_handles_are_found(queue_dsn: str) -> None:
    with lonnymq.Queue(queue_dsn) as queue:
        queue.create("acme", b"x", kind="resize")
        queue.create("acme", b"x", kind="known")
        queue.maintain()
    assert is_fixed(queue_dsn, "kinds")  # nobody works
    with lonnymq.Queue(queue_dsn) as queue:
        queue.worker_seen("worker", concurrency=1, kinds=["known"])
        assert "No worker serves kind 'resize'." in found(queue_dsn, "kinds").message
        for kinds in (["known", "resize"], None):
            queue.worker_seen("worker", concurrency=1, kinds=kinds)
            assert is_fixed(queue_dsn, "kinds")


def test_changes_that_no_dequeue_will_read_are_found(queue_dsn: str) -> None:
    with lonnymq.Queue(queue_dsn) as queue:
        queue.create("acme", b"x")
        queue.maintain()
    execute(queue_dsn, "insert into lonnymq.change (xid, channel, slots) values ('5', 'acme', 1)")
    problem = found(queue_dsn, "changes", quick=True)
    assert (problem.level, "channel 'acme'" in problem.message) == ("broken", True)
    apply_fix(queue_dsn, problem)
    assert is_fixed(queue_dsn, "changes")


def test_changes_that_nobody_reads_are_found(queue_dsn: str) -> None:
    execute(queue_dsn, "select lonnymq.message_create('acme', 'x')")
    assert is_fixed(queue_dsn, "changes")
    execute(queue_dsn, "update lonnymq.message set created_at = 1")
    problem = found(queue_dsn, "changes")
    assert problem.level == "warning"
    apply_fix(queue_dsn, problem)
    assert is_fixed(queue_dsn, "changes")


def test_a_newer_queue_that_does_not_serve_this_library_is_broken(queue_dsn: str) -> None:
    execute(queue_dsn, "update lonnymq.installed set library_rank = '{99}', serves_rank = '{98}'")
    assert found(queue_dsn, "installed").level == "broken"


def test_the_doctor_needs_no_superuser(healthy_server: Target) -> None:
    execute(healthy_server.dsn, "create role modest login")
    execute(healthy_server.dsn, "grant pg_read_all_stats to modest")
    execute(healthy_server.dsn, "create database of_modest owner modest")
    dsn = with_database(healthy_server.dsn, "of_modest").replace("postgres@", "modest@", 1)
    with lonnymq.Queue(dsn) as queue:
        queue.install()
    assert run_checks(dsn).problems == ()
    execute(healthy_server.dsn, "drop database of_modest with (force)")
    execute(healthy_server.dsn, "drop role modest")
