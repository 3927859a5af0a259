"""The scheduler without a database: what would have happened with other limits, weights and workers."""

from lonnymq.simulate.lake_history import (
    LakeHistory,
    NoHistory,
    read_lake_history,
    to_arrow_table,
    write_synthetic_history,
)
from lonnymq.simulate.objective import Measured, Objective, parse_class, parse_objective
from lonnymq.simulate.picture import render_page, render_svg
from lonnymq.simulate.replay import (
    Calibration,
    ReplayInaccurate,
    calibrate,
    fit_workers,
    replay,
    run_scenario,
)
from lonnymq.simulate.result import ReplayResult, WaitStats, summarize_replay
from lonnymq.simulate.ring import Limits
from lonnymq.simulate.scenario import Scenario, Setting, parse_setting
from lonnymq.simulate.sweep import Trial, make_trials, run_trials, run_trials_on_spark
from lonnymq.simulate.synthetic import (
    WorkloadShape,
    generate_spark_history,
    make_history,
    make_workload,
)
from lonnymq.simulate.tuning import (
    ObjectiveAnswer,
    TooLittleHistory,
    Tuning,
    evaluate_on_spark,
    tune,
)
from lonnymq.simulate.workload import (
    RecordedWorkload,
    ReplayTimes,
    Workload,
    build_workload,
    scale_workload,
)

__all__ = [
    "Calibration",
    "LakeHistory",
    "Limits",
    "Measured",
    "NoHistory",
    "Objective",
    "ObjectiveAnswer",
    "RecordedWorkload",
    "ReplayInaccurate",
    "ReplayResult",
    "ReplayTimes",
    "Scenario",
    "Setting",
    "TooLittleHistory",
    "Trial",
    "Tuning",
    "WaitStats",
    "Workload",
    "WorkloadShape",
    "build_workload",
    "calibrate",
    "evaluate_on_spark",
    "fit_workers",
    "generate_spark_history",
    "make_history",
    "make_trials",
    "make_workload",
    "parse_class",
    "parse_objective",
    "parse_setting",
    "read_lake_history",
    "render_page",
    "render_svg",
    "replay",
    "run_scenario",
    "run_trials",
    "run_trials_on_spark",
    "scale_workload",
    "summarize_replay",
    "to_arrow_table",
    "tune",
    "write_synthetic_history",
]
