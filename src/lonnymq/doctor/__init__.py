"""Checks a queue and its server for problems and names the fix for each: `run_checks(dsn)`."""

from lonnymq.doctor.base import Level, Problem, Report
from lonnymq.doctor.checkup import repair, run_checks

__all__ = ["Level", "Problem", "Report", "repair", "run_checks"]
