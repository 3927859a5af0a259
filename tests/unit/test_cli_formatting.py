"""Durations, times and counts as people write and read them."""

from datetime import UTC, datetime

import pytest

from lonnymq.cli.options import parse_time
from lonnymq.cli.output import (
    content_fields,
    escape_controls,
    format_at_least,
    format_content,
    format_number,
    format_timestamp,
)
from lonnymq.text import parse_duration


@pytest.mark.parametrize(
    ("text", "ms"),
    [("250ms", 250), ("1.5s", 1500), ("10m", 600_000), ("10min", 600_000), ("2h", 7_200_000),
     ("1d", 86_400_000), ("1h30m", 5_400_000), ("1h 30m", 5_400_000), ("0", 0), ("0s", 0)],
)  # fmt: skip
def test_a_duration_is_read_as_people_write_it(text: str, ms: int) -> None:
    assert parse_duration(text) == ms


@pytest.mark.parametrize("text", ["", "5", "s", "1x", "-1s", "1s,2s", "1e3s", "soon"])
def test_what_is_no_duration_is_refused_with_examples(text: str) -> None:
    with pytest.raises(ValueError, match="write 250ms"):
        parse_duration(text)


def test_a_time_is_read_with_its_zone_or_as_a_number() -> None:
    assert parse_time("2030-01-31T08:00:00+00:00") == datetime(2030, 1, 31, 8, tzinfo=UTC)
    assert parse_time("-5") == -5
    for wrong in ("2030-01-31T08:00:00", "tomorrow", ""):
        with pytest.raises(ValueError, match="is not a time"):
            parse_time(wrong)


@pytest.mark.parametrize(
    ("ms", "text"),
    [(0, "1970-01-01 00:00:00 UTC"), (-1, "-1"), (2**63 - 1, str(2**63 - 1)), (None, "-")],
)
def test_a_time_outside_of_the_calendar_is_a_number(ms: int | None, text: str) -> None:
    assert format_timestamp(ms) == text


def test_counts_say_when_they_stopped() -> None:
    assert (format_number(10_000, exact=False), format_number(None)) == ("10,000+", "-")
    assert format_at_least(1, "message", exact=True) == "1 message"
    assert format_at_least(10_000, "message", exact=False) == "10,000 messages or more"


def test_control_characters_are_spelled_out() -> None:
    assert escape_controls("a\x1b[31m\nü\u202e") == "a\\x1b[31m\\nü\\u202e"


@pytest.mark.parametrize(
    ("content", "text"),
    [(b"abc", "abc"), (b"\xff", "0xff"), (b"a" * 300, "a" * 200 + " … (300 bytes)"),
     ("ä".encode() * 150, "ä" * 100 + " … (300 bytes)"), (b"x" + "ä".encode() * 150, "x" + "ä" * 99 + " … (301 bytes)"),
     (None, None)],
)  # fmt: skip
def test_a_content_is_shown_as_text_if_it_is_text(content: bytes | None, text: str | None) -> None:
    assert format_content(content) == text


def test_a_content_in_json_is_text_or_base64() -> None:
    assert content_fields("content", b"x") == {"content": "x", "content_base64": None}
    assert content_fields("content", b"\xff") == {"content": None, "content_base64": "/w=="}
    assert content_fields("content", None) == {"content": None, "content_base64": None}
