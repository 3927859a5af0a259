"""What the page costs does not grow with messages or channels: pages read by each of its functions, at two sizes."""

import psycopg

from database.plans.large_queue import add_messages, count_pages, disable_autovacuum, fold
from support import Target

SMALL, LARGE = (20_000, 2_000), (80_000, 8_000)
CALLS = (
    "queue_metrics()",
    "channel_active(50, 100)",
    "channel_active(1, 1000, array['tenant 1', 'tenant 7'])",
    "channel_names('', '', '', 50, 51)",
    "channel_names('tenant 12', '', '', 50, 51)",
    "channel_names('', 'nothing like it', '', 50, 2000)",
    "channel_rank('waiting', 1000)",
    "channel_rank('running', 1000)",
    "channel_rank('oldest', 1000)",
    "channel_rank('rate', 1000)",
    "channel_rank('dead', 1000)",
    "channel_in_state('ready', 1000)",
    "channel_in_state('scheduled', 1000)",
    "channel_in_state('saturated', 1000)",
    "channel_in_state('throttled', 1000)",
    "channel_rank('failing', 1000)",
    "queue_attention()",
    "attempt_stats('channel', 0)",
    "attempt_totals(array['tenant 1', 'tenant 7'])",
    "channel_dead(array['tenant 1', 'tenant 7'])",
    "channel_stats('tenant 1')",  # counts a channel's messages, up to 10,000
    "history_recent(0, 60000, 'tenant 7', 5000)",
    "message_page('tenant 7')",
    "message_show(1)",
    "message_attempts(1)",
    "message_explain(1)",
    "dead_groups()",
    "dead_match('none')",
    "worker_list()",
    "schedule_list()",
    "audit_list()",
    "sample_list(0, 10000)",
)


def filled(connection: psycopg.Connection, messages: int, channels: int) -> None:
    """Messages in channels, one of which has a tenth of them; attempts and dead messages as well."""
    disable_autovacuum(connection)
    add_messages(
        connection, messages, f"'tenant ' || case i % 10 when 0 then 7 else i % {channels} end"
    )
    fold(connection)
    connection.execute(
        "insert into lonnymq.history (message_id, created_at, dequeue_at, dequeued_at, finished_at,"
        " size, attempt, outcome, channel)"
        f" select i, 1, 1, 1, 1000 + i, 1, 1, case i % 2 when 0 then 'completed' else 'failed' end,"
        f" 'tenant ' || i % {channels} from generate_series(1, {messages}) as i"
    )
    connection.execute(
        "insert into lonnymq.dead (id, dequeue_at, created_at, died_at, attempt, channel, content, error)"
        f" select -i, 1, 1, 1, 5, 'tenant ' || i % {channels}, 'x', 'ValueError: ' || i"
        f" from generate_series(1, {messages}) as i"
    )
    connection.execute("select count(*) from lonnymq.message_dequeue(1000, 600000)")
    connection.execute("vacuum analyze")


def costs(server: Target, messages: int, channels: int) -> dict[str, int]:
    """Pages that each call touches on a queue of this size."""
    with server.database() as (dsn, _), psycopg.connect(dsn, autocommit=True) as connection:
        filled(connection, messages, channels)
        return {call: count_pages(connection, call, times=2) for call in CALLS}


def test_a_look_costs_the_same_however_much_there_is(server_18):
    small, large = (costs(server_18, *size) for size in (SMALL, LARGE))
    grown = {
        call: f"{small[call]} pages of {SMALL}, {large[call]} of {LARGE}"
        for call in CALLS
        if large[call] > small[call] * 1.5 + 100
    }
    assert not grown


def test_a_count_of_everything_would_be_noticed(server_18):
    seen = []
    for messages in (1_000, 20_000):
        with server_18.database() as (dsn, _), psycopg.connect(dsn, autocommit=True) as connection:
            add_messages(connection, messages, "'tenant'")
            connection.execute(
                "create function lonnymq.everything() returns bigint stable language sql"
                " as 'select count(*) from lonnymq.message'"
            )
            seen.append(count_pages(connection, "everything()", times=2))
    assert seen[1] > seen[0] * 1.5 + 100
