"""History read back as a workload, and the replay of it beside what was."""

import pytest

from lonnymq.simulate import (
    Limits,
    ReplayInaccurate,
    Scenario,
    Workload,
    WorkloadShape,
    make_workload,
    replay,
    summarize_replay,
)
from lonnymq.simulate.replay import Calibration, calibrate, run_scenario
from lonnymq.simulate.result import WaitStats
from lonnymq.simulate.workload import AttemptRow, build_workload


def row(message_id: int, channel: str, *times: int, outcome: str = "completed") -> AttemptRow:
    created_at, dequeue_at, dequeued_at, finished_at = times
    return AttemptRow(
        message_id, channel, outcome, created_at, dequeue_at, dequeued_at, finished_at
    )


def history_of(work: Workload, **how) -> list[AttemptRow]:
    """What the engine would have written down."""
    went = replay(work, **{"limits": {}, **how})
    first_of = {later: first for later, (first, _) in work.after.items()}
    return [
        row(
            first_of.get(number, number) + 1,
            work.names[work.channel[number]],
            work.created_at[number],
            went.due_at[number],
            went.started_at[number],
            went.started_at[number] + work.service_ms[number],
        )
        for number in range(len(work))
    ]


def test_a_row_of_history_becomes_an_arrival_and_a_service_time() -> None:
    found = build_workload([row(7, "b", 100, 150, 200, 230), row(3, "a", 90, 0, 95, 96)])
    assert found.work.names == ["a", "b"]
    assert found.work.channel == [0, 1]
    assert found.work.created_at == [90, 100]
    assert found.work.due_at == [0, 150]
    assert found.work.service_ms == [1, 30]
    assert found.times.started_at == [95, 200]


def test_a_further_attempt_follows_the_one_before_it_after_the_same_time() -> None:
    rows = [
        row(1, "a", 0, 0, 0, 100),
        row(1, "a", 0, 1100, 1200, 1300),
        row(1, "a", 0, 0, 1300, 1301),
    ]
    found = build_workload(reversed(rows))
    assert found.work.after == {1: (0, 1000), 2: (1, 0)}  # the third stood where it was
    assert found.work.due_at == [0, 1100, 1300]


def test_a_dead_message_that_was_redriven_comes_when_it_was_taken() -> None:
    rows = [row(1, "a", 0, 0, 0, 10, outcome="dead"), row(1, "a", 0, 0, 99_000, 99_010)]
    found = build_workload(rows)
    assert found.work.after == {}
    assert found.work.created_at == found.work.due_at == [0, 99_000]
    assert summarize_replay(found.work, found.times).all.longest == 0


def test_at_the_beginning_of_a_stretch_the_queue_is_as_it_was() -> None:
    rows = [
        row(1, "a", 0, 0, 900, 1100),  # being worked on
        row(2, "a", 10, 10, 1200, 1300),  # waiting, since long before
        row(3, "a", 20, -5, 1000, 1050),  # waiting, and urgent
        row(4, "a", 1500, 1500, 1600, 1700),
        row(5, "a", 1600, 2500, 2600, 2700),  # due after the end
        row(6, "a", 2100, 2100, 2200, 2300),
    ]
    found = build_workload(rows, begin=1000, end=2000)
    assert found.work.created_at == [900, 1000, 1000, 1500, 1600, 2100]
    assert found.work.due_at == [900, 10, -5, 1500, 2500, 2100]
    assert found.counted == [3]
    assert found.max_concurrent == 2
    assert replay(found.work, {}, workers=1).started_at == [900, 1150, 1100, 1500, 2500, 2100]
    assert calibrate(found, Scenario(workers=2)).recorded == WaitStats(1, 100.0, 100, 100, 100, 100)


def test_a_further_attempt_at_the_beginning_of_a_stretch_has_lost_the_one_before_it() -> None:
    found = build_workload([row(1, "a", 0, 500, 1200, 1300)], begin=1000)
    assert found.work.created_at == [1000]
    assert found.counted == []


def test_the_busiest_moment_is_found() -> None:
    rows = [row(1, "a", 0, 0, 0, 10), row(2, "a", 0, 0, 5, 20), row(3, "a", 0, 0, 10, 15)]
    assert build_workload(rows).max_concurrent == 2
    assert build_workload([]).max_concurrent == 0


def test_a_replay_at_the_recorded_settings_gives_nearly_what_was_recorded() -> None:
    made = make_workload(
        WorkloadShape(messages=5_000, tenants=20, workers=8, load=0.9, failing=0.05, noisy=0.4)
    )
    limits = {made.names[0]: Limits(max_concurrency=3)}
    history = build_workload(history_of(made, limits=limits, workers=8))
    found = calibrate(history, Scenario(workers=8, limits=limits))
    assert found.error < 0.05  # messages of the same millisecond may change places
    assert found.recorded.messages == found.replayed.messages == len(made)


def test_other_settings_give_other_waits() -> None:
    made = make_workload(WorkloadShape(messages=5_000, tenants=20, workers=8, load=1.2, noisy=0.5))
    history = build_workload(history_of(made, workers=8))
    now, more = (run_scenario(history, Scenario(workers=workers)).all for workers in (8, 16))
    assert more.p99 < now.p99 / 2


def test_a_replay_that_is_off_is_refused_with_both_figures() -> None:
    waits = [WaitStats(10, 0.0, 100, 200, each, each) for each in (1000, 1500)]
    found = Calibration(*waits)
    assert found.error == pytest.approx(0.5)
    found.check(0.5)
    with pytest.raises(ReplayInaccurate, match=r"off by 50%.*1 s recorded and 1.5 s replayed"):
        found.check(0.25)


def test_differences_of_a_few_milliseconds_are_none() -> None:
    assert Calibration(WaitStats(1, 0, 0, 1, 3, 3), WaitStats(1, 0, 2, 9, 40, 40)).error == 0
