"""Figures from history: what happened for whom, and was it fair. DataFrames in, DataFrames of declared columns out."""

from __future__ import annotations

from lonnymq import lake as needed  # noqa: F401 - says what to install where Spark is missing
from lonnymq.analytics.attempts import attempts
from lonnymq.analytics.channel_hours import backlog, hours, limits, tenants, totals
from lonnymq.analytics.error_groups import errors
from lonnymq.analytics.fairness import fairness, noise, noisy
from lonnymq.analytics.forecast import forecast
from lonnymq.analytics.histogram import pulse, spreads
from lonnymq.analytics.hourly_aggregates import flow, hourly
from lonnymq.analytics.period import Period, of_history, of_lake
from lonnymq.analytics.refresh import Refreshed, refresh
from lonnymq.analytics.starvation import starvation

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
