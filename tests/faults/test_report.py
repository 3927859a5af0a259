"""A run ends in tables and a JSON, and in the history of what it found."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from faults.checker import Violation
from faults.run import Result

from faults import report


@pytest.fixture
def result() -> Result:
    found = {"lost": [Violation("lost", "p-1 is nowhere", 1)], "late": [Violation("late", "slow")]}
    story = ["message 1 (p-1)", "  900  create of p-1"]
    faults = Counter({"worker_sigkill": 2, "half_open": 1})
    return Result("mixed", "ci", 7, 12.5, 1000, faults, found, 1.25, {"calls": 3}, [story])


def test_the_table_has_a_row_for_each_scenario_and_one_for_each_fault(result: Result) -> None:
    lines = [
        [cell.strip() for cell in line.split("|")]
        for line in report.render_tables([result]).splitlines()
    ]
    heads = [
        "scenario", "messages", "faults", "lost", "ghosts", "doubly completed", "overlaps", "handlers",
        "over limit", "other", "slowest recovery", "took", "seed",
    ]  # fmt: skip
    assert lines[0][1:-1] == heads
    assert lines[2][1:-1] == ["mixed", "1,000", "3", *"1000001", "1.25 s", "12 s", "7"]
    assert ["", "worker_sigkill", "2", ""] in lines


def test_a_failure_tells_what_and_the_history_of_the_message(result: Result) -> None:
    output = report.render_failures([result])
    assert "mixed: lost: p-1 is nowhere (message 1)" in output
    assert "create of p-1" in output


def test_the_json_has_it_all(result: Result, tmp_path: Path) -> None:
    report.save_json([result], tmp_path / "results" / "run.json")
    [run] = json.loads((tmp_path / "results" / "run.json").read_text())["runs"]
    assert run["found"] == {"lost": 1, "late": 1}
    assert run["slowest_recovery_seconds"] == 1.25
    assert run["violations"][0]["id"] == 1


def test_a_page_gets_the_tables_once(result: Result, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Page\n\nText.\n")
    report.write_page([result], page, "make faults")
    report.write_page([result], page, "make faults")
    text = page.read_text()
    assert text.startswith("# Page\n\nText.\n")
    assert text.count("| mixed ") == 1
    assert text.count("### `make faults`") == 1


def test_the_scenarios_are_listed_without_running_any() -> None:
    command = [sys.executable, "-m", "faults", "--list"]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert ran.returncode == 0
    assert "zombie" in ran.stdout
