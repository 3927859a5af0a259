"""The builders: what they send, and what they make of the rows."""

import inspect
import re
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest

from lonnymq import calls
from lonnymq.calls import NewMessage
from lonnymq.errors import BadSchemaName, ChannelFull, ChannelReleasing
from lonnymq.results import Created, Dropped, Duplicate, Lease, LeasedMessage, Refused

LEASE = Lease(7, UUID(int=9))


def every_call(schema: str = "lonnymq") -> dict[str, calls.Call[object]]:
    later = {"delay_ms": 5, "dequeue_at": None, "state": b"s"}
    failure = {"error": "e", "retry_ms": None, "dead": False}
    dead = {"channel": "a", "kind": None, "limit": 5}
    dequeue = {"limit": 1, "lease_ms": 1, "worker": None, "cursor": None}
    schedule = {
        "channel": "a", "cron": None, "every_ms": 5000, "zone": "UTC", "content": b"", "kind": None,
        "headers": None, "missed": "once",
    }  # fmt: skip
    tick = {"version": 1, "upto_at": 5, "ticks": [5], "next_at": 6}
    worker = {"concurrency": 1, "running": 0, "stopping": False, "about": None, "again_ms": 5}
    return {
        "channel_set": calls.channel_set(schema, "a", {"weight": 2}),
        "channel_pause": calls.channel_pause(schema, "a"),
        "channel_resume": calls.channel_resume(schema, "a"),
        "channel_release": calls.channel_release(schema, "a"),
        "channel_stats": calls.channel_stats(schema, None, after=None, limit=10),
        "channel_active": calls.channel_active(schema, ["a"], limit=10, count=10),
        "channel_permitted": calls.channel_permitted(schema, "a"),
        "message_create": calls.message_create(schema, NewMessage(b"x", "a")),
        "message_create_many": calls.message_create_many(schema, [b"x"], channel="a"),
        "message_announce": calls.message_announce(schema, ["a"]),
        "message_dequeue": calls.message_dequeue(schema, LeasedMessage, **dequeue),
        "message_heartbeat": calls.message_heartbeat(schema, LEASE, lease_ms=5),
        "message_heartbeat_many": calls.message_heartbeat_many(schema, [LEASE], lease_ms=5),
        "message_complete": calls.message_complete(schema, LEASE),
        "message_complete_many": calls.message_complete_many(schema, [LEASE]),
        "message_defer": calls.message_defer(schema, LEASE, **later),
        "message_defer_many": calls.message_defer_many(schema, [LEASE], **later),
        "message_fail": calls.message_fail(schema, LEASE, **failure),
        "message_fail_many": calls.message_fail_many(schema, [LEASE], **failure),
        "message_cancel": calls.message_cancel(schema, 7),
        "message_cancel_many": calls.message_cancel_many(schema, [7]),
        "message_purge": calls.message_purge(schema, "a", limit=5),
        "message_peek": calls.message_peek(schema, "a", limit=5),
        "message_explain": calls.message_explain(schema, 7),
        "dead_list": calls.dead_list(schema, None, kind=None, after=None, limit=5),
        "dead_ids": calls.dead_ids(schema, None, kind=None, after=None, limit=5),
        "dead_redrive": calls.dead_redrive(schema, None, **dead),
        "dead_purge": calls.dead_purge(schema, [7], **dead),
        "schedule_set": calls.schedule_set(schema, "nightly", **schedule),
        "schedule_list": calls.schedule_list(schema, after=None, limit=5),
        "schedule_due": calls.schedule_due(schema, within_ms=5, limit=5),
        "schedule_tick": calls.schedule_tick(schema, "nightly", **tick),
        "schedule_run": calls.schedule_run(schema, "nightly"),
        "schedule_pause": calls.schedule_pause(schema, "nightly"),
        "schedule_resume": calls.schedule_resume(schema, "nightly"),
        "schedule_delete": calls.schedule_delete(schema, "nightly"),
        "worker_seen": calls.worker_seen(schema, "w", **worker),
        "worker_gone": calls.worker_gone(schema, "w"),
        "worker_list": calls.worker_list(schema, after=None, limit=5),
        "producer_confine": calls.producer_confine(
            schema, "somebody", channels=["a"], prefixes=["b/"]
        ),
        "producer_free": calls.producer_free(schema, "somebody"),
        "producer_list": calls.producer_list(schema),
        "epoch": calls.epoch(schema),
        "queue_installed": calls.queue_installed(schema),
        "queue_set": calls.queue_set(schema, {"history": "off"}),
        "queue_stats": calls.queue_stats(schema),
        "queue_sweep": calls.queue_sweep(schema, limit=5),
        "queue_check": calls.queue_check(schema),
        "queue_repair": calls.queue_repair(schema),
        "history_cut": calls.history_cut(schema, 0, rows=5, parts=2),
        "history_forget": calls.history_forget(schema, "lake"),
        "history_lag": calls.history_lag(schema, 0, most=5),
        "history_resume": calls.history_resume(schema, "lake", 5),
        "history_reader_list": calls.history_reader_list(schema),
        "channel_policy_list": calls.channel_policy_list(schema, after=None, limit=5),
        "history_horizon": calls.history_horizon(schema, 0, rows=5),
        "history_read": calls.history_read(schema, 0, upto=None),
        "history_confirm": calls.history_confirm(schema, "lake", upto=5),
        "history_prune": calls.history_prune(schema),
    }


def test_every_builder_is_in_the_list_above() -> None:
    helpers = {"schema_name", "channel_name"}
    builders = {
        name for name in calls.__all__ if inspect.isfunction(getattr(calls, name))
    } - helpers
    assert builders == set(every_call())


@pytest.mark.parametrize("name", every_call())
def test_a_call_names_its_function_and_casts_every_value(name: str) -> None:
    call = every_call("other")[name]
    assert f"other.{name.removesuffix('_many')}" in call.sql
    assert len(re.findall(r"%s::", call.sql)) == call.sql.count("%") == len(call.parameters)


@pytest.mark.parametrize(
    "schema",
    ["", "Upper", "1st", "a b", 'a"b', "a;b", "a.b", "ä", "x" * 49, "pg_queue", "a\n", None, 7],
)
def test_a_schema_name_that_could_carry_sql_is_refused(schema: object) -> None:
    with pytest.raises(BadSchemaName):
        calls.queue_stats(schema)  # type: ignore[arg-type]


@pytest.mark.parametrize("schema", ["lonnymq", "_q", "q2", "x" * 48])
def test_an_ordinary_schema_name_is_taken(schema: str) -> None:
    assert f"{schema}.queue_stats()" in calls.queue_stats(schema).sql


def test_durations_and_moments_may_be_said_as_people_think_of_them() -> None:
    delayed = calls.message_create("q", NewMessage(b"x", "a", delay_ms=timedelta(seconds=1.5)))
    absolute = calls.message_create(
        "q", NewMessage(b"x", "a", dequeue_at=datetime(1970, 1, 2, tzinfo=UTC))
    )
    assert delayed.parameters == ("a", b"x", None, 1500, None, None, None)
    assert absolute.parameters[2] == 86_400_000


def test_a_timedelta_among_options_is_sent_in_milliseconds() -> None:
    options = {
        "release_interval_ms": timedelta(seconds=1),
        "retry_delays_ms": [timedelta(minutes=1), 5],
    }
    assert calls.channel_set("q", "a", options).parameters[1] == (
        '{"release_interval_ms": 1000, "retry_delays_ms": [60000, 5]}'
    )


def test_a_batch_is_sent_as_columns_and_bare_bytes_go_to_the_batchs_channel() -> None:
    messages = [b"1", NewMessage(b"2", "b", kind="k", headers={"h": 1})]
    channels, contents, *_, kinds, headers = calls.message_create_many(
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
    assert sent.parameters == (["a", "a"], [b"1", b"2"], None, None, None, [None, "k"], None)


def test_an_empty_batch_is_sent_as_empty_columns() -> None:
    assert calls.message_create_many("q", [], channel="a").parameters == ([],) * 7


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
    full, releasing = ("refused", None, "full", 5, 5), ("refused", None, "releasing", None, None)
    with pytest.raises(ChannelFull, match="'a' is full: 5 of 5"):
        every_call()["message_create"].parse([full])
    with pytest.raises(ChannelReleasing):
        every_call()["message_create"].parse([releasing])
    assert every_call()["message_create_many"].parse([full]) == [Refused("full", 5, 5)]


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
    assert dequeued.batch.why is None


def test_an_empty_dequeue_is_false_and_says_why_and_when_to_look_again() -> None:
    dequeued = every_call()["message_dequeue"].parse([("empty", 99, [3], *[None] * 13)])
    assert not dequeued.batch
    assert (dequeued.batch.why, dequeued.batch.look_at, dequeued.cursor) == ("empty", 99, [3])
