"""The pages of figures and of the report: every block of theirs is run, in the Spark that the tests have anyway."""

from __future__ import annotations

import asyncio
import csv
import json
import shlex
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from commands import run
from documents import ROOT, Block, Program, blocks_of

HERE = "tests/report/test_analytics_docs.py"
NOBODYS = ("your own lake", "it needs a lake")  # days and places that only their reader has


def blocks(name: str) -> list[Block]:
    """The blocks that are left to this test; every other one has its reason."""
    found = list(blocks_of((ROOT / "docs" / name).read_text()))
    for block in found:
        assert block.not_run
        assert any(reason in block.not_run for reason in (HERE, *NOBODYS))
    return [block for block in found if HERE in str(block.not_run)]


def command(line: str) -> None:
    """Run a command in this process; `> file` keeps what it says."""
    words, _, file = line.partition(" > ")
    ran = run(*shlex.split(words)[1:])
    assert ran.code == 0, ran.err
    if file:
        Path(file).write_text(ran.out)


def execute(name: str) -> None:
    """Run a page's blocks in order, and compare what they give with what they say."""
    with asyncio.Runner() as runner:
        program = Program(ROOT / "docs" / name, runner)
        for block in blocks(name):
            if block.language == "python":
                program.run(block)
            else:
                for line in block.text.splitlines():
                    command(line)


@pytest.mark.long  # three reports, one after the other
def test_the_page_of_the_report_does_what_it_says(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    execute("guides/what-happened-last-week.md")
    assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")
    made = json.loads((tmp_path / "report.json").read_text())
    assert (made["summary"]["tenants"], len(made["highlights"])) == (12, 3)
    tables = {path.stem: list(csv.DictReader(path.open())) for path in Path("tables").iterdir()}
    assert {
        "channel_hours",
        "tenants",
        "fairness",
        "starvation",
        "errors",
        "forecast",
    } <= tables.keys()
    assert (
        sum(int(each["ended"]) for each in tables["channel_hours"]) == made["summary"]["attempts"]
    )
    assert len(tables["tenants"]) == 12


@pytest.mark.long
def test_the_page_of_the_figures_gives_what_it_says(spark: SparkSession):
    execute("analytics.md")
