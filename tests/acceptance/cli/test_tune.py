"""`lonnymq tune`: objectives become settings, which are applied with an entry in the audit log and taken back."""

from pathlib import Path
from typing import Any

import pytest

import lonnymq
from commands import run
from lonnymq.client import calls

GOLD = ("--class", "gold=tenant-2,tenant-3", "--objective", "gold: p95 wait <= 130ms")


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Made-up history in a lake: a noisy tenant and eight busy workers."""
    place = str(tmp_path_factory.mktemp("lake"))
    made = ("--noisy", 0.5, "--load", 0.95, "--workers", 8, "--seed", 3)
    ran = run(
        "simulate", "--synthetic", "--messages", 12000, "--tenants", 6, *made, "--lake", place
    )
    assert ran.code == 0, ran.err
    return place


def asked(lake: str, *more: object) -> tuple[object, ...]:
    return ("tune", "--lake", lake, "--spark", "never", "--margin", 0.2, *GOLD, *more)


def test_settings_are_found_applied_with_an_audit_entry_and_taken_back(
    lake: str, dsn_18: str
) -> None:
    with lonnymq.Queue(dsn_18) as queue:
        queue.channel_set("tenant-1", weight=3, max_size=100)
        ran = run(*asked(lake, "--apply", "--yes", "--json"), dsn=dsn_18)
        assert ran.code == 0, ran.err
        answer = ran.json
        assert (answer["met"], answer["held"], answer["workers"]) == (True, True, 8)
        assert answer["commands"]
        limits = {each.channel: each for each in queue.channel_policy_list()}
        for channel, options in answer["settings"].items():
            assert {key: getattr(limits[channel], key) for key in options} == options
        assert limits["tenant-1"].max_size == 100

        [entry] = queue._run(calls.audit_list(queue.schema, "tune"))
        assert entry.parameters is not None
        assert entry.parameters["set"] == answer["settings"]
        assert entry.parameters["objectives"] == ["gold: p95 wait <= 130 ms"]

        ran = run("tune", "--undo", "--yes", dsn=dsn_18)
        assert ran.code == 0, ran.err
        limits = {each.channel: each for each in queue.channel_policy_list()}
        assert (limits["tenant-1"].weight, limits["tenant-1"].max_concurrency) == (3, None)
        again = run("tune", "--undo", "--yes", dsn=dsn_18)
        assert again.code == 1
        assert "There are no applied settings to take back." in again.err


def test_settings_that_somebody_changed_since_are_not_taken_back(lake: str, dsn_18: str) -> None:
    with lonnymq.Queue(dsn_18) as queue:
        ran = run(*asked(lake, "--apply", "--yes", "--json"), dsn=dsn_18)
        channel, options = next(iter(ran.json["settings"].items()))
        by_hand: Any = dict.fromkeys(options, 77)
        queue.channel_set(channel, **by_hand)
        refused = run("tune", "--undo", "--yes", dsn=dsn_18)
        assert refused.code == 1
        assert f"Nothing was undone: the settings of {channel!r} were changed" in refused.err
        stats = queue.channel(channel).stats()
        assert stats is not None
        assert all(getattr(stats, key) == 77 for key in options)


def test_the_answer_shows_each_objective_and_the_commands(lake: str) -> None:
    ran = run(*asked(lake))
    assert ran.code == 0, ran.err
    assert "gold: p95 wait <= 130 ms" in ran.out
    assert "held back" in ran.out
    assert "lonnymq channel set tenant-1 --" in ran.out


def test_nothing_is_applied_if_the_objectives_are_out_of_reach(lake: str, dsn_18: str) -> None:
    wish = ("tune", "--lake", lake, "--objective", "all: p95 wait <= 5ms", "--max-replays", 20)
    ran = run(*wish, "--apply", "--yes", dsn=dsn_18)
    assert ran.code == 1
    assert "Nothing was set" in ran.err
    with lonnymq.Queue(dsn_18) as queue:
        assert [each.channel for each in queue.channel_policy_list()] == [""]
    assert run(*wish).code == 1


def test_a_database_is_missed_before_the_search(tmp_path: Path) -> None:
    wish = ("--lake", tmp_path / "none", "--objective", "all: p95 wait <= 1s", "--apply")
    ran = run("tune", *wish)
    assert ran.code != 0
    assert "LONNYMQ_DSN" in ran.err


@pytest.mark.parametrize(
    ("options", "words"),
    [((), "Name the lake and your objectives"),
     (("--lake", "x"), "Name the lake and your objectives"),
     (("--undo", "--lake", "x"), "--undo takes no --objective, --lake or --apply."),
     (("--lake", "x", "--objective", "all: p95 wait <= 1s", "--workers", "many"), "not 'many'"),
     (("--lake", "x", "--objective", "all: p95 wait <= 1s", "--workers", "<= 0"), "not '<= 0'"),
     (("--lake", "x", "--objective", "fast"), "'fast' is not an objective")],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(options: tuple[str, ...], words: str) -> None:
    ran = run("tune", *options)
    assert ran.code != 0
    assert words in ran.err


def test_history_with_changed_settings_is_refused(tmp_path: Path) -> None:
    from lonnymq.lake.channel_settings import ChannelSettings
    from lonnymq.lake.location import resolve_lake
    from lonnymq.simulate import Limits, read_lake_history
    from lonnymq.simulate.lake_history import make_policy

    place = str(tmp_path / "changed")
    made = ("--messages", 2000, "--tenants", 3, "--workers", 4, "--set", "tenant-1.weight=2")
    assert run("simulate", "--synthetic", *made, "--lake", place).code == 0
    read = read_lake_history(place)
    later = [make_policy("tenant-1", Limits(weight=9))]
    ChannelSettings(resolve_lake(place), read.source).add(
        later, at=(read.begin + read.end) // 2, limit=None
    )
    ran = run("tune", "--lake", place, "--objective", "all: p95 wait <= 1s")
    assert ran.code == 1
    assert "Choose a period without changes of settings" in ran.err
