"""The benchmark as a command: a small run of it, with a peer that is not installed."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from documents import ROOT

KEYS = {
    "date", "command", "commit", "machine", "python", "psycopg", "postgresql", "settings", "systems", "scenarios",
    "minutes", "quick", "rounds", "verdicts", "not_installed", "broken_scenarios", "entries",
}  # fmt: skip
ENTRY_KEYS = {"scenario", "case", "system", "unit", "samples", "details", "error", "median", "spread"}  # fmt: skip
pytestmark = pytest.mark.xdist_group("benchmark")  # the run is made once


def bench(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=240,
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Any]]:
    """Two of the scenarios with the shortest samples, by systems that need nothing, and by one that is not there."""
    file: Path = tmp_path_factory.mktemp("bench") / "run.json"
    peers = ["--peers", "lonnymq,skip locked,chancy"]
    short = ["--quick", "--repeat", "1", "--seconds", "0.2", "--only", "create,memory"]
    ran = bench(*short, *peers, "--json", str(file))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout, json.loads(file.read_text())


@pytest.mark.long
def test_a_run_ends_with_a_table_and_tells_where_its_samples_are(
    run: tuple[str, dict[str, Any]],
) -> None:
    text, _ = run
    assert "\ncreate\nmessages/s" in text
    assert "100 per call" in text
    assert "written: " in text.splitlines()[-1]


@pytest.mark.long
def test_the_file_has_machine_versions_command_and_every_sample(
    run: tuple[str, dict[str, Any]],
) -> None:
    _, report = run
    assert set(report) >= KEYS
    assert report["settings"]["fsync"] == report["settings"]["synchronous_commit"] == "on"
    assert report["postgresql"].startswith("18")
    assert "--only create,memory" in report["command"]
    assert all(set(entry) == ENTRY_KEYS for entry in report["entries"])
    ours = [entry for entry in report["entries"] if entry["system"] == "lonnymq"]
    assert all(entry["samples"] and min(entry["samples"]) > 0 for entry in ours)


@pytest.mark.long
def test_a_peer_that_does_not_run_is_reported_with_the_reason(
    run: tuple[str, dict[str, Any]],
) -> None:
    text, report = run
    broken = [entry for entry in report["entries"] if entry["system"] == "chancy"]
    assert len(broken) == 2
    assert all("No module named 'chancy'" in entry["error"] for entry in broken)
    assert all(not entry["samples"] for entry in broken)
    assert "- chancy failed in create" in text


@pytest.mark.long
def test_the_memory_of_a_consumer_is_judged(run: tuple[str, dict[str, Any]]) -> None:
    _, report = run
    [verdict] = [each for each in report["verdicts"] if each["scenario"] == "memory"]
    assert verdict["verdict"] in ("ok", "not reached")
    assert 0.5 < verdict["value"] < 2


@pytest.mark.parametrize(
    ("option", "value"), [("--only", "creation"), ("--peers", "nobody")], ids=["scenario", "peer"]
)
def test_an_unknown_shape_or_peer_is_refused_before_anything_starts(
    option: str, value: str
) -> None:
    ran = bench(option, value)
    assert ran.returncode == 2
    assert value in ran.stderr


@pytest.mark.long
def test_the_page_is_written_from_a_run_between_its_marks(
    run: tuple[str, dict[str, Any]], tmp_path: Path
) -> None:
    from benchmarks.report import document

    _, report = run
    page = tmp_path / "benchmarks.md"
    page.write_text(f"before\n{document.BEGIN}\nan old figure\n{document.END}\nafter\n")
    document.write_page(report, "run.json", page)
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "an old figure" not in text
    assert "| lonnymq |" in text
    document.write_page(report, "run.json", page)
    assert page.read_text() == text
