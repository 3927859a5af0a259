"""The report: the statistics of a period as one HTML page that needs no network, with three highlights."""

from __future__ import annotations

from lonnymq.report.document import build_document
from lonnymq.report.page import render_page
from lonnymq.report.period import load_period
from lonnymq.report.tables import write_csv_tables

__all__ = ["build_document", "load_period", "render_page", "write_csv_tables"]
