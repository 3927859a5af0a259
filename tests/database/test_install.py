"""Installing: the same schema by every way, however often and by however many."""

import re
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from make_indexes import FILE as INDEXES_FILE
from make_indexes import render_indexes

import lonnymq
from lonnymq import install, install_script
from lonnymq.client import calls
from lonnymq.client.installation import changed_functions, expected_functions, missing_indexes
from lonnymq.embedded_postgres.cluster import embedded_binaries
from lonnymq.errors import InstallBlocked, NotInstalled, SchemaNewer
from lonnymq.testing import Clock

Connection = psycopg.Connection[tuple[object, ...]]


@pytest.fixture
def connection(dsn: str) -> Iterator[Connection]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        yield connection


def dump(dsn: str, schema: str) -> str:
    """The schema as pg_dump sees it, under the name `queue`, without the lines that differ from run to run."""
    command = [str(embedded_binaries() / "pg_dump"), "--schema-only", f"--schema={schema}", dsn]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return re.sub(rf"\b{schema}\b", "queue", re.sub(r"(?m)^\\(un)?restrict .*$", "", text))


def count(connection: Connection, query: str) -> object:
    row = connection.execute(query.encode()).fetchone()
    return row and row[0]


def test_the_printed_script_gives_the_same_schema(dsn: str, tmp_path: Path) -> None:
    install(dsn, schema="by_call")
    file = tmp_path / "install.sql"
    file.write_text(install_script("by_script"))
    psql = [str(embedded_binaries() / "psql"), "-q", "-v", "ON_ERROR_STOP=1", "-f", str(file), dsn]
    subprocess.run(psql, check=True, capture_output=True)
    assert "CREATE FUNCTION queue.message_dequeue" in dump(dsn, "by_call")
    assert dump(dsn, "by_script") == dump(dsn, "by_call")


async def test_the_async_half_gives_the_same_schema(dsn: str) -> None:
    install(dsn, schema="by_call")
    async with lonnymq.AsyncQueue(dsn, schema="by_async") as queue:
        await queue.install()
    assert dump(dsn, "by_async") == dump(dsn, "by_call")


def test_a_second_install_changes_nothing(dsn: str, connection: Connection) -> None:
    install(dsn, schema="other")
    before = count(connection, "select max(xmin::text::bigint) from pg_proc"), dump(dsn, "other")
    install(dsn, schema="other")
    connection.execute(install_script("other").encode())
    assert (
        count(connection, "select max(xmin::text::bigint) from pg_proc"),
        dump(dsn, "other"),
    ) == before


def test_ten_may_install_at_once(dsn: str, connection: Connection) -> None:
    install(dsn, schema="alone")
    with ThreadPoolExecutor(10) as pool:
        list(pool.map(lambda _: install(dsn, schema="crowded"), range(10)))
    assert dump(dsn, "crowded") == dump(dsn, "alone")
    assert (
        count(connection, "select count(*) = count(distinct version) from crowded.migration")
        is True
    )


def test_ten_may_install_at_once_where_transactions_are_serializable_by_default(
    direct_dsn: str,
) -> None:
    def install_serializable(_: int) -> None:
        with psycopg.connect(
            direct_dsn, options="-c default_transaction_isolation=serializable"
        ) as connection:
            install(connection, schema="crowded")

    with ThreadPoolExecutor(10) as pool:
        list(pool.map(install_serializable, range(10)))
    assert lonnymq.Queue(direct_dsn, schema="crowded").peek("acme") == []


@pytest.mark.parametrize("schema", ["_", "q1", "user_queue", "x" * 48])
def test_a_queue_works_in_any_schema_whose_name_passes(dsn: str, schema: str) -> None:
    with lonnymq.Queue(dsn, schema=schema) as queue:
        queue.install()
        queue.create("acme", b"hello")
        assert [message.complete() for message in queue.dequeue()] == ["completed"]


def test_two_queues_in_one_database_know_nothing_of_each_other(dsn: str) -> None:
    with lonnymq.Queue(dsn) as first, lonnymq.Queue(dsn, schema="other") as second:
        second.install()
        first.create("acme", b"first")
        assert second.peek("acme") == []


LATER = [
    "insert into other.migration values (9999, 'later')",
    "update other.installed set library_rank = '{999}'",
]


@pytest.mark.parametrize("later", LATER)
def test_a_newer_schema_that_does_not_serve_this_library_is_refused_and_left_as_it_is(
    dsn: str, connection: Connection, later: str
) -> None:
    install(dsn, schema="other")
    connection.execute(later.encode())
    connection.execute("update other.installed set functions_checksum = 'later'")
    connection.execute("update other.installed set serves_rank = '{998}'")
    before = dump(dsn, "other")
    with pytest.raises(SchemaNewer, match=r"serves versions from 998 on.* Upgrade the library"):
        install(dsn, schema="other")
    assert dump(dsn, "other") == before


@pytest.mark.parametrize("later", LATER)
def test_a_newer_schema_that_serves_this_library_is_accepted_and_left_as_it_is(
    dsn: str, connection: Connection, later: str
) -> None:
    install(dsn, schema="other")
    connection.execute(later.encode())
    connection.execute("update other.installed set functions_checksum = 'later'")
    connection.execute("drop function other.history_extend; drop index other.dead_channel_ix")
    connection.execute("create function other.later() returns integer language sql return 1")
    before = dump(dsn, "other")
    install(dsn, schema="other")
    install(dsn, schema="other", roles=True)
    assert dump(dsn, "other") == before
    assert count(connection, "select functions_checksum from other.installed") == "later"


def test_the_schema_says_the_oldest_library_that_it_serves(connection: Connection) -> None:
    assert count(connection, "select serves_rank <= library_rank from lonnymq.installed") is True


STALE = "create function other.stale(a integer default 1) returns integer language sql return a"
EARLIER = "update other.installed set functions_checksum = 'earlier'"


def test_functions_of_no_set_stay_for_calls_under_way_and_go_with_the_next_install(
    dsn: str, connection: Connection
) -> None:
    install(dsn, schema="other")
    right = dump(dsn, "other")
    connection.execute(f"{STALE}; {EARLIER}".encode())
    install(dsn, schema="other")
    assert count(connection, "select other.stale()") == 1
    install(dsn, schema="other")
    assert count(connection, "select other.stale()") == 1
    connection.execute("update other.installed set installed_at = now() - interval '2 minutes'")
    install(dsn, schema="other")
    assert dump(dsn, "other") == right
    assert count(connection, "select stale from other.installed") == []


def test_an_upgrade_drops_what_the_one_before_it_left(dsn: str, connection: Connection) -> None:
    install(dsn, schema="other")
    right = dump(dsn, "other")
    for _ in range(2):
        connection.execute(EARLIER.encode())
        if count(connection, "select to_regprocedure('other.stale(integer)') is null"):
            connection.execute(STALE.encode())
        install(dsn, schema="other")
    assert dump(dsn, "other") == right


def test_a_function_with_other_arguments_is_dropped_at_once(
    dsn: str, connection: Connection
) -> None:
    install(dsn, schema="other")
    right = dump(dsn, "other")
    connection.execute(
        "create function other.channel_pause(text, integer default 1) returns text language sql return 'wrong';"
        + EARLIER
    )
    install(dsn, schema="other")
    assert dump(dsn, "other") == right


HARM = {
    "dropped function": "drop function other.message_defer(bigint, uuid, bigint, bytea, bigint)",
    "replaced function": "create or replace function other.epoch(p_at timestamptz default clock_timestamp())"
    " returns bigint language sql volatile as 'select 1::bigint'",
    "altered function": "alter function other.message_dequeue reset plan_cache_mode",
    "other volatility": "alter function other.guard_text volatile",
    "overloaded function": "create function other.channel_pause(text, integer default 1) returns text"
    " language sql return 'wrong'",
    "dropped index": "drop index other.message_line_ix",
    "other index": "drop index other.message_line_ix; create index message_line_ix on other.message (id)",
    "dropped unique index": "drop index other.message_key_ix",
    "dropped index of history": "drop index other.history_xid_ix",
    "dropped primary key": "alter table other.channel_setting drop constraint channel_setting_pkey",
    "other primary key": "alter table other.dead drop constraint dead_pkey;"
    " alter table other.dead add constraint dead_pkey primary key (id, channel)",
    "dropped unique constraint": "alter table other.channel drop constraint channel_name_key",
}


QUICK = ("dropped function", "replaced function", "dropped index of history", "dropped primary key")


@pytest.mark.parametrize(
    "harm",
    [
        pytest.param(harm, id=name, marks=[] if name in QUICK else pytest.mark.long)
        for name, harm in HARM.items()
    ],
)
def test_an_install_brings_back_what_somebody_dropped_or_changed(
    dsn: str, connection: Connection, harm: str
) -> None:
    install(dsn, schema="other")
    right = dump(dsn, "other")
    connection.execute(harm.encode())
    assert dump(dsn, "other") != right
    install(dsn, schema="other")
    assert dump(dsn, "other") == right


def test_an_install_leaves_the_clock_of_a_test_alone(dsn: str, direct_dsn: str) -> None:
    clock = Clock(direct_dsn)
    clock.set(1_000)
    with lonnymq.Queue(dsn) as queue:
        queue.install()
        assert queue.epoch() == 1_000
    clock.close()


def test_an_install_brings_back_the_settings_of_the_queue(dsn: str, connection: Connection) -> None:
    with lonnymq.Queue(dsn, schema="other") as queue:
        queue.install()
        before = queue._run(calls.queue_options_now(queue.schema))
        connection.execute("update other.queue set generation = 3; delete from other.queue")
        connection.execute(
            "insert into other.history (xid, message_id, created_at, dequeue_at, dequeued_at, finished_at, size,"
            " attempt, outcome, channel) values (((3::bigint << 44) + 700)::text::xid8, 1, 1, 1, 1, 1, 1, 1,"
            " 'completed', 'acme')"
        )
        queue.install()
        queue.create("acme", b"x")
        assert [each.complete() for each in queue.dequeue()] == ["completed"]
        after = queue._run(calls.queue_options_now(queue.schema))
    changing = {"written_by", "table_oid", "generation"}
    assert {k: v for k, v in after.items() if k not in changing} == {
        k: v for k, v in before.items() if k not in changing
    }
    assert after["generation"] == 3


def test_an_install_that_meets_a_lock_for_long_says_so_and_leaves_nothing(
    dsn_18: str, connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lonnymq.client.installation.RETRY_SECONDS", 0)
    install(dsn_18, schema="blocked")
    holder = connect(dsn_18)
    with holder.transaction():
        holder.execute("lock table blocked.message in row exclusive mode")
        with pytest.raises(InstallBlocked, match="lonnymq doctor"):
            install(dsn_18, schema="blocked", roles=True)
    assert count(holder, "select to_regrole('blocked_owner') is null") is True
    assert count(holder, "select roles from blocked.installed") is False


def test_an_install_inside_the_callers_transaction_is_undone_with_it(
    dsn: str, connection: Connection
) -> None:
    with connection.transaction(force_rollback=True):
        install(connection, schema="other")
        assert count(connection, "select to_regnamespace('other') is not null") is True
    assert count(connection, "select to_regnamespace('other') is null") is True


def test_an_install_leaves_the_settings_of_the_callers_transaction_alone(
    connection: Connection,
) -> None:
    with connection.transaction(force_rollback=True):
        install(connection, schema="other")
        assert count(connection, "show check_function_bodies") == "on"


def test_a_queue_that_is_not_installed_says_how_to_install_it(dsn: str) -> None:
    with (
        lonnymq.Queue(dsn, schema="nowhere") as queue,
        pytest.raises(NotInstalled, match=r"queue\.install\(\)"),
    ):
        queue.create("acme", b"hello")


def test_the_file_of_indexes_is_what_the_migrations_give(dsn: str) -> None:
    assert render_indexes(dsn) == INDEXES_FILE.read_text(), "run scripts/make_indexes.py"


def test_the_functions_that_are_expected_are_all_there_are(
    dsn: str, connection: Connection
) -> None:
    query = "select count(*) from pg_proc where pronamespace = 'lonnymq'::regnamespace"
    assert count(connection, query) == len(list(expected_functions("lonnymq")))
    assert connection.execute(changed_functions("lonnymq").encode()).fetchall() == []
    assert connection.execute(missing_indexes("lonnymq").encode()).fetchall() == []
