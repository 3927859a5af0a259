"""Statistics from history: load, waits, limits and fairness, as DataFrames with declared columns."""

from __future__ import annotations

from lonnymq import lake as needed  # noqa: F401 - says what to install where Spark is missing
from lonnymq.analytics.aggregates import (
    compute_error_groups,
    compute_flow,
    compute_histograms,
    compute_hourly_histograms,
    compute_outcomes,
)
from lonnymq.analytics.attempts import compute_attempts
from lonnymq.analytics.channel_hours import (
    compute_backlog,
    compute_channel_hours,
    compute_limit_usage,
    compute_tenants,
    compute_totals,
)
from lonnymq.analytics.fairness import (
    compute_fairness,
    compute_noisy_hours,
    compute_noisy_neighbours,
    compute_starvation,
)
from lonnymq.analytics.forecast import compute_forecast
from lonnymq.analytics.period import Period, analyze_history, analyze_lake
from lonnymq.analytics.refresh import RefreshResult, refresh_analytics

__all__ = [
    "Period",
    "RefreshResult",
    "analyze_history",
    "analyze_lake",
    "compute_attempts",
    "compute_backlog",
    "compute_channel_hours",
    "compute_error_groups",
    "compute_fairness",
    "compute_flow",
    "compute_forecast",
    "compute_histograms",
    "compute_hourly_histograms",
    "compute_limit_usage",
    "compute_noisy_hours",
    "compute_noisy_neighbours",
    "compute_outcomes",
    "compute_starvation",
    "compute_tenants",
    "compute_totals",
    "refresh_analytics",
]
