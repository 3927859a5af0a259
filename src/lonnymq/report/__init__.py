"""The report: the figures of a period in one page that needs no network, with the three things to look at first."""

from __future__ import annotations

from lonnymq.report.document import gather
from lonnymq.report.page import page
from lonnymq.report.period import period_of
from lonnymq.report.tables import write_tables

__all__ = ["gather", "page", "period_of", "write_tables"]
