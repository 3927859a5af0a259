"""Counts, rates, fairness and the reasons that hold a channel."""

from typing import Any

from lonnymq.dashboard.api.channels import explain_hold
from lonnymq.dashboard.api.queue import measure_fairness
from lonnymq.dashboard.api.schemas import build_count
from lonnymq.dashboard.queues import CreationRate, per_second

ACTIVE = {"state": "ready", "waiting": 1, "max_concurrency": None, "min_interval_ms": None,
          "finished": 10, "weight": 1}  # fmt: skip


def test_a_count_says_whether_it_was_counted() -> None:
    assert build_count(3) == {"value": 3, "exact": True}
    assert build_count(None) == {"value": 0, "exact": True}
    assert build_count(3, exact=False) == {"value": 3, "exact": False}
    assert build_count(3, at_least=True) == {"value": 3, "exact": False, "at_least": True}


def test_a_rate_is_not_known_without_a_span() -> None:
    assert per_second(5, 1000) == 5.0
    assert per_second(None, 1000) is None
    assert per_second(5, 0) is None


def test_fairness_is_of_backlogged_channels_without_limits_by_weight() -> None:
    def row(**more: Any) -> dict[str, Any]:
        return {**ACTIVE, **more}

    even = [row(), row(finished=30, weight=3)]
    others = [
        row(finished=0, state="paused"),
        row(finished=0, waiting=0),
        row(finished=0, max_concurrency=1),
        row(finished=0, min_interval_ms=5),
        row(finished=None),
    ]
    assert measure_fairness(even + others) == {"jain": 1.0, "channels": 2, "attempts": 40}
    assert measure_fairness(others)["jain"] is None


def test_a_channel_that_nothing_holds_has_no_reason() -> None:
    assert explain_hold({"state": "ready"}) is None
    assert explain_hold({"state": "idle"}) is None
    saturated = {"state": "saturated", "in_flight": 4, "max_concurrency": 4}
    assert explain_hold(saturated) == "At the limit: 4 of 4 are running."


def test_how_fast_messages_are_created_is_known_from_the_second_look_on() -> None:
    rate = CreationRate()
    assert rate.update(1_000, 50) is None
    assert rate.update(3_000, 70) == 10.0
    assert rate.update(14_000, 180) == 10.0
    assert rate.update(200_000, 190) is None  # after a long pause it would mislead
    assert CreationRate().update(1, 1) is None


def test_a_numbering_that_was_reset_gives_no_rate() -> None:
    rate = CreationRate()
    rate.update(1_000, 500)
    assert rate.update(2_000, 3) is None
