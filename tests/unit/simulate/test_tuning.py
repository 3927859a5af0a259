"""From objectives to settings: what is read, what is measured, what is found, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from lonnymq.errors import InvalidArgument
from lonnymq.simulate import (
    Limits,
    Objective,
    RecordedWorkload,
    ReplayInaccurate,
    ReplayTimes,
    Scenario,
    TooLittleHistory,
    Workload,
    WorkloadShape,
    build_workload,
    make_history,
    parse_class,
    parse_objective,
    tune,
)
from lonnymq.simulate.objective import Measured, find_members, measure_objectives
from lonnymq.simulate.tuning import cut_history, find_cut, split_counted

SHAPE = WorkloadShape(messages=12_000, tenants=6, workers=8, load=0.95, noisy=0.5, seed=3)
GOLD = {"gold": ["tenant-2", "tenant-3"]}


@pytest.fixture(scope="module")
def history() -> RecordedWorkload:
    """A noisy tenant sends half of all messages to eight busy workers."""
    return build_workload(make_history(SHAPE))


@pytest.mark.parametrize(
    ("text", "objective"),
    [("gold: p99 wait <= 5s", Objective("gold", "p99 wait", 5000)),
     ("all:fairness>=0.95", Objective("all", "fairness", 0.95)),
     ("eu:acme: p50 wait <= 250ms", Objective("eu:acme", "p50 wait", 250)),
     ("gold-*: longest wait <= 1m", Objective("gold-*", "longest wait", 60_000))],
)  # fmt: skip
def test_an_objective_is_read_as_people_write_it(text: str, objective: Objective) -> None:
    assert parse_objective(text) == objective
    assert parse_objective(str(objective)) == objective


@pytest.mark.parametrize(
    ("text", "about"),
    [("gold p99 wait <= 5s", "is not an objective"), ("gold: p42 wait <= 5s", "There are p50 wait"),
     ("gold: p99 wait >= 5s", "write p99 wait <= 5s"), ("gold: p99 wait <= 5", "must be a duration"),
     ("all: fairness >= 95", "at most 1, not '95'"), ("all: fairness <= 0.9", "write fairness >= 0.9"),
     ("all: p99 wait <= 0s", "must be a duration"), ("all: fairness >= nan", "at most 1")],
)  # fmt: skip
def test_what_is_no_objective_is_refused_with_what_is_allowed(text: str, about: str) -> None:
    with pytest.raises(InvalidArgument, match=about):
        parse_objective(text)


def test_a_class_is_a_list_of_channels_a_prefix_or_a_file(tmp_path: Path) -> None:
    file = tmp_path / "gold.txt"
    file.write_text("acme\n\n globex \n")
    assert parse_class("gold=acme, globex") == ("gold", ["acme", "globex"])
    assert parse_class(f"gold=@{file}") == ("gold", ["acme", "globex"])
    channels = ["acme", "eu-1", "eu-2", "other"]
    assert find_members("gold", channels, {"gold": ["acme", "eu-*"]}) == ["acme", "eu-1", "eu-2"]
    assert find_members("eu-*", channels, {}) == ["eu-1", "eu-2"]
    assert find_members("all", channels, {}) == channels
    for wrong in ("gold", "gold=", "=acme", "all=acme", f"gold=@{tmp_path}/none"):
        with pytest.raises(InvalidArgument):
            parse_class(wrong)


def test_a_wait_is_that_of_the_worst_tenant_and_small_tenants_count_together() -> None:
    channel = [0] * 10 + [1] * 10 + [2] * 5 + [3] * 5
    waits = [1] * 10 + [7] * 10 + [20] * 10
    count = len(channel)
    work = Workload(["a", "b", "c", "d"], channel, [0] * count, [0] * count, [1] * count)
    times = ReplayTimes([0] * count, waits)
    median = Objective("all", "p50 wait", 1)
    groups = [["a", "b", "c", "d"], ["a", "b"], ["c"]]
    found = measure_objectives(work, times, [median] * 3, groups)
    assert found == [Measured(20, 30), Measured(7, 20), Measured(None, 5)]


def test_the_noisy_tenant_is_limited_and_the_answer_is_checked_on_what_was_held_back(
    history: RecordedWorkload,
) -> None:
    wanted = parse_objective("gold: p95 wait <= 130ms")
    found = tune(history, Scenario(8), [wanted], classes=GOLD, margin=0.2)
    [answer] = found.answers
    assert answer.replayed.value is not None
    assert answer.replayed.value > 130
    assert (found.is_met, found.holds, found.scenario.workers) == (True, True, 8)
    assert found.settings
    assert found.replays < 200
    again = tune(history, Scenario(8), [wanted], classes=GOLD, margin=0.2)
    assert again == found


def test_what_is_enough_with_fewer_workers_takes_fewer_workers_and_starves_nobody() -> None:
    shape = WorkloadShape(messages=6_000, tenants=5, workers=16, load=0.4, seed=5)
    history = build_workload(make_history(shape))
    wanted = [parse_objective("tenant-1: p95 wait <= 1s"), parse_objective("all: fairness >= 0.9")]
    found = tune(history, Scenario(16), wanted)
    assert found.holds
    assert 6 < found.scenario.workers < 10  # 0.4 of 16 are busy on average
    fixed = tune(history, Scenario(16), wanted, workers=(12, 12))
    assert (fixed.scenario.workers, fixed.settings) == (12, [])


def test_an_objective_out_of_reach_says_how_many_workers_would_be_enough(
    history: RecordedWorkload,
) -> None:
    wanted = [parse_objective("gold: p95 wait <= 10ms")]
    found = tune(history, Scenario(8), wanted, classes=GOLD, workers=(1, 8))
    assert not found.is_met
    assert found.enough_workers is not None
    assert found.enough_workers > 8


def test_the_budget_bounds_the_replays(history: RecordedWorkload) -> None:
    wanted = [parse_objective("gold: p95 wait <= 10ms")]
    found = tune(history, Scenario(8), wanted, classes=GOLD, workers=(1, 8), max_replays=5)
    assert found.replays <= 5 + 8  # the last eight say how many workers would be enough


@pytest.mark.parametrize(
    ("text", "about"),
    [("nobody: p50 wait <= 5s", "has no messages of 'nobody'"),
     ("tenant-2: p99 wait <= 5s", "held-back part .* but p99 wait needs 500")],
)  # fmt: skip
def test_history_that_cannot_carry_the_answer_is_refused(
    history: RecordedWorkload, text: str, about: str
) -> None:
    with pytest.raises(TooLittleHistory, match=about):
        tune(history, Scenario(8), [parse_objective(text)])


def test_history_that_is_not_replayed_as_it_was_is_refused(history: RecordedWorkload) -> None:
    slow = Scenario(8, {"tenant-2": Limits(max_concurrency=1, min_interval_ms=500)})
    with pytest.raises(ReplayInaccurate, match=r"'tenant-2: p95 wait <= 5 s': .* recorded and"):
        tune(history, slow, [parse_objective("tenant-2: p95 wait <= 5s")])


def test_days_are_held_back_whole_and_the_search_does_not_see_them() -> None:
    day = 86_400_000
    came = [hour * 3_600_000 for hour in range(24 * 6)]
    count = len(came)
    work = Workload(["a"], [0] * count, came, came, [1] * count, {3: (2, 5), count - 1: (1, 9)})
    history = RecordedWorkload(work, ReplayTimes(came, came), 1)
    cut_at = find_cut(history)
    assert cut_at == 4 * day
    first, held_back = split_counted(history, cut_at)
    assert (len(first), len(held_back)) == (96, 48)
    cut = cut_history(history, cut_at)
    assert max(cut.work.created_at) < cut_at
    assert cut.work.after == {3: (2, 5)}
