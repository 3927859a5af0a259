"""The end of the show, if wanted: Spark brings the history into a lake, and a report says what happened to whom."""

from __future__ import annotations

import tempfile
from pathlib import Path

from rich.console import Console

from examples.demo.promises import Promise
from examples.demo.scenario import FLOODING, QUIET
from lonnymq.embedded_postgres.server import default_folder

NAME = "demo-report.html"


def run_report_step(console: Console, dsn: str, attempts: int | None, file: Path) -> list[Promise]:
    """The show's history, so many attempts if it has ended, into a lake, and a page from that; and what was counted."""
    import lonnymq.spark
    from examples.demo.spark_queue import CONFIG
    from lonnymq.lake import sync
    from lonnymq.lake.location import resolve_lake
    from lonnymq.report import build_document, load_period, render_page

    console.print("\nSpark reads the history of the show into a lake, and a report is made of it.")
    spark = lonnymq.spark.session("local[2]", config=CONFIG)
    with tempfile.TemporaryDirectory() as folder:
        synced = sync(spark, folder, url=dsn, source="video service")
        document = build_document(load_period(spark, resolve_lake(folder)))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(render_page(document), encoding="utf-8")
    return judged(synced.rows, attempts, file.read_text(encoding="utf-8"))


def judged(brought: int, attempts: int | None, page: str) -> list[Promise]:
    """Whether all attempts came into the lake, and all tenants into the page."""
    tenants = (FLOODING, *QUIET)
    named = [tenant for tenant in tenants if tenant in page]
    recorded = "" if attempts is None else f", the history has {attempts:,}"
    return [
        Promise(
            f"Spark brought {brought:,} attempts into a lake{recorded}",
            brought > 0 and attempts in (None, brought),
        ),
        Promise(
            f"the report tells of {len(named)} of {len(tenants)} tenants",
            len(named) == len(tenants),
        ),
    ]


def default_file() -> Path:
    """Where the report is kept: a file of the user's own, written anew by each show."""
    return default_folder().parent / NAME
