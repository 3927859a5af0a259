"""The scheduler without a database: what would have happened with other limits, weights and workers."""

from lonnymq.simulate.answers import Answer, Waits, answer
from lonnymq.simulate.at_scale import history_at_scale
from lonnymq.simulate.calibration import Calibration, ReplayIsOff, calibrate, play
from lonnymq.simulate.from_lake import NothingRecorded, Stretch, read_stretch
from lonnymq.simulate.growth import grown
from lonnymq.simulate.history import history_rows, history_table
from lonnymq.simulate.into_lake import write_lake
from lonnymq.simulate.on_spark import sweep_on_spark
from lonnymq.simulate.page import page
from lonnymq.simulate.picture import picture
from lonnymq.simulate.recorded import Recorded, recorded
from lonnymq.simulate.replay import Replayed, Workload, replay
from lonnymq.simulate.ring import Limits
from lonnymq.simulate.settings import Scenario, Setting, setting
from lonnymq.simulate.sweep import Trial, sweep, trials
from lonnymq.simulate.synthetic import Shape, workload

__all__ = [
    "Answer",
    "Calibration",
    "Limits",
    "NothingRecorded",
    "Recorded",
    "ReplayIsOff",
    "Replayed",
    "Scenario",
    "Setting",
    "Shape",
    "Stretch",
    "Trial",
    "Waits",
    "Workload",
    "answer",
    "calibrate",
    "grown",
    "history_at_scale",
    "history_rows",
    "history_table",
    "page",
    "picture",
    "play",
    "read_stretch",
    "recorded",
    "replay",
    "setting",
    "sweep",
    "sweep_on_spark",
    "trials",
    "workload",
    "write_lake",
]
