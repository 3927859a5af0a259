"""The scheduler without a database: what would have happened with other limits, weights and workers."""

from lonnymq.simulate.calibration import Calibration, ReplayIsOff, calibrate, play
from lonnymq.simulate.html_page import page
from lonnymq.simulate.lake_reader import NothingRecorded, Stretch, read_stretch
from lonnymq.simulate.lake_writer import write_lake
from lonnymq.simulate.replay import replay
from lonnymq.simulate.result import Answer, Waits, answer
from lonnymq.simulate.ring import Limits
from lonnymq.simulate.scenario import Scenario, Setting, setting
from lonnymq.simulate.spark_history import history_at_scale
from lonnymq.simulate.svg import picture
from lonnymq.simulate.sweep import Trial, sweep, sweep_on_spark, trials
from lonnymq.simulate.synthetic import Shape, history_rows, history_table, workload
from lonnymq.simulate.workload import Recorded, Replayed, Workload, grown, recorded

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
