"""Texts are data: stored as they are, or rejected with a word about why, wherever they go in."""

import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import sql

from lonnymq import NewMessage, Queue
from lonnymq.errors import InvalidArgument, LonnyMQError, TooLarge

AWKWARD = [
    "'", '"', "$$", "$sql_text$", "$install$", "'); drop schema lonnymq cascade; --", "\\", "\\'", "%s", "%", "{}",
    "null", "*", ":name", "lonnymq", "pg_catalog", "שלום", "\u202eabc\u202c", "👩\u200d👩\u200d👧", " ", "\t\r\n",
    "\ufeff", "\u0085", "a\0b", "\0", "\ud800", "\udfff\ud800", "x" * 63, "x" * 64, "x" * 65, "x" * 255, "x" * 256,
    "é" * 127, "é" * 128, "\x1b[31m", "../../etc/passwd", "<script>alert(1)</script>",
]  # fmt: skip
TEXTS = (
    st.sampled_from(AWKWARD) | st.text(max_size=100) | st.text(alphabet="'\"$\\%{};-", max_size=20)
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
fuzzing = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def fuzzed(server_18: Any) -> Iterator[Queue]:
    with server_18.database() as (dsn, _), Queue(dsn) as queue:
        yield queue


def is_name(text: str, most: int = 255) -> bool:
    return is_text(text) and 1 <= len(text.encode()) <= most


def is_text(text: str) -> bool:
    try:
        return "\0" not in text and bool(text.encode() or True)
    except UnicodeEncodeError:
        return False


def texts_in(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for each in value:
                yield from texts_in(each)
        case dict():
            for key, each in value.items():
                yield key
                yield from texts_in(each)


@fuzzing
@given(headers=st.dictionaries(TEXTS, JSON, max_size=4))
def test_headers_come_out_as_they_went_in_or_do_not_go_in(fuzzed: Queue, headers: Any) -> None:
    if all(map(is_text, texts_in(headers))):
        if len(json.dumps(headers)) > 10_000:
            return
        fuzzed.create("acme", b"x", headers=headers)
        [message] = fuzzed.dequeue()
        assert message.headers == headers
        message.complete()
        return
    with pytest.raises(InvalidArgument, match="headers"):
        fuzzed.create("acme", b"x", headers=headers)
    assert not fuzzed.dequeue()


@fuzzing
@given(
    channels=st.lists(TEXTS, min_size=1, max_size=4), how=st.sampled_from(["create_many", "copy"])
)
def test_a_batch_is_stored_whole_or_not_at_all(
    fuzzed: Queue, channels: list[str], how: str
) -> None:
    messages = [NewMessage(each.encode(errors="replace"), channel=each) for each in channels]
    if not all(map(is_name, channels)):
        with pytest.raises(InvalidArgument):
            getattr(fuzzed, how)(messages)
        assert not fuzzed.dequeue(limit=10)
        return
    getattr(fuzzed, how)(messages)
    taken = fuzzed.dequeue(limit=10)
    assert sorted(each.channel for each in taken) == sorted(channels)
    assert all(each.channel.encode() == each.content for each in taken)
    for each in taken:
        each.complete()


@fuzzing
@given(output=TEXTS | st.text(max_size=3000))
def test_any_failure_can_be_told_of_and_what_can_be_stored_is_verbatim(
    fuzzed: Queue, output: str
) -> None:
    fuzzed.create("acme", b"x")
    [message] = fuzzed.dequeue()
    assert message.fail(output, dead=True) == "dead"
    [dead] = fuzzed.dead_list()
    assert dead.error == (output if is_text(output) else dead.error)
    fuzzed.dead_purge([dead.id])


@fuzzing
@given(name=TEXTS, channel=TEXTS)
def test_schedules_and_workers_are_named_as_they_like_or_not_at_all(
    fuzzed: Queue, name: str, channel: str
) -> None:
    if is_name(name, 200) and is_name(channel):
        fuzzed.schedule_set(name, channel=channel, every_ms=1000)
        assert [(each.name, each.channel) for each in fuzzed.schedule_list()] == [(name, channel)]
        assert fuzzed.schedule_delete(name) == "deleted"
        fuzzed.worker_seen(name, concurrency=1)
        assert [each.name for each in fuzzed.worker_list()] == [name]
        assert fuzzed.worker_gone(name) == "gone"
        return
    with pytest.raises(InvalidArgument):
        fuzzed.schedule_set(name, channel=channel, every_ms=1000)
    assert fuzzed.schedule_list() == []


@fuzzing
@given(channel=TEXTS)
def test_a_channel_is_set_shown_and_told_apart_by_its_whole_name(
    fuzzed: Queue, channel: str
) -> None:
    if not is_name(channel):
        with pytest.raises(LonnyMQError):
            fuzzed.channel_set(channel, weight=2)
        return
    fuzzed.channel_set(channel, weight=2)
    assert [each.channel for each in fuzzed.channel_stats(channel)] == [channel]
    assert fuzzed.channel_pause(channel) == "paused"
    assert fuzzed.channel_resume(channel) == "resumed"


ROLES = st.sampled_from(AWKWARD) | st.text(min_size=1, max_size=20)


@fuzzing
@given(role=ROLES, channel=TEXTS)
def test_a_role_of_any_name_can_be_confined(
    root: psycopg.Connection, role: str, channel: str
) -> None:
    possible = (
        is_name(role, 63) and not role.startswith("pg_") and role.lower() not in ("public", "none")
    )
    if not possible or not is_name(channel):
        return
    queue = Queue(root)
    root.execute(sql.SQL("create role {}").format(sql.Identifier(role)))
    try:
        assert queue.producer_restrict(role, channels=[channel], prefixes=[channel]) == "restricted"
        [restricted] = queue.producer_list()
        assert (restricted.role, restricted.channels, restricted.prefixes) == (
            role,
            [channel],
            [channel],
        )
        assert queue.producer_unrestrict(role) == "unrestricted"
    finally:
        root.execute(sql.SQL("drop role {}").format(sql.Identifier(role)))


@pytest.mark.parametrize(("size", "fits"), [(1024 * 1024, True), (1024 * 1024 + 1, False)])
def test_a_state_is_as_large_as_it_may_be_and_no_larger(
    fuzzed: Queue, size: int, fits: bool
) -> None:
    fuzzed.create("acme", b"x")
    [message] = fuzzed.dequeue()
    if fits:
        assert message.defer(state=bytes(size)) == "deferred"
        [message] = fuzzed.dequeue()
        assert len(message.state or b"") == size
    else:
        with pytest.raises(TooLarge):
            message.defer(state=bytes(size))
    assert message.complete() == "completed"
