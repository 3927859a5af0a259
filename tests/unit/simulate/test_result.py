"""Figures of a replay, worked out by hand."""

import pytest

from lonnymq.simulate import ReplayTimes, WaitStats, Workload, summarize_replay
from lonnymq.simulate.result import summarize_waits


def test_waits_are_counted_from_when_a_message_is_due_and_there() -> None:
    work = Workload(["a", "b"], [0, 0, 1], [0, 10, 50], [0, 10, 0], [1, 1, 1])
    found = summarize_replay(work, ReplayTimes([0, 10, 0], [5, 40, 60]))
    assert found.tenants == {
        "a": WaitStats(2, 17.5, 30, 30, 30, 30),
        "b": WaitStats(1, 10.0, 10, 10, 10, 10),  # urgent, and created at 50
    }
    assert found.all == WaitStats(3, 15.0, 10, 30, 30, 30)
    assert found.fairness is None


def test_percentiles_are_waits_that_were() -> None:
    assert summarize_waits(range(1, 101)) == WaitStats(100, 50.5, 51, 96, 100, 100)
    assert summarize_waits([]) == WaitStats(0, 0.0, 0, 0, 0, 0)


def test_fairness_is_over_those_with_a_backlog_and_leaves_the_quiet_ones_out() -> None:
    channel = [0] * 3 + [1] * 1 + [2]
    work = Workload(["a", "b", "quiet"], channel, [0] * 5, [0] * 5, [1] * 5)
    found = summarize_replay(work, ReplayTimes([0] * 5, [2000, 3000, 4000, 5000, 10]))
    assert found.fairness == pytest.approx(16 / 20)
    assert found.shares == pytest.approx({"a": 1.5, "b": 0.5})


def test_turns_are_counted_for_each_unit_of_weight() -> None:
    work = Workload(["a", "b"], [0, 0, 0, 1], [0] * 4, [0] * 4, [1] * 4)
    replayed = ReplayTimes([0] * 4, [2000, 3000, 4000, 5000])
    assert summarize_replay(work, replayed, weights={"a": 3}).fairness == 1
    assert summarize_replay(work, replayed, weights={"a": 3}).shares == {"a": 1, "b": 1}


def test_an_hour_by_itself_is_judged_by_itself() -> None:
    hour = 3_600_000
    work = Workload(["a", "b"], [0, 1, 0, 0, 1], [0] * 5, [0] * 5, [1] * 5)
    found = summarize_replay(work, ReplayTimes([0] * 5, [2000, 2000, hour, hour, hour]))
    assert found.fairness == pytest.approx((1 + 0.9) / 2)
    assert found.shares == pytest.approx({"a": 3 / 2.5, "b": 2 / 2.5})


def test_only_those_that_count_are_summed_up() -> None:
    work = Workload(["a", "b"], [0, 0, 1], [0, 10, 50], [0, 10, 0], [1, 1, 1])
    found = summarize_replay(work, ReplayTimes([0, 10, 0], [5, 40, 60]), [1])
    assert found.all == WaitStats(1, 30.0, 30, 30, 30, 30)
    assert list(found.tenants) == ["a"]
