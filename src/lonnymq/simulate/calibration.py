"""Whether the simulator can be believed here: what was recorded beside what it makes of the recorded settings."""

from __future__ import annotations

from dataclasses import dataclass

from lonnymq.errors import LonnyMQError
from lonnymq.simulate.replay import replay
from lonnymq.simulate.result import Answer, Waits, answer
from lonnymq.simulate.scenario import Scenario
from lonnymq.simulate.workload import Recorded, grown
from lonnymq.text import format_duration

PERCENTILES = ("p50", "p95", "p99")
SMALL_MS = 50  # a difference below this is how long a worker takes to hear of a message


class ReplayIsOff(LonnyMQError):
    """Choose a stretch of time in which limits and workers were not changed, and say how many workers there were."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """The waits of all messages, as they were and as they were replayed."""

    recorded: Waits
    replayed: Waits

    @property
    def off(self) -> float:
        """By which part of what was recorded the worst percentile is off; small differences are none."""
        return max(self.off_by(name) for name in PERCENTILES)

    def off_by(self, percentile: str) -> float:
        """By which part one percentile is off."""
        was, is_now = (getattr(each, percentile) for each in (self.recorded, self.replayed))
        difference = abs(is_now - was)
        if difference <= SMALL_MS:
            return 0.0
        return float(difference / max(was, SMALL_MS))

    def refuse_beyond(self, most: float) -> None:
        """Refuse to go on where the replay is off by more than that."""
        if self.off > most:
            said = ", ".join(
                f"{name} {format_duration(getattr(self.recorded, name))} recorded and "
                f"{format_duration(getattr(self.replayed, name))} replayed"
                for name in PERCENTILES
            )
            raise ReplayIsOff(
                f"the replay at the recorded settings is off by {self.off:.0%}, more than {most:.0%}: {said}; "
                f"what it says of other settings would be no better. {ReplayIsOff.__doc__}"
            )


def calibrate(history: Recorded, scenario: Scenario) -> Calibration:
    """Replay history at the settings that it was recorded at."""
    was = answer(history.work, history.went, history.counted)
    return Calibration(was.all, play(history, scenario).all)


def play(history: Recorded, scenario: Scenario, *, growth: float = 1, seed: int = 1) -> Answer:
    """Replay history under a scenario, with so many times its messages, and sum it up."""
    work, counted = grown(history.work, growth, seed=seed, counted=history.counted)
    replayed = replay(
        work,
        scenario.limits,
        workers=scenario.workers,
        max_concurrency=scenario.max_concurrency,
        otherwise=scenario.otherwise,
    )
    return answer(work, replayed, counted, scenario.weights(work.names))
