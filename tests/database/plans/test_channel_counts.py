"""The counts of a channel read as many messages as they count, however many the channel has."""

import psycopg
import pytest

from database.plans.large_queue import add_messages, count_pages, disable_autovacuum, fold
from support import Target


@pytest.mark.parametrize("call", ["channel_stats('busy')", "channel_active(1, 1000, '{busy}')"])
def test_a_large_channel_among_many_small_ones_is_not_read_to_its_end(server_18: Target, call: str):
    pages: dict[int, int] = {}
    for messages in (15_000, 60_000):
        with server_18.database() as (dsn, _), psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute("set synchronous_commit = off")
            disable_autovacuum(connection)
            add_messages(connection, messages, "'busy'")
            add_messages(connection, 60_000, "'small ' || i % 10000")
            fold(connection)
            connection.execute("select lonnymq.channel_pause('busy')")
            fold(connection)
            connection.execute("vacuum analyze")
            pages[messages] = count_pages(connection, call)
    print(f"pages touched by {call}: {pages}")
    assert pages[60_000] < pages[15_000] + 200
