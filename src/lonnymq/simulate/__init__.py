"""The scheduler without a database: what would have happened with other limits, weights and workers."""

from lonnymq.simulate.answers import Answer, Waits, answer
from lonnymq.simulate.calibration import Calibration, calibrate, play
from lonnymq.simulate.recorded import Recorded, recorded
from lonnymq.simulate.replay import Replayed, Workload, replay
from lonnymq.simulate.ring import Limits
from lonnymq.simulate.settings import Scenario, Setting, setting
from lonnymq.simulate.synthetic import Shape, workload

__all__ = [
    "Answer",
    "Calibration",
    "Limits",
    "Recorded",
    "Replayed",
    "Scenario",
    "Setting",
    "Shape",
    "Waits",
    "Workload",
    "answer",
    "calibrate",
    "play",
    "recorded",
    "replay",
    "setting",
    "workload",
]
