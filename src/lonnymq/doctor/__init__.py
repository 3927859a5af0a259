"""Looks for what makes a queue slow, unsafe or stuck, and says what to do about it: `examine(dsn)`."""

from lonnymq.doctor.examine import examine, mend
from lonnymq.doctor.finding import Finding, Level, Report

__all__ = ["Finding", "Level", "Report", "examine", "mend"]
