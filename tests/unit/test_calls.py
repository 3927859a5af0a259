"""The builders: what they send, and what they make of the rows."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from lonnymq import NewMessage
from lonnymq.client import calls
from lonnymq.client.call import Call
from lonnymq.client.calls import DESCRIPTIONS
from lonnymq.client.describe import Description, Plan, make_builder
from lonnymq.errors import BadSchemaName, ChannelFull, ChannelRetiring
from lonnymq.results import Created, Dropped, Duplicate, Lease, LeasedMessage, Rejected

LEASE = Lease(7, UUID(int=9))
LEASES = [(LEASE.id, LEASE.token)]


# A value for each SQL type of an argument.
SAMPLES: dict[str, object] = {
    "text": "a",
    "text[]": ["a"],
    "integer": 5,
    "bigint": 7,
    "bigint[]": [7],
    "text::xid8": 5,
    "bytea": b"x",
    "bytea[]": [b"x"],
    "jsonb": {"weight": 2},
    "boolean": True,
    "real": 0.5,
    "real[]": [0.5],
    "uuid[]": [UUID(int=9)],
    "bigint uuid": LEASE,
    "bigint[] uuid[]": [LEASE],
}


def every_call(schema: str = "lonnymq") -> dict[str, Call[Any]]:
    """A call of each function: with what it needs, and what may be left out is left out."""
    dequeue: dict[str, Any] = {"limit": 1, "lease_ms": 1, "worker": None, "cursor": None}
    by_hand: dict[str, Call[Any]] = {
        "channel_active": calls.channel_active(schema, ["a"], limit=10, count=10),
        "message_create": calls.message_create(schema, NewMessage(b"x", "a")),
        "message_create_many": calls.message_create_many(schema, [b"x"], channel="a"),
        "message_announce": calls.message_announce(schema, ["a"]),
        "message_dequeue": calls.message_dequeue(schema, LeasedMessage, **dequeue),
        "message_defer": calls.message_defer(schema, LEASE, delay_ms=5, state=b"s"),
        "message_defer_many": calls.message_defer_many(schema, [LEASE], delay_ms=5, state=b"s"),
        "message_complete_each": calls.message_complete_each(schema, LEASES),
        "message_create_columns": calls.message_create_columns(schema, ([],) * 7),
        "message_defer_each": calls.message_defer_each(
            schema, LEASES, delays_ms=[5], states=[None], dequeue_at=[None]
        ),
        "message_fail_each": calls.message_fail_each(
            schema, LEASES, errors=["e"], retries_ms=[5], dead=[False], max_attempts=[None]
        ),
        "schedule_columns": calls.schedule_columns(schema, ["name"], limit=10),
        "message_fail_many": calls.message_fail_many(schema, [LEASE], error="e"),
        "schedule_set": calls.schedule_set(schema, "nightly", channel="a", every_ms=5000),
    }
    described = [each for each in DESCRIPTIONS.values() if each.name not in by_hand]
    return by_hand | {each.name: sample_call(schema, each) for each in described}


def sample_call(schema: str, described: Description) -> Call[Any]:
    arguments = Plan(described.function, described.written).arguments
    values = {name: SAMPLES[argument.sql] for name, _, argument in arguments}
    needed = [each for each in described.parameters if each.default is each.empty]
    given = [values[each.name] for each in needed if each.kind is not each.KEYWORD_ONLY]
    named = {each.name: values[each.name] for each in needed if each.kind is each.KEYWORD_ONLY}
    return getattr(calls, described.name)(schema, *given, **named)


def test_a_call_with_a_wrong_argument_is_a_type_error() -> None:
    pause: Any = calls.channel_pause
    with pytest.raises(TypeError, match="missing"):
        pause("q")
    with pytest.raises(TypeError, match="positional"):
        pause("q", "a", "b")
    with pytest.raises(TypeError, match="unexpected"):
        pause("q", "a", other=1)


def test_a_type_that_says_nothing_of_sql_cannot_be_described() -> None:
    def channel_color(channel: str) -> str:
        return channel

    with pytest.raises(TypeError, match="is not a type of lonnymq"):
        make_builder("channel_color", channel_color)("q", "a")


@pytest.mark.parametrize("name", every_call())
def test_a_call_names_its_function_and_casts_every_value(name: str) -> None:
    call = every_call("other")[name]
    assert f"other.{DESCRIPTIONS[name].function}(" in call.sql
    assert len(re.findall(r"%s::", call.sql)) == call.sql.count("%") == len(call.parameters)


@pytest.mark.parametrize(
    "schema",
    ["", "Upper", "1st", "a b", 'a"b', "a;b", "a.b", "ä", "x" * 49, "pg_queue", "a\n", None, 7],
)
def test_a_schema_name_that_could_carry_sql_is_refused(schema: Any) -> None:
    with pytest.raises(BadSchemaName):
        calls.queue_stats(schema)


@pytest.mark.parametrize("schema", ["lonnymq", "_q", "q2", "x" * 48])
def test_an_ordinary_schema_name_is_taken(schema: str) -> None:
    assert f"{schema}.queue_stats()" in calls.queue_stats(schema).sql


def test_durations_and_moments_may_be_said_as_people_think_of_them() -> None:
    delayed = calls.message_create("q", NewMessage(b"x", "a", delay_ms=timedelta(seconds=1.5)))
    absolute = calls.message_create(
        "q", NewMessage(b"x", "a", dequeue_at=datetime(1970, 1, 2, tzinfo=UTC))
    )
    assert delayed.parameters == ("a", b"x", None, 1500, None, None, None, None)
    assert absolute.parameters[2] == 86_400_000


def test_a_timedelta_among_options_is_sent_in_milliseconds() -> None:
    options = {
        "min_interval_ms": timedelta(seconds=1),
        "retry_delays_ms": [timedelta(minutes=1), 5],
    }
    assert calls.channel_set("q", "a", options).parameters[1] == (
        '{"min_interval_ms": 1000, "retry_delays_ms": [60000, 5]}'
    )


def test_a_batch_is_sent_as_columns_and_bare_bytes_go_to_the_batchs_channel() -> None:
    messages: list[bytes | NewMessage] = [
        b"1",
        NewMessage(b"2", "b", kind="k", headers={"h": 1}),
    ]
    channels, contents, *_, kinds, headers, _ = calls.message_create_many(
        "q", messages, channel="a"
    ).parameters
    assert (channels, contents, kinds, headers) == (
        ["a", "b"],
        [b"1", b"2"],
        [None, "k"],
        [None, '{"h": 1}'],
    )


def test_what_no_message_of_a_batch_says_is_not_sent() -> None:
    sent = calls.message_create_many("q", [b"1", NewMessage(b"2", kind="k")], channel="a")
    assert sent.parameters == (["a", "a"], [b"1", b"2"], None, None, None, [None, "k"], None, None)


def test_an_empty_batch_is_sent_as_empty_columns() -> None:
    assert calls.message_create_many("q", [], channel="a").parameters == ([],) * 8


@pytest.mark.parametrize(
    ("row", "result"),
    [
        (("created", 1, None, None, None), Created(1)),
        (("duplicate", 2, None, None, None), Duplicate(2)),
        (("dropped", None, "full", 5, 5), Dropped("full", 5, 5)),
    ],
)
def test_what_became_of_a_message_is_a_value(row: tuple[object, ...], result: object) -> None:
    assert every_call()["message_create"].parse([row]) == result
    assert every_call()["message_create_many"].parse([row]) == [result]


def test_a_refusal_is_raised_by_one_create_and_is_a_value_among_many() -> None:
    full, retiring = ("rejected", None, "full", 5, 5), ("rejected", None, "retiring", None, None)
    with pytest.raises(ChannelFull, match="'a' is full: 5 of 5"):
        every_call()["message_create"].parse([full])
    with pytest.raises(ChannelRetiring):
        every_call()["message_create"].parse([retiring])
    assert every_call()["message_create_many"].parse([full]) == [Rejected("full", 5, 5)]


def test_a_dequeue_keeps_the_cursor_of_its_last_row() -> None:
    token = uuid4()
    rows = [
        (
            "leased",
            None,
            [n],
            n,
            token,
            "a",
            b"x",
            None,
            1,
            None,
            '{"h": 1}' if n else None,
            None,
            1,
            2,
            3,
            4,
        )
        for n in range(2)
    ]
    dequeued = every_call()["message_dequeue"].parse(rows)
    assert dequeued.cursor == [1]
    assert [message.headers for message in dequeued.batch] == [None, {"h": 1}]
    assert dequeued.batch.reason is None


def test_an_empty_dequeue_is_false_and_says_why_and_when_to_look_again() -> None:
    dequeued = every_call()["message_dequeue"].parse([("empty", 99, [3], *[None] * 13)])
    assert not dequeued.batch
    assert (dequeued.batch.reason, dequeued.batch.retry_at, dequeued.cursor) == ("empty", 99, [3])
