"""What cannot be is rejected with an SQLSTATE of our own and a text that says what is allowed; nothing is stored."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, nan
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lonnymq import Queue
from lonnymq.errors import InvalidArgument, TooLarge

TOKEN = "gen_random_uuid()"
LONG = "repeat('é', 128)"  # 256 bytes, 128 characters
TEN_KB = "repeat('x', 10000)"

# Each call, its SQLSTATE, and what its text must say.
MESSAGES = {
    "message_create(null, 'x')": ("LM001", "channel must be given"),
    "message_create('', 'x')": ("LM001", "channel must be 1 to 255 bytes long, not 0"),
    f"message_create({LONG}, 'x')": ("LM001", "channel must be 1 to 255 bytes long, not 256"),
    f"message_create({TEN_KB}, 'x')": ("LM001", "not 10000"),
    "message_create('a', null)": ("LM001", "content must be given"),
    "message_create('a', repeat('x', 67108865)::bytea)": ("LM002", "at most 67108864"),
    "message_create('a', 'x', p_key => '')": ("LM001", "key must be 1 to 255 bytes long"),
    f"message_create('a', 'x', p_key => {LONG})": ("LM001", "key must be 1 to 255 bytes long"),
    "message_create('a', 'x', p_kind => '')": ("LM001", "kind must be 1 to 255 bytes long"),
    f"message_create('a', 'x', p_kind => {TEN_KB})": ("LM001", "kind must be 1 to 255 bytes long"),
    "message_create('a', 'x', p_delay_ms => -1)": ("LM001", "delay_ms must be from 0 to"),
    "message_create('a', 'x', p_delay_ms => 9223372036854775807)": ("LM001", "delay_ms must be"),
    "message_create('a', 'x', 1, 1)": ("LM001", "exclude each other"),
    "message_create('a', 'x', p_headers => '[1]')": ("LM001", "must be a JSON object, not array"),
    "message_create('a', 'x', p_headers => '\"x\"')": ("LM001", "must be a JSON object"),
    "message_create('a', 'x', p_headers => 'null')": ("LM001", "must be a JSON object, not null"),
    "message_create('a', 'x', p_headers => jsonb_build_object('k', repeat('x', 16384)))": (
        "LM002", "at most 16384"),
    "message_create_many(array['a', 'b'], array['x'::bytea])": ("LM001", "2 channels and 1 contents"),
    "message_create_many(null, array['x'::bytea])": ("LM001", "channels and contents must have the same length"),
    "message_create_many(array['a'], null)": ("LM001", "channels and contents must have the same length"),
    "message_create_many(array['a', null], array['x', 'x']::bytea[])": ("LM001", "channel must be"),
    "message_create_many(array['a', 'b'], array['x', null]::bytea[])": ("LM001", "content must be"),
    "message_create_many(array['a', ''], array['x', 'x']::bytea[])": ("LM001", "channel must be"),
    "message_create_many(array['a', 'b'], array['x', 'x']::bytea[], p_keys => array['n'])": (
        "LM001", "keys must be absent or have 2 elements, not 1"),
    "message_create_many(array['a'], array['x'::bytea], p_delays_ms => array[1, 2])": (
        "LM001", "delays_ms must be absent or have 1 elements, not 2"),
    "message_create_many(array['a'], array['x'::bytea], p_dequeue_ats => '{}')": ("LM001", "dequeue_ats"),
    "message_create_many(array['a'], array['x'::bytea], p_kinds => '{}')": ("LM001", "kinds"),
    "message_create_many(array['a'], array['x'::bytea], p_headers => '{}')": ("LM001", "headers"),
    "message_create_many(array['a', 'b'], array['x', 'x']::bytea[], p_delays_ms => array[0, -1])": (
        "LM001", "delay_ms must be from 0"),
    "message_create_many(array_fill('a'::text, array[10001]), array_fill('x'::bytea, array[10001]))": (
        "LM002", "messages per call is 10000"),
    "message_announce(null)": ("LM001", "channels must be given"),
    "message_announce(array['a', ''])": ("LM001", "channel must be 1 to 255 bytes"),
    "message_announce(array[null]::text[])": ("LM001", "channel must be given"),
    "message_purge(null)": ("LM001", "channel must be given"),
    "message_purge('a', 0)": ("LM001", "limit must be from 1"),
    "message_peek('a', -1)": ("LM001", "limit must be from 1"),
    "message_cancel(null::bigint[])": ("LM001", "ids must be given"),
}  # fmt: skip
LEASES = {
    "message_dequeue(0)": ("LM001", "limit must be from 1 to 10000, not 0"),
    "message_dequeue(-1)": ("LM001", "limit must be from 1 to 10000, not -1"),
    "message_dequeue(null)": ("LM001", "limit must be from 1 to 10000, not null"),
    "message_dequeue(10001)": ("LM001", "limit must be from 1 to 10000"),
    "message_dequeue(1, 0)": ("LM001", "lease_ms must be from 1"),
    "message_dequeue(1, -30000)": ("LM001", "lease_ms must be from 1"),
    "message_dequeue(1, null)": ("LM001", "lease_ms must be from 1"),
    "message_dequeue(1, 9223372036854775807)": ("LM001", "lease_ms must be from 1 to 2592000000"),
    f"message_dequeue(1, 1, {LONG})": ("LM001", "worker must be from 0 to 255, not 256"),
    "message_dequeue(1, 1, null, array[1]::bigint[])": ("LM001", "cursor"),
    f"message_heartbeat(1, {TOKEN}, 0)": ("LM001", "lease_ms must be from 1"),
    f"message_heartbeat(array[1, 2]::bigint[], array[{TOKEN}])": ("LM001", "2 ids and 1 tokens"),
    "message_complete(null::bigint[], null::uuid[])": ("LM001", "ids and tokens must have the same length"),
    f"message_complete('{{}}'::bigint[], array[{TOKEN}])": ("LM001", "0 ids and 1 tokens"),
    f"message_complete(array_fill(1::bigint, array[10001]), array_fill({TOKEN}, array[10001]))": (
        "LM002", "messages per call is 10000"),
    f"message_defer(1, {TOKEN}, -1)": ("LM001", "delay_ms must be from 0"),
    f"message_defer(1, {TOKEN}, 1, null, 1)": ("LM001", "exclude each other"),
    f"message_defer(1, {TOKEN}, 0, repeat('x', 1048577)::bytea)": ("LM002", "at most 1048576"),
    f"message_defer(array[1]::bigint[], array[{TOKEN}], '{{}}')": ("LM001", "delays_ms must be"),
    f"message_defer(array[1]::bigint[], array[{TOKEN}], null, '{{}}')": ("LM001", "states must be"),
    f"message_fail(1, {TOKEN}, null, -1)": ("LM001", "retry_ms must be from 0"),
    f"message_fail(array[1]::bigint[], array[{TOKEN}], array['a', 'b'])": ("LM001", "errors must be"),
    f"message_fail(array[1]::bigint[], array[{TOKEN}], p_deads => '{{}}')": ("LM001", "deads must be"),
    f"message_fail(array[1]::bigint[], array[{TOKEN}], p_max_attempts => '{{}}')": ("LM001", "max_attempts must be"),
    "dead_list(p_limit => 0)": ("LM001", "limit must be from 1"),
    "dead_redrive()": ("LM001", "ids, a channel or a kind must be given"),
    "dead_redrive(p_channel => 'a', p_limit => -1)": ("LM001", "limit must be from 1"),
    "dead_purge()": ("LM001", "ids, a channel or a kind must be given"),
    "queue_maintain(0)": ("LM001", "limit must be from 1"),
    "queue_maintain(null)": ("LM001", "limit must be from 1"),
    "channel_stats(p_limit => 0)": ("LM001", "limit must be from 1"),
}  # fmt: skip
OPTIONS = {
    '{"max_speed": 1}': "there is no option 'max_speed'",
    '{"": 1}': "there is no option ''",
    "[]": "options must be a JSON object",
    "3": "options must be a JSON object",
    "null": "options must be a JSON object",
    '{"max_concurrency": 0}': "a whole number from 1 to 2147483647, or null for none, not 0",
    '{"max_concurrency": 2147483648}': "a whole number from 1 to 2147483647",
    '{"max_concurrency": 1.5}': "a whole number from 1",
    '{"max_concurrency": "two"}': 'not "two"',
    '{"max_concurrency": true}': "a whole number from 1",
    '{"max_concurrency": [1]}': "a whole number from 1",
    '{"min_interval_ms": -1}': "a whole number of milliseconds from 1",
    '{"min_interval_ms": 1e300}': "a whole number of milliseconds from 1",
    '{"burst": 0}': "a whole number from 1 to 1000000",
    '{"burst": null}': "a whole number from 1 to 1000000",
    '{"burst": 2147483647}': "a whole number from 1 to 1000000",
    '{"max_size": 0}': "max_size must be",
    '{"when_full": "explode"}': '"reject" or "drop"',
    '{"when_full": null}': '"reject" or "drop"',
    '{"weight": 1001}': "a whole number from 1 to 1000",
    '{"weight": 0}': "a whole number from 1 to 1000",
    '{"max_attempts": 0}': "a whole number from 1",
    '{"retry_delays_ms": []}': "an array of 1 to 100 whole numbers",
    '{"retry_delays_ms": [-1]}': "an array of 1 to 100 whole numbers",
    '{"retry_delays_ms": [1, "x"]}': "an array of 1 to 100 whole numbers",
    '{"retry_delays_ms": 5}': "an array of 1 to 100 whole numbers",
    '{"retry_jitter": 1.1}': "a number from 0 to 1",
    '{"retry_jitter": "NaN"}': "a number from 0 to 1",
    '{"weight": 2, "wieght": 3}': "there is no option 'wieght'",
}
LARGEST = (
    '{"min_interval_ms": 3155760000000, "burst": 1000000, "max_size": 3155760000000,'
    ' "max_concurrency": 2147483647, "max_attempts": 2147483647, "weight": 1000}'
)


def stored(connection: psycopg.Connection[Any]) -> tuple[Any, ...]:
    """Everything that the queue holds, as one figure that changes when any of it does."""
    [row] = connection.execute(
        """
        select (select count(*) from lonnymq.message), (select count(*) from lonnymq.change),
          (select count(*) from lonnymq.channel_setting), (select count(*) from lonnymq.dead),
          (select count(*) from lonnymq.history), (select count(*) from lonnymq.channel),
          (select count(*) from lonnymq.lease), (select q::text from lonnymq.queue q),
          (select string_agg(s::text, ' ') from lonnymq.channel_setting s)
        """
    ).fetchall()
    return tuple(row)


def rejection(
    connection: psycopg.Connection[Any], call: str, *values: Any
) -> tuple[str | None, str]:
    """The SQLSTATE and the text of what a call is rejected with."""
    with pytest.raises(psycopg.Error) as caught:
        connection.execute(f"select * from lonnymq.{call}".encode(), values or None)
    diagnostic = caught.value.diag
    return diagnostic.sqlstate, f"{diagnostic.message_primary} {diagnostic.message_hint}"


@pytest.mark.parametrize("rejected", [MESSAGES, LEASES], ids=["messages", "leases"])
def test_a_call_that_cannot_be_says_what_is_allowed_and_stores_nothing(
    connection: psycopg.Connection[Any], rejected: dict[str, tuple[str, str]]
) -> None:
    before = stored(connection)
    for call, (sqlstate, text) in rejected.items():
        found = rejection(connection, call)
        assert found[0] == sqlstate, f"{call}: {found}"
        assert text in found[1], f"{call}: {found}"
    assert stored(connection) == before


def test_an_option_that_cannot_be_is_refused_by_channel_set_and_queue_set(
    connection: psycopg.Connection[Any],
) -> None:
    connection.execute("select lonnymq.channel_set('known', '{}')")
    before = stored(connection)
    for options, text in OPTIONS.items():
        defaults = options.replace('{"', '{"default_', 1).replace(', "', ', "default_')
        for call, given_options, phrase in (
            ("channel_set('known', %s::jsonb)", options, text),
            ("channel_set('new', %s::jsonb)", options, text),
            ("queue_set(%s::jsonb)", defaults, text.replace("option '", "option 'default_")),
        ):
            sqlstate, output = rejection(connection, call, given_options)
            assert sqlstate == "LM001", f"{call} {given_options}: {output}"
            assert phrase in output, f"{call} {given_options}: {output}"
    assert stored(connection) == before


def test_an_unknown_option_is_answered_with_the_list_of_the_known_ones(
    connection: psycopg.Connection[Any],
) -> None:
    _, output = rejection(connection, """channel_set('a', '{"max_speed": 1}')""")
    assert "max_concurrency, max_size, min_interval_ms" in output
    _, output = rejection(connection, """queue_set('{"max_speed": 1}')""")
    assert "history, history_keep_ms, max_concurrency" in output


def test_a_channel_without_a_name_cannot_be_set_paused_or_retired(
    connection: psycopg.Connection[Any],
) -> None:
    before = stored(connection)
    for verb in ("pause", "resume", "retire"):
        for name in ("''", "null", TEN_KB):
            assert rejection(connection, f"channel_{verb}({name})")[0] == "LM001"
    for name in ("''", "null", TEN_KB):
        assert rejection(connection, f"channel_set({name}, '{{}}')")[0] == "LM001"
    assert stored(connection) == before


def test_a_value_of_another_type_is_refused_by_the_server(
    connection: psycopg.Connection[Any],
) -> None:
    before = stored(connection)
    for call, sqlstate in {
        "message_create('a', 'x', p_delay_ms => 'soon')": "22P02",
        "message_create('a', 'x', p_delay_ms => 'NaN'::float8)": "42883",
        "message_dequeue(1.5)": "42883",
        "message_complete(1, 'no uuid')": "22P02",
        "message_create(E'a\\x00b', 'x')": "22021",
        """message_create('a', 'x', p_headers => '{"k": "\\u0000"}')""": "22P05",
    }.items():
        assert rejection(connection, call)[0] == sqlstate, call
    assert stored(connection) == before


def test_the_largest_values_that_are_allowed_do_not_stop_the_queue(
    connection: psycopg.Connection[Any],
) -> None:
    connection.execute("select lonnymq.channel_set('huge', %s::jsonb)", (LARGEST,))
    for at in (-(2**63), 0, 2**63 - 1):
        connection.execute("select lonnymq.message_create('huge', 'x', %s)", (at,))
        connection.execute("select lonnymq.message_create('other', 'x', %s)", (at,))
    query = "select channel, dequeue_at from lonnymq.message_dequeue(10, 2592000000)"
    assert sorted(connection.execute(query.encode()).fetchall()) == [
        ("huge", -(2**63)),
        ("huge", 0),
        ("other", -(2**63)),
        ("other", 0),
    ]
    # A channel that has nothing is told of the last moment that there is.
    for at in (0, 2**63 - 1):
        connection.execute("select lonnymq.message_create('idle', 'x', %s)", (at,))
        rows = connection.execute("select answer from lonnymq.message_dequeue()").fetchall()
        connection.execute("delete from lonnymq.message where channel = 'idle'")
        connection.execute("select lonnymq.message_dequeue()")
    [(answer,)] = rows
    assert answer == "empty"
    assert connection.execute("select * from lonnymq.queue_check()").fetchall() == []


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    cursor=st.lists(
        st.none() | st.integers(-(2**63), 2**63 - 1) | st.integers(-5, 5), min_size=3, max_size=3
    )
)
def test_whatever_the_cursor_a_message_that_waits_is_leased(
    dsn_18: str, cursor: list[int | None]
) -> None:
    with psycopg.connect(dsn_18, autocommit=True) as connection:
        connection.execute(
            "select lonnymq.message_create('a', 'x'), lonnymq.message_create('b', 'x')"
        )
        rows = connection.execute(
            "select answer, id, token from lonnymq.message_dequeue(2, 1000, null, %s::bigint[])",
            (cursor,),
        ).fetchall()
        assert [row[0] for row in rows] == ["leased", "leased"]
        for _, id_, token in rows:
            connection.execute("select lonnymq.message_complete(%s, %s::uuid)", (id_, token))


# Quotes of every kind, a dollar quote, text from right to left, an emoji that is several, 255 and 256 bytes.
QUOTES = ["'", '"', "$$", "$sql$; drop schema lonnymq cascade; --", "\\", "%s", "null", "*", "{}"]
STRANGE = ["שלום", "\u202eabc", "👩\u200d👩\u200d👧", " ", "\t\n", "\ufeff", "a\0b", "\ud800"]
AWKWARD = [*QUOTES, *STRANGE, "x" * 255, "x" * 256, "é" * 127, "é" * 128]
TEXTS = st.sampled_from(AWKWARD) | st.text(max_size=300)


@pytest.fixture(scope="module")
def fuzzed(server_18: Any) -> Iterator[Queue]:
    with server_18.database() as (dsn, _), Queue(dsn) as queue:
        yield queue


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(channel=TEXTS, key=st.none() | TEXTS, kind=st.none() | TEXTS)
def test_texts_are_stored_verbatim_or_refused(
    fuzzed: Queue, channel: str, key: str | None, kind: str | None
) -> None:
    given_texts = [text for text in (channel, key, kind) if text is not None]
    if all(map(is_allowed, given_texts)):
        fuzzed.create(channel, b"x", key=key, kind=kind)
        [peeked] = fuzzed.peek(channel)
        assert (peeked.channel, peeked.key, peeked.kind) == (channel, key, kind)
        [message] = fuzzed.dequeue()
        assert (message.channel, message.key, message.kind) == (channel, key, kind)
        assert fuzzed.explain(message.id).answer == "leased"
        assert message.complete() == "completed"
        return
    with pytest.raises(InvalidArgument, match=r"must|255"):
        fuzzed.create(channel, b"x", key=key, kind=kind)
    assert not fuzzed.dequeue()


def is_allowed(text: str) -> bool:
    try:
        return 1 <= len(text.encode()) <= 255 and "\0" not in text
    except UnicodeEncodeError:
        return False


def test_python_refuses_what_it_cannot_send_and_stores_nothing(
    connection: psycopg.Connection[Any], dsn: str
) -> None:
    before = stored(connection)
    with Queue(dsn) as queue:
        create: Any = queue.create
        bad: Any
        for bad in (nan, inf, 0.5, -1, "1", True, 2**63):
            with pytest.raises(InvalidArgument, match="delay_ms"):
                create("a", b"x", delay_ms=bad)
        for bad in (nan, "now", 2**63):
            with pytest.raises(InvalidArgument, match="dequeue_at"):
                create("a", b"x", dequeue_at=bad)
        for bad in ("text", 5, None):
            with pytest.raises(InvalidArgument, match="content"):
                create("a", bad)
        for bad in ("", "a\0b", "x" * 10_000, b"a", None, 5):
            with pytest.raises(InvalidArgument, match="channel"):
                create(bad, b"x")
        with pytest.raises(InvalidArgument, match="key"):
            create("a", b"x", key="a\0b")
        for bad in ([1], "x", {"k": nan}, {1, 2}):
            with pytest.raises(InvalidArgument, match="headers"):
                create("a", b"x", headers=bad)
        with pytest.raises(TooLarge, match="67108864"):
            create("a", bytes(64 * 1024 * 1024 + 1))
        for bad in (0, -1, 10_001, "1", 1.0):
            with pytest.raises(InvalidArgument, match="limit"):
                queue.dequeue(limit=bad)
        unknown: dict[str, Any] = {"max_speed": 1}
        with pytest.raises((InvalidArgument, TypeError), match="max_speed"):
            queue.channel("a").set(**unknown)
    assert stored(connection) == before
