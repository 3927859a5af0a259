"""`lonnymq simulate`: a workload that is made up, under other limits and workers."""

import pytest

from commands import run

SMALL = ("simulate", "--synthetic", "--messages", 3000, "--tenants", 10)


def test_waits_are_shown_with_the_settings_and_without() -> None:
    ran = run(*SMALL, "--noisy", 0.6, "--workers", "4,8", "--set", "tenant-01.max_concurrency=1")
    assert ran.code == 0
    assert "tenant-01.max_concurrency=1" in ran.out
    assert "3,000" in ran.out or "3000" in ran.out


def test_as_json_every_tenant_is_told_of_for_every_scenario() -> None:
    ran = run(*SMALL, "--workers", "4,8", "--set", "*.max_concurrency=1", "--json")
    assert ran.code == 0
    scenarios = ran.json["scenarios"]
    assert [(each["workers"], each["set"]) for each in scenarios] == [
        (4, []),
        (4, ["*.max_concurrency=1"]),
        (8, []),
        (8, ["*.max_concurrency=1"]),
    ]
    assert all(len(each["tenants"]) == 10 for each in scenarios)
    assert all(each["all"]["messages"] == 3000 for each in scenarios)


def test_the_same_seed_gives_the_same_answer() -> None:
    first, again, other = (run(*SMALL, "--json", "--seed", seed).json for seed in (3, 3, 4))
    assert first == again
    assert first != other


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["simulate"], "--synthetic"),
        ([*SMALL, "--set", "acme"], "channel.option=value"),
        ([*SMALL, "--set", "acme.speed=9"], "max_concurrency"),
        ([*SMALL, "--workers", "few"], "8,16,32"),
        ([*SMALL, "--workers", "0"], "8,16,32"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_what_to_write(arguments, said) -> None:
    ran = run(*arguments)
    assert ran.code != 0
    assert said in ran.err
