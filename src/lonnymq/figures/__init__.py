"""Figures from history: what happened for whom, and was it fair. DataFrames in, DataFrames of declared columns out."""

from __future__ import annotations

from lonnymq import lake as needed  # noqa: F401 - says what to install where Spark is missing
from lonnymq.figures.attempts import attempts
from lonnymq.figures.errors import errors
from lonnymq.figures.fairness import fairness
from lonnymq.figures.flow import flow
from lonnymq.figures.forecast import forecast
from lonnymq.figures.hourly import hourly
from lonnymq.figures.hours import hours
from lonnymq.figures.noise import noise, noisy
from lonnymq.figures.period import Period, of_history, of_lake
from lonnymq.figures.refresh import Refreshed, refresh
from lonnymq.figures.spread import pulse, spreads
from lonnymq.figures.starvation import starvation
from lonnymq.figures.sums import backlog, limits, tenants, totals

__all__ = [
    "Period",
    "Refreshed",
    "attempts",
    "backlog",
    "errors",
    "fairness",
    "flow",
    "forecast",
    "hourly",
    "hours",
    "limits",
    "noise",
    "noisy",
    "of_history",
    "of_lake",
    "pulse",
    "refresh",
    "spreads",
    "starvation",
    "tenants",
    "totals",
]
