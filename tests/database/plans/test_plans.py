"""The statements inside the shipped functions are index probes, at 0, 10 and 100,000 rows, analysed and not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import psycopg
import pytest

from database.plans.inner_plans import Scan, explained, printed
from database.plans.large_queue import add_messages, disable_autovacuum, fold
from support import Target

# What a statement reads at most, whatever is stored: what a call was asked for, times a small number.
MOST_ROWS = 500
# One row each, or one for each reader of history or each of at most 64 lists of kinds: however it is read.
FEW_ROWS = ("queue", "seat_seq", "message_id_seq", "history_reader", "kind_filter")
# Whether there is any such row at all: a look at the first entry of an index that has no others.
# Notes are read by transaction; only people ask about one channel's.
FOR_PEOPLE = [("explain", "note")]
ANY_AT_ALL = ("channel_capacity_ix", "channel_setting_capacity_ix")
CALLS = {
    "create": "message_create('channel 1', 'x')",
    "create, in a new channel": "message_create('new', 'x')",
    "create, with a key": "message_create('channel 1', 'x', p_key => 'n')",
    "create, with a capacity": "message_create('full', 'x')",
    "create_many": """message_create_many(
        array(select 'channel ' || i % 7 from generate_series(1, 100) as i),
        array_fill('x'::bytea, array[100]))""",
    "create_many, with keys": """message_create_many(array_fill('channel 1'::text, array[100]),
        array_fill('x'::bytea, array[100]),
        p_keys => array(select 'n' || i from generate_series(1, 100) as i))""",
    "create_many, with keys and a capacity": """message_create_many(array_fill('full'::text, array[100]),
        array_fill('x'::bytea, array[100]),
        p_keys => array(select 'n' || i from generate_series(1, 100) as i))""",
    "dequeue": "message_dequeue(20)",
    "dequeue, of one": "message_dequeue(1)",
    "dequeue, of channels": "message_dequeue(20, p_channels => '{{channel 1,slow,narrow,none}}')",
    "dequeue, of a kind": "message_dequeue(20, p_kinds => '{{NULL}}')",
    "dequeue, of kinds": "message_dequeue(20, p_kinds => '{{NULL,video}}')",
    "dequeue, of kinds and channels": "message_dequeue(20, p_kinds => '{{NULL}}', p_channels => '{{channel 1,slow}}')",
    "dequeue, of new kinds": "message_dequeue(20, p_kinds => '{{NULL,new}}')",
    "heartbeat": "message_heartbeat({ids}, {tokens})",
    "complete": "message_complete({ids}, {tokens})",
    "complete, with stale tokens": "message_complete({ids}, array_fill(gen_random_uuid(), array[10]))",
    "defer": "message_defer({ids}, {tokens}, array_fill(5::bigint, array[10]))",
    "fail": "message_fail({ids}, {tokens}, array_fill('e'::text, array[10]))",
    "fail, for good": "message_fail({ids}, {tokens}, p_deads => array_fill(true, array[10]))",
    "cancel": "message_cancel({ids})",
    "cancel, of waiting ones": "message_cancel({waiting})",
    "purge": "message_purge('channel 1', 10)",
    "peek": "message_peek('channel 1')",
    "explain": "message_explain(coalesce(({waiting})[1], 0))",
    "status": "message_status({waiting} || {ids} || {dead})",
    "status, of ended messages": "message_status(array[1, 50, 90000, 1000000000])",
    "result": "message_result(50)",
    "complete, with results": "message_complete({ids}, {tokens}, array_fill('r'::bytea, array[10]))",
    "dead_redrive, by id": "dead_redrive({dead})",
    "dead_redrive, by channel": "dead_redrive(p_channel => 'channel 1', p_limit => 10)",
    "dead_purge": "dead_purge({dead})",
    "dead_list": "dead_list('channel 1', p_limit => 10)",
    "dead_ids": "dead_ids('channel 1', p_limit => 10)",
    "channel_set": """channel_set('channel 1', '{{"weight": 2}}')""",
    "channel_pause": "channel_pause('channel 1')",
    "channel_retire": "channel_retire('channel 1')",
    "channel_stats": "channel_stats('channel 1')",
    "sweep": "queue_maintain()",
}
PARTS = {
    "ids": "array(select id from taken order by id)",
    "tokens": "array(select token from taken order by id)",
    "waiting": "array(select id from untaken)",
    "dead": "array(select id from buried)",
}


def fill_queue(connection: psycopg.Connection[Any], rows: int) -> None:
    """Channels of every kind with messages of every kind; some leases have run out, and some notes are new."""
    disable_autovacuum(connection)
    connection.execute(
        """select lonnymq.channel_set('full', '{"max_size": 5}'),
        lonnymq.channel_set('slow', '{"min_interval_ms": 1, "burst": 5}'),
        lonnymq.channel_set('narrow', '{"max_concurrency": 3}')"""
    )
    channels = max(rows // 10, 1)
    add_messages(connection, rows, f"'channel ' || i % {channels}", "case i % 3 when 0 then -i when 1 then i"
                 " else 4102444800000 end")  # fmt: skip
    for name in ("full", "slow", "narrow", "unlimited"):
        add_messages(connection, min(rows, 1000), f"'{name}'", "-1000000 + i")
    connection.execute(
        "insert into lonnymq.history (message_id, created_at, dequeue_at, dequeued_at, finished_at,"
        " size, attempt, outcome, channel)"
        f" select i, 1, 1, 1, lonnymq.epoch() - i, 1, 1, 'completed', 'channel 1' from generate_series(1, {rows}) as i"
    )
    connection.execute(
        "insert into lonnymq.dead (id, dequeue_at, created_at, died_at, attempt, channel, content)"
        f" select -i, 1, 1, 1, 5, 'channel ' || i % {channels}, 'x' from generate_series(1, {rows}) as i"
    )
    fold(connection)
    connection.execute("select lonnymq.message_dequeue(50, 1)")
    for kinds in ("{NULL}", "{NULL,video}"):
        ask = "select answer = 'contended' from lonnymq.message_dequeue(1, 1, p_kinds => %s)"
        while connection.execute(ask, (kinds,)).fetchone() == (True,):
            pass
    # Ten leases, or ids that nobody knows where there are fewer.
    connection.execute(
        "create table taken as select id, token from lonnymq.message where token is not null"
        " union all select -i - 1000000, gen_random_uuid() from generate_series(1, 10) as i limit 10"
    )
    connection.execute(
        "select lonnymq.message_heartbeat(array(select id from taken), array(select token from taken), 86400000)"
    )
    connection.execute(
        "create table untaken as select id from lonnymq.message where token is null order by id limit 10"
    )
    connection.execute("create table buried as select id from lonnymq.dead limit 10")
    if rows:
        connection.execute(
            "select lonnymq.message_create('channel ' || i, 'x') from generate_series(0, 5) as i"
        )
        connection.execute("select lonnymq.message_create('newcomer', 'x')")


class Shelf:
    """One database for each size, made when it is first asked for; analysed when that is asked for."""

    def __init__(
        self, server: Target, look: Callable[[psycopg.Connection[Any], str], list[Scan]]
    ) -> None:
        self.server, self.look = server, look
        self.stack = ExitStack()
        self.made: dict[int, str] = {}

    def dsn(self, rows: int, analysed: bool) -> str:
        if rows not in self.made:
            self.made[rows] = self.stack.enter_context(self.server.database())[1]
            with psycopg.connect(self.made[rows], autocommit=True) as connection:
                fill_queue(connection, rows)
        if analysed:
            with psycopg.connect(self.made[rows], autocommit=True) as connection:
                connection.execute("analyze")
        return self.made[rows]


@pytest.fixture(scope="module")
def explained_shelf(server_15: Target) -> Iterator[Shelf]:
    shelf = Shelf(server_15, explained)
    with shelf.stack:
        yield shelf


@pytest.fixture(scope="module")
def printed_shelf(server_18: Target) -> Iterator[Shelf]:
    shelf = Shelf(server_18, printed)
    with shelf.stack:
        yield shelf


@pytest.fixture(scope="module", params=["explained_shelf", "printed_shelf"])
def shelf(request: pytest.FixtureRequest) -> Shelf:
    made: Shelf = request.getfixturevalue(request.param)
    return made


@pytest.mark.parametrize("analysed", [False, True], ids=["not analysed", "analysed"])
@pytest.mark.parametrize("rows", [0, 10, pytest.param(100_000, marks=pytest.mark.long)])
def test_every_statement_of_every_function_is_index_probes(
    shelf: Shelf, rows: int, analysed: bool
) -> None:
    dsn = shelf.dsn(rows, analysed)
    wrong = []
    for name, call in CALLS.items():
        with psycopg.connect(dsn, autocommit=True) as connection:
            scans = shelf.look(connection, f"select * from lonnymq.{call.format(**PARTS)}")
        tables = [
            scan
            for scan in scans
            if scan.relation not in (*FEW_ROWS, "taken", "untaken", "buried")
            and not scan.relation.startswith("pg_")  # what a sweep looks at to find sessions
        ]
        assert tables, f"{name}: nothing was seen"
        wrong += [
            f"{name}: {scan}"
            for scan in tables
            if is_wrong(scan) and (name, scan.relation) not in FOR_PEOPLE
        ]
    assert not wrong, "\n".join(wrong)


def is_wrong(scan: Scan) -> bool:
    is_bounded = scan.is_bounded or scan.index in ANY_AT_ALL
    return scan.node in ("Seq Scan", "SEQSCAN") or not is_bounded or scan.rows > MOST_ROWS
