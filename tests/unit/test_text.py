"""Durations, counts, shares and times as text."""

import pytest

from lonnymq.text import (
    format_buckets,
    format_count,
    format_duration,
    format_ratio,
    format_share,
    format_time,
    shorten,
)


@pytest.mark.parametrize(
    ("ms", "text"),
    [(None, "-"), (0, "0 ms"), (999, "999 ms"), (1_000, "1 s"), (1_500, "1.5 s"), (59_000, "59 s"),
     (90_000, "1 min 30 s"), (3_600_000, "1 h"), (90_061_000, "1 d 1 h"), (-1_500, "-1.5 s")],
)  # fmt: skip
def test_a_duration_is_written_in_its_two_largest_units(ms: int | None, text: str) -> None:
    assert format_duration(ms) == text


def test_counts_shares_and_times_are_written_for_people() -> None:
    assert [format_share(each) for each in (0, 0.0005, 0.031, 0.05, 0.5)] == [
        "0%",
        "less than 0.1%",
        "3.1%",
        "5%",
        "50%",
    ]
    assert [format_count(1, "message"), format_count(1200, "message"), format_ratio(2.34), format_ratio(1234)] == [
        "1 message", "1,200 messages", "2.3 times", "1,234 times",
    ]  # fmt: skip
    assert [format_buckets(2, 3_600_000), format_buckets(3, 600_000), format_buckets(1, 1_000)] == [
        "2 hours", "3 intervals of 10 min", "1 second",
    ]  # fmt: skip
    assert format_time(1_893_456_000_000, seconds=True) == "1 Jan 2030, 00:00:00"


def test_a_name_is_cut_to_so_many_letters() -> None:
    assert shorten("abcdef", 6) == "abcdef"
    assert shorten("abcdefg", 6) == "abcdef…"
    assert shorten("書店書店", 6) == "書店書…"  # each as wide as two
    assert shorten("\n", 6) == "\\n"
