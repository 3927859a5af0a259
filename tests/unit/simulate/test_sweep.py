"""Many scenarios: every number of workers with every choice of values, and with nothing set."""

from lonnymq.simulate import (
    Limits,
    RecordedWorkload,
    ReplayTimes,
    Scenario,
    WorkloadShape,
    make_trials,
    make_workload,
    parse_setting,
    run_trials,
)
from lonnymq.simulate.scenario import parse_settings
from lonnymq.simulate.sweep import order_trials


def test_every_choice_is_tried_with_every_number_of_workers_and_every_growth() -> None:
    known = Scenario(8, {"acme": Limits(max_concurrency=1)})
    changes = [parse_settings("acme.max_concurrency=2,4"), parse_settings("*.weight=3")]
    asked = make_trials(known, workers=[8, 16], changes=changes, growth=[1, 2])
    assert [(each.growth, each.scenario.workers, each.description) for each in asked[:4]] == [
        (1, 8, "unchanged"),
        (1, 8, "acme.max_concurrency=2 *.weight=3"),
        (1, 8, "acme.max_concurrency=4 *.weight=3"),
        (1, 16, "unchanged"),
    ]
    assert len(asked) == 2 * 2 * 3
    assert asked[0].scenario.limits == known.limits
    assert asked[1].scenario.limits["acme"] == Limits(max_concurrency=2, weight=3)


def test_without_settings_each_number_of_workers_is_tried_once() -> None:
    assert len(make_trials(Scenario(1), workers=[1, 2, 3])) == 3


def test_answers_are_in_the_order_of_what_was_asked_and_told_of_one_by_one() -> None:
    work = make_workload(WorkloadShape(messages=2_000, tenants=5, workers=4, load=1.3))
    asked = make_trials(
        Scenario(4), workers=[4, 8], changes=[[parse_setting("*.max_concurrency=1")]], growth=[1, 2]
    )
    calls: list[int] = []
    found = run_trials(
        RecordedWorkload(work, ReplayTimes([], []), 0), asked, on_progress=lambda: calls.append(1)
    )
    assert len(found) == len(calls) == 8
    assert [each.all.messages for each in found] == [2_000] * 4 + [4_000] * 4
    assert found[2].all.p99 < found[0].all.p99 < found[4].all.p99


def test_what_takes_longest_is_begun_first_on_spark() -> None:
    limited = [[parse_setting("*.max_concurrency=1")]]
    asked = make_trials(Scenario(4), workers=[4], changes=limited, growth=[1, 2])
    assert [each.description for each in asked[:2]] == ["unchanged", "*.max_concurrency=1"]
    assert order_trials(asked) == [3, 2, 1, 0]
