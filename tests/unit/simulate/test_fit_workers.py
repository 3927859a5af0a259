"""How workers worked is found out from what they did: their processes, and how long settling took."""

from lonnymq.simulate import (
    Limits,
    RecordedWorkload,
    Scenario,
    Workload,
    WorkloadShape,
    build_workload,
    fit_workers,
    make_history,
    make_workload,
    replay,
    run_scenario,
    summarize_replay,
)
from lonnymq.simulate.workload import AttemptRow

SHAPE = WorkloadShape(messages=4_000, tenants=6, workers=8, load=0.95, noisy=0.4, seed=2)


def test_a_worker_takes_the_next_message_before_the_lease_is_settled() -> None:
    work = Workload(["a", "b"], [0, 0, 1], [0, 0, 0], [0, 0, 0], [10, 10, 10])
    assert replay(work, {}, workers=1, settle_ms=4).started_at == [0, 12, 6]
    limits = {"a": Limits(max_concurrency=1)}
    assert replay(work, limits, workers=1, settle_ms=4).started_at == [0, 12, 6]
    alone = Workload(["a"], [0, 0], [0, 0], [0, 0], [10, 10])
    assert replay(alone, {}, workers=1, settle_ms=4).started_at == [0, 6]
    assert replay(alone, limits, workers=1, settle_ms=4).started_at == [0, 10]
    assert replay(alone, {}, workers=1, settle_ms=99).started_at == [0, 0]


def test_the_workers_of_a_process_walk_over_the_channels_together() -> None:
    work = make_workload(SHAPE)
    apart, together = (replay(work, {}, workers=8, processes=each) for each in (None, 1))
    assert replay(work, {}, workers=8, processes=8) == apart
    assert replay(work, {}, workers=8, processes=99) == apart
    quiet = [summarize_replay(work, each).tenants["tenant-2"].p50 for each in (apart, together)]
    assert quiet[1] < 0.8 * quiet[0]


def test_processes_and_settle_time_are_found_from_what_was_recorded() -> None:
    work = make_workload(SHAPE)
    times = replay(work, {}, workers=8, processes=1, settle_ms=6)
    found = fit_workers(RecordedWorkload(work, times, 8), Scenario(8))
    assert found.processes == 1
    assert 4 <= found.settle_ms <= 8


def test_workers_with_names_are_counted_as_processes() -> None:
    def attempt(number: int, worker: str | None, begin: int, end: int) -> AttemptRow:
        return AttemptRow(number, "a", "completed", begin, begin, begin, end, worker)

    rows = [
        attempt(1, "old", 0, 10),
        attempt(2, "old", 30, 40),
        attempt(3, "other", 35, 70),
        attempt(4, "new", 50, 60),
    ]
    assert build_workload(rows).processes == 2  # the old one was gone when the new one came
    assert fit_workers(build_workload(rows), Scenario(8)).processes == 2
    assert build_workload([attempt(1, None, 0, 10)]).processes is None


def test_a_history_that_is_replayed_as_it_was_is_left_alone() -> None:
    history = build_workload(make_history(SHAPE))
    assert fit_workers(history, Scenario(8)) == Scenario(8)
    assert run_scenario(history, Scenario(8)).all.messages == 4_000
