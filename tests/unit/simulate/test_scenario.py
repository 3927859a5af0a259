"""What is to be tried, as it is written on a command line."""

import pytest

from lonnymq.errors import InvalidArgument
from lonnymq.simulate import Limits, Scenario, Setting, parse_setting
from lonnymq.simulate.scenario import check_channels, parse_settings


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("acme.max_concurrency=4", Setting("acme", "max_concurrency", 4)),
        ("*.min_interval_ms=50", Setting(None, "min_interval_ms", 50)),
        (r"\*.burst=3", Setting("*", "burst", 3)),
        (r"\\*.burst=3", Setting(r"\*", "burst", 3)),
        (r"a\b.burst=3", Setting(r"a\b", "burst", 3)),
        ("*.*.weight=2", Setting("*.*", "weight", 2)),
        ("Bücher 書店 🦀.weight=2", Setting("Bücher 書店 🦀", "weight", 2)),
        (" a,b .weight= 2 ", Setting(" a,b ", "weight", 2)),
        ("a.weight=3.weight=2", Setting("a.weight=3", "weight", 2)),
        ("acme.eu.weight=3", Setting("acme.eu", "weight", 3)),
        ("a=b.burst=2", Setting("a=b", "burst", 2)),
        ("acme.max_concurrency=none", Setting("acme", "max_concurrency", None)),
        ("max_concurrency=4", Setting(None, "max_concurrency", 4, is_queue=True)),
        ("max_concurrency=none", Setting(None, "max_concurrency", None, is_queue=True)),
    ],
)
def test_a_setting_is_a_channel_an_option_and_a_value(text, expected) -> None:
    assert parse_setting(text) == expected
    assert parse_setting(str(expected)) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("", "acme", "acme=4", "weight=4", ".weight=1", "acme.speed=4", "max_concurrency=0"),
        *("acme.weight=none", "acme.weight=0", "acme.weight=-1", "acme.weight=1.5"),
        *("acme.weight=many", "acme.burst=", "acme.max_concurrency=", "acme.weight=1001"),
        *("acme.burst=1000001", "acme.max_concurrency=2147483648", "acme.weight=२"),
        *("acme.weight=1,,2", "acme.min_interval_ms=99999999999999999999999"),
    ],
)
def test_what_is_no_setting_is_refused_with_what_to_write(text) -> None:
    with pytest.raises(InvalidArgument, match=r"channel\.option=value|there are|whole number"):
        parse_setting(text)


def test_a_setting_for_all_changes_each_and_a_later_one_has_the_last_word() -> None:
    known = Scenario(workers=4, limits={"acme": Limits(weight=3)})
    tried = known.with_settings(
        [
            parse_setting("*.max_concurrency=8"),
            parse_setting("acme.max_concurrency=2"),
            parse_setting("new.weight=5"),
        ]
    )
    assert tried.default_limits == Limits(max_concurrency=8)
    assert tried.limits["acme"] == Limits(max_concurrency=2, weight=3)
    assert tried.limits["new"] == Limits(max_concurrency=8, weight=5)
    assert known.limits["acme"] == Limits(weight=3)


def test_the_limit_of_the_whole_queue_is_set_without_a_channel() -> None:
    known = Scenario(workers=4, max_concurrency=2)
    assert known.with_settings([parse_setting("max_concurrency=3")]) == Scenario(
        4, max_concurrency=3
    )
    assert known.with_settings([parse_setting("max_concurrency=none")]) == Scenario(4)
    check_channels([parse_setting("max_concurrency=3")], ["acme"])


def test_several_values_are_settings_of_their_own_and_one_is_wanted_where_one_is_asked_for() -> (
    None
):
    assert parse_settings("a,b.max_concurrency=2,none") == [
        Setting("a,b", "max_concurrency", 2),
        Setting("a,b", "max_concurrency", None),
    ]
    with pytest.raises(InvalidArgument, match="2 values"):
        parse_setting("acme.weight=1,2")


def test_a_channel_that_is_not_there_is_refused_with_those_that_are_like_it() -> None:
    known = ["acme", "globex", "Bücher"]
    check_channels([parse_setting("acme.weight=2"), parse_setting("*.weight=2")], known)
    with pytest.raises(InvalidArgument, match="did you mean 'acme'"):
        check_channels([parse_setting("acne.weight=2")], known)
    with pytest.raises(InvalidArgument, match="did you mean 'Bücher'"):
        check_channels([parse_setting("Bucher.weight=2")], known)
    with pytest.raises(InvalidArgument, match="there are 3: 'Bücher', 'acme', 'globex'"):
        check_channels([parse_setting("zzz.weight=2")], known)
    with pytest.raises(InvalidArgument, match="there is none"):
        check_channels([parse_setting("zzz.weight=2")], [])
