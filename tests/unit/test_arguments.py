"""Bad input is rejected before anything is sent, and the rejection says what is allowed."""

from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from lonnymq import NewMessage
from lonnymq.client import calls
from lonnymq.client.arguments import MAX_CONTENT_BYTES, error_text
from lonnymq.client.call import Call
from lonnymq.errors import InvalidArgument, TooLarge
from lonnymq.results import Lease


def create(**values: Any) -> Call[Any]:
    return calls.message_create(
        "lonnymq", NewMessage(**{"content": b"x", "channel": "acme", **values})
    )


@pytest.mark.parametrize(
    ("values", "allowed"),
    [
        ({"content": "text"}, r"text\.encode\(\)"),
        ({"content": None}, "bytes, bytearray or memoryview"),
        ({"content": 7}, "bytes, bytearray or memoryview"),
        ({"delay_ms": float("nan")}, "whole number of milliseconds"),
        ({"delay_ms": float("inf")}, "whole number of milliseconds"),
        ({"delay_ms": 1.5}, "whole number of milliseconds"),
        ({"delay_ms": True}, "whole number of milliseconds"),
        ({"delay_ms": "1"}, "whole number of milliseconds"),
        ({"delay_ms": -1}, "zero or more"),
        ({"delay_ms": timedelta(seconds=-1)}, "zero or more"),
        ({"delay_ms": 2**63}, "zero or more"),
        ({"dequeue_at": datetime(2030, 1, 1)}, "with a time zone"),
        ({"dequeue_at": 1.0}, "epoch milliseconds"),
        ({"dequeue_at": 10**5000}, "epoch milliseconds"),
        ({"dequeue_at": 1, "delay_ms": 1}, "not both"),
        ({"channel": ""}, "1 to 255 bytes"),
        ({"channel": "x" * 10_000}, "1 to 255 bytes of UTF-8, not 10000"),
        ({"channel": "ä" * 128}, "1 to 255 bytes of UTF-8, not 256"),
        ({"channel": None}, "must be a str"),
        ({"channel": b"acme"}, "must be a str"),
        ({"key": "a\0b"}, "NUL"),
        ({"kind": "a\0b"}, "NUL"),
        ({"key": "\ud800"}, "lone surrogates"),
        ({"headers": []}, "mapping"),
        ({"headers": {"x": float("nan")}}, "JSON"),
        ({"headers": {"x": object()}}, "JSON"),
        ({"headers": {"x": "\0"}}, "NUL"),
        ({"headers": {"x": "\ud800"}}, "JSON"),
    ],
)
def test_bad_input_is_refused_and_told_what_is_allowed(
    values: dict[str, Any], allowed: str
) -> None:
    with pytest.raises(InvalidArgument, match=allowed):
        create(**values)


@pytest.mark.parametrize("kind", [bytes, bytearray, lambda size: memoryview(bytearray(size))])
def test_content_over_64_mib_is_refused_before_it_is_sent(kind: Any) -> None:
    with pytest.raises(TooLarge, match=str(MAX_CONTENT_BYTES)):
        create(content=kind(MAX_CONTENT_BYTES + 1))


def test_state_over_1_mib_is_refused() -> None:
    lease, state = Lease(1, uuid4()), b"x" * (1024 * 1024 + 1)
    with pytest.raises(TooLarge):
        calls.message_defer("lonnymq", lease, delay_ms=None, dequeue_at=None, state=state)


@pytest.mark.parametrize("value", [bytearray(b"ab"), memoryview(b"ab"), b"ab"])
def test_all_kinds_of_bytes_are_taken(value: Any) -> None:
    assert create(content=value).parameters[1] == b"ab"


def test_a_backslash_before_u0000_in_headers_is_ordinary_text() -> None:
    assert create(headers={"x": "\\u0000"}).parameters[6] == '{"x": "\\\\u0000"}'


def test_urgent_moments_before_1970_are_taken() -> None:
    assert create(dequeue_at=-5).parameters[2] == -5


@pytest.mark.parametrize("limit", [1.0, True, "1", None, float("nan"), 2**31])
def test_a_limit_that_is_no_whole_number_is_refused(limit: Any) -> None:
    with pytest.raises(InvalidArgument, match="limit must be a whole number"):
        calls.message_peek("lonnymq", "acme", limit=limit)


def test_a_token_that_is_no_uuid_is_refused() -> None:
    no_token: Any = "abc"
    with pytest.raises(InvalidArgument, match="token must be a UUID"):
        calls.message_complete("lonnymq", Lease(1, no_token))


def test_any_failure_can_be_reported_whatever_its_text_contains() -> None:
    assert error_text(ValueError("a\0\ud800")) == "ValueError: a\N{REPLACEMENT CHARACTER}?"
    with pytest.raises(InvalidArgument, match="a str or an exception"):
        error_text(7)
