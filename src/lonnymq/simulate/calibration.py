"""Calibration: compares recorded waits with a replay at the recorded settings."""

from __future__ import annotations

from dataclasses import dataclass

from lonnymq.errors import LonnyMQError
from lonnymq.simulate.replay import replay
from lonnymq.simulate.result import ReplayResult, WaitStats, summarize_replay
from lonnymq.simulate.scenario import Scenario
from lonnymq.simulate.workload import RecordedWorkload, scale_workload
from lonnymq.text import format_duration

PERCENTILES = ("p50", "p95", "p99")
TOLERANCE_MS = 50  # a worker takes about that long to notice a message


class ReplayInaccurate(LonnyMQError):
    """Choose a period without changes of limits and workers, and give the number of workers."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """The waits of all messages, recorded and replayed."""

    recorded: WaitStats
    replayed: WaitStats

    @property
    def error(self) -> float:
        """The largest relative error of a percentile. Differences up to TOLERANCE_MS count as none."""
        return max(self.error_of(name) for name in PERCENTILES)

    def error_of(self, percentile: str) -> float:
        """The relative error of one percentile."""
        was, is_now = (getattr(each, percentile) for each in (self.recorded, self.replayed))
        difference = abs(is_now - was)
        if difference <= TOLERANCE_MS:
            return 0.0
        return float(difference / max(was, TOLERANCE_MS))

    def check(self, most: float) -> None:
        """Raise if the error is larger than `most`."""
        if self.error > most:
            said = ", ".join(
                f"{name} {format_duration(getattr(self.recorded, name))} recorded and "
                f"{format_duration(getattr(self.replayed, name))} replayed"
                for name in PERCENTILES
            )
            raise ReplayInaccurate(
                f"the replay at the recorded settings is off by {self.error:.0%}, more than {most:.0%}: {said}. "
                f"Results for other settings would be as inaccurate. {ReplayInaccurate.__doc__}"
            )


def calibrate(history: RecordedWorkload, scenario: Scenario) -> Calibration:
    """Replay history at the settings that it was recorded at."""
    was = summarize_replay(history.work, history.times, history.counted)
    return Calibration(was.all, run_scenario(history, scenario).all)


def run_scenario(
    history: RecordedWorkload, scenario: Scenario, *, growth: float = 1, seed: int = 1
) -> ReplayResult:
    """Replay history under a scenario, with so many times its messages, and sum it up."""
    work, counted = scale_workload(history.work, growth, seed=seed, counted=history.counted)
    replayed = replay(
        work,
        scenario.limits,
        workers=scenario.workers,
        max_concurrency=scenario.max_concurrency,
        default_limits=scenario.default_limits,
    )
    return summarize_replay(work, replayed, counted, scenario.weights(work.names))
