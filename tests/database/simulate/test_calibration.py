"""History that the engine wrote is replayed as it was: the calibration of a real queue, on a clock that is set."""

from database.simulate.service import LIMITS, WORKERS, served
from lonnymq.simulate import Scenario, build_workload, calibrate


def test_what_the_engine_did_is_what_the_replay_does_and_other_settings_are_found_out(
    dsn_18: str,
) -> None:
    history = build_workload(served(dsn_18).history_read())
    assert history.max_concurrent == WORKERS
    known = calibrate(history, Scenario(WORKERS, LIMITS))
    assert known.recorded.p95 > 500
    assert known.error < 0.15, known
    assert calibrate(history, Scenario(2 * WORKERS, LIMITS)).error > 0.25
    assert calibrate(history, Scenario(WORKERS)).error > 0.25


def test_the_limit_of_the_whole_queue_is_replayed_too(dsn_18: str) -> None:
    history = build_workload(served(dsn_18, most=2).history_read())
    assert history.max_concurrent == 2
    known = calibrate(history, Scenario(WORKERS, LIMITS, max_concurrency=2))
    assert known.recorded.p95 > 500
    assert known.error < 0.15, known
    without = calibrate(history, Scenario(WORKERS, LIMITS))
    assert without.replayed.mean < 0.8 * without.recorded.mean, without
