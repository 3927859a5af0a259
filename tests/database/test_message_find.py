"""message_find: messages of all channels by state, kind, key, worker and fields, at a bounded cost."""

from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from dashboard.sample_queue import fill_queue
from lonnymq import Queue
from support import message_id


@pytest.fixture
def queue(dsn: str) -> Any:
    with Queue(dsn) as opened:
        yield opened


def find(connection: psycopg.Connection, **arguments: Any) -> list[dict[str, Any]]:
    """The rows of a search, with the row that only says how far it came."""
    named = ", ".join(f"p_{name} => %({name})s" for name in arguments)
    with connection.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(f"select * from lonnymq.message_find({named})", arguments).fetchall()


def ids(rows: list[dict[str, Any]]) -> list[int]:
    return [each["id"] for each in rows if each["id"] is not None]


def test_each_state_has_its_messages_newest_first(queue, connection):
    made = fill_queue(queue)
    for state, name in (
        ("running", "leased"),
        ("waiting", "waiting"),
        ("scheduled", "scheduled"),
        ("retrying", "failed"),
        ("dead", "dead"),
        ("completed", "completed"),
    ):
        rows = find(connection, state=state)
        assert made[name] in ids(rows), state
        assert {each["state"] for each in rows} == {state}
        if state != "completed":
            assert ids(rows) == sorted(ids(rows), reverse=True)
        assert rows[0]["upto"] is None
        assert rows[0]["looked_at"] >= len(rows)
    live = {each["state"] for each in find(connection, state="live", limit=100)}
    assert live == {"running", "waiting", "scheduled", "retrying"}


def test_kind_key_worker_and_channel_select(queue, connection):
    fill_queue(queue)
    keyed = message_id(queue.create("acme", b"{}", key="order-7", kind="mail"))
    other = message_id(queue.create("other", b"{}", key="order-7"))
    assert ids(find(connection, key="order-7")) == [other, keyed]
    assert ids(find(connection, key="order-7", channel="acme")) == [keyed]
    assert find(connection, key="order-7", channel="acme")[0]["looked_at"] == 1
    assert ids(find(connection, kind="mail")) == [keyed]
    assert {each["worker"] for each in find(connection, state="running", worker="w1")} == {"w1"}
    (nothing,) = find(connection, state="running", worker="w2")
    assert (nothing["id"], nothing["upto"]) == (None, None)


def test_fields_of_json_contents_select_and_other_contents_are_passed_over(queue, connection):
    wanted = [
        message_id(queue.create("acme", content))
        for content in (b'{"user": {"id": 7}, "x": 1}', b' {"user": {"id": "7"}}')
    ]
    for content in (
        b"{",
        b"\xff\xfe{",
        b"[1, 2",
        b'"user"',
        b"",
        b'{"user": {"id": 8}}',
        b'{"a": "\\u0000"}',
    ):
        queue.create("acme", content)
    queue.create("acme", b'{"user": {"id": 7}, "pad": "' + b"x" * 70_000 + b'"}')
    fields = '[{"user": {"id": 7}}, {"user": {"id": "7"}}]'
    assert sorted(ids(find(connection, fields=fields))) == wanted
    assert sorted(ids(find(connection, fields=fields, channel="acme"))) == wanted


def test_a_search_goes_on_where_it_stopped_until_everything_was_read(queue, connection):
    queue.create_many([b"{}"] * 25, channel="acme")
    wanted = [message_id(queue.create("acme", b'{"n": 1}')) for _ in range(5)]
    queue.create_many([b"{}"] * 25, channel="other")
    for channel in (None, "acme"):
        seen: list[int] = []
        after = None
        while True:
            rows = find(connection, fields='[{"n": 1}]', channel=channel, after=after, limit=2)
            seen += ids(rows)
            after = rows[0]["upto"]
            if after is None:
                break
        assert sorted(seen) == wanted
        assert len(seen) == 5


def test_what_cannot_be_asked_is_refused(connection):
    for arguments in (
        {"state": "flying"},
        {"state": None},
        {"fields": "{}"},
        {"limit": 0},
        {"limit": 1001},
    ):
        with pytest.raises(psycopg.Error) as refused:
            find(connection, **arguments)
        assert refused.value.sqlstate == "LM001"


@pytest.mark.long
def test_a_search_reads_ten_thousand_messages_at_most(dsn_18, connect):
    with Queue(dsn_18) as queue:
        for _ in range(2):
            queue.create_many([b'{"n": 1}'] * 5_050, channel="acme")
    connection = connect(dsn_18)
    first = find(connection, fields='[{"n": 2}]')
    assert (ids(first), first[0]["looked_at"]) == ([], 10_000)
    second = find(connection, fields='[{"n": 2}]', after=first[0]["upto"])
    assert (second[0]["looked_at"], second[0]["upto"]) == (100, None)
