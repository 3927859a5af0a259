"""The report: the figures of a period in one page that needs no network, with the three things to look at first."""

from __future__ import annotations

from lonnymq.report.document import build_document
from lonnymq.report.page import render_page
from lonnymq.report.period import load_period
from lonnymq.report.tables import write_csv_tables

__all__ = ["build_document", "load_period", "render_page", "write_csv_tables"]
