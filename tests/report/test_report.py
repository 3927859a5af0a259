"""`lonnymq report` over a lake: a page, JSON, CSV, and rejections that say what to do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import col, lit

from analytics.history_rows import HOUR, at, attempt, found, history
from commands import run
from lonnymq.lake import write_history
from lonnymq.lake.location import HISTORY, resolve_lake
from lonnymq.lake.tables import ensure_table
from lonnymq.report import build_document, load_period
from report.sample_document import HOSTILE, document

DAY = 24 * HOUR
TENANT = HOSTILE[0]


def shown_by(page: Path) -> dict[str, Any]:
    """The document that a page shows."""
    return json.loads(page.read_text().partition('id="data">')[2].partition("</script>")[0])


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two days: on the first a flood and a quiet tenant, on the second one message that died."""
    folder = tmp_path_factory.mktemp("lake")
    rows = [attempt("flood", 60, 60 + n, 61 + n) for n in range(40)]
    rows += [attempt(TENANT, 70, 75, 76), attempt("b", 71, 72, 73)]
    rows += [attempt("b", DAY + 5, DAY + 6, DAY + 7, outcome="dead", attempt=5, error="no 5")]
    write_history(history(spark, *rows).drop("source"), folder, source="shop")
    return folder


@pytest.mark.long
def test_a_short_time_is_shown_in_fine_steps(spark: SparkSession, lake: Path):
    period = load_period(spark, lake, begin=at(50), end=at(170))
    assert period.every_ms == 1_000
    columns = ("waiting_before", "begun", "waiting_after")
    # The sixteenth second: 40 came at 60, of which one was begun in every second since.
    [second] = found(period.channel_hours.where(col("begins_at") == lit(at(65))), *columns)
    assert second == (35, 1, 34)


@pytest.mark.long
def test_days_are_shown_by_the_hour(spark: SparkSession, lake: Path, tmp_path: Path):
    page = tmp_path / "page.html"
    ran = run("report", "--lake", lake, "--from", "2030-01-10", "--to", "2030-01-11", "--out", page)
    assert ran.code == 0, ran.err
    assert "1 message died" in ran.out
    assert TENANT not in page.read_text()
    made = shown_by(page)
    assert made.keys() == document().keys()
    assert (made["every_ms"], len(made["times"]), made["sources"]) == (3_600_000, 48, ["shop"])
    assert made["summary"]["attempts"] == 43
    place = made["tenants"]["channel"].index(TENANT)
    assert made["tenants"]["wait_p99"][place] == pytest.approx(5_000, rel=0.013)
    assert [each["channel"] for each in made["noisy"]] == ["flood"]
    assert made["errors"][0]["error"] == "no #"


@pytest.mark.long
def test_a_period_without_rows_gives_a_report_that_says_so(spark: SparkSession, lake: Path):
    made = build_document(
        load_period(spark, resolve_lake(lake), begin=at(-DAY * 40), end=at(-DAY * 40 + 60))
    )
    assert made["summary"]["attempts"] == 0
    assert made["highlights"] == []


def test_an_empty_history_gives_a_page_that_says_so(spark: SparkSession, tmp_path: Path):
    ensure_table(resolve_lake(tmp_path / "lake"), HISTORY)
    page = tmp_path / "page.html"
    ran = run("report", "--lake", tmp_path / "lake", "--out", page)
    assert ran.code == 0, ran.err
    assert "no attempts in this period" in ran.out
    assert shown_by(page)["summary"]["attempts"] == 0


@pytest.mark.long
def test_one_row_is_a_report_of_its_own(spark: SparkSession, tmp_path: Path):
    write_history(history(spark, attempt(TENANT, 60, 61, 63)).drop("source"), tmp_path, source="x")
    page, kept = tmp_path / "page.html", spark.sparkContext._jsc.getPersistentRDDs().size()
    ran = run("report", "--lake", tmp_path, "--out", page)
    assert ran.code == 0, ran.err
    made = shown_by(page)
    assert (made["summary"]["attempts"], made["summary"]["tenants"]) == (1, 1)
    assert made["summary"]["wait_p50"] == pytest.approx(1_000, rel=0.013)
    assert made["tenants"]["channel"] == [TENANT]
    assert spark.sparkContext._jsc.getPersistentRDDs().size() <= kept  # what was kept is let go of


def test_without_a_lake_it_is_refused_before_spark_is_started(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setattr(
        "lonnymq.cli.commands.report.open_spark", None
    )  # whoever asks for one fails
    none = run("report", "--lake", tmp_path / "none")
    assert (none.code, "lonnymq lake sync" in none.err) == (1, True)


def test_what_cannot_be_reported_is_refused_with_advice(
    spark: SparkSession, lake: Path, tmp_path: Path
):
    source = run("report", "--lake", lake, "--source", "else")
    assert (source.code, source.err) == (
        2,
        "lonnymq: The lake has no source 'else', only shop.\n",
    )
    for text in ("yesterday", "9999-12-31", "0001-01-01"):
        day = run("report", "--lake", lake, "--to", text)
        assert (day.code, "2030-01-31" in day.err) == (2, True)
    (tmp_path / "file").touch()
    tables = run("report", "--lake", lake, "--csv", tmp_path / "file")
    assert (tables.code, "is a file: name a folder" in tables.err) == (2, True)
    order = run("report", "--lake", lake, "--from", "2030-01-11", "--to", "2030-01-10")
    assert (order.code, "must be after the start" in order.err) == (2, True)
    folder = run(
        "report", "--lake", lake, "--from", "2030-01-10", "--out", tmp_path / "no" / "page.html"
    )
    assert (folder.code, "page.html" in folder.err) == (1, True)
