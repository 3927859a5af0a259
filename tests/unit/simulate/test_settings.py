"""What is to be tried, as it is written on a command line."""

import pytest

from lonnymq.errors import InvalidArgument
from lonnymq.simulate import Limits, Scenario, Setting, setting


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("acme.max_concurrency=4", Setting("acme", "max_concurrency", 4)),
        ("*.release_interval_ms=50", Setting("*", "release_interval_ms", 50)),
        ("acme.eu.weight=3", Setting("acme.eu", "weight", 3)),
        ("a=b.burst=2", Setting("a=b", "burst", 2)),
        ("acme.max_concurrency=none", Setting("acme", "max_concurrency", None)),
    ],
)
def test_a_setting_is_a_channel_an_option_and_a_value(text, expected) -> None:
    assert setting(text) == expected
    assert setting(str(expected)) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("", "acme", "acme=4", "max_concurrency=4", ".weight=1", "acme.speed=4"),
        *("acme.weight=none", "acme.weight=0", "acme.weight=-1", "acme.weight=1.5"),
        *("acme.weight=many", "acme.burst="),
    ],
)
def test_what_is_no_setting_is_refused_with_what_to_write(text) -> None:
    with pytest.raises(InvalidArgument, match=r"channel\.option=value|there are|whole number"):
        setting(text)


def test_a_setting_for_all_changes_each_and_a_later_one_has_the_last_word() -> None:
    known = Scenario(workers=4, limits={"acme": Limits(weight=3)})
    tried = known.with_settings(
        [setting("*.max_concurrency=8"), setting("acme.max_concurrency=2"), setting("new.weight=5")]
    )
    assert tried.otherwise == Limits(max_concurrency=8)
    assert tried.limits["acme"] == Limits(max_concurrency=2, weight=3)
    assert tried.limits["new"] == Limits(max_concurrency=8, weight=5)
    assert known.limits["acme"] == Limits(weight=3)
