"""The examples of Spark, run in the session of the tests."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

EXAMPLES = Path(__file__).parents[2] / "examples"


pytestmark = [pytest.mark.timeout(900), pytest.mark.long]  # a Spark on a machine that may be busy


@pytest.fixture(autouse=True)
def server(monkeypatch: pytest.MonkeyPatch, spark: SparkSession, dsn_18: str) -> None:
    monkeypatch.setenv("LONNYMQ_DSN", dsn_18)


def test_the_queue_goes_into_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["queue_into_table.py", str(tmp_path)])
    runpy.run_path(str(EXAMPLES / "queue_into_table.py"), run_name="__main__")
    text = capsys.readouterr().out.splitlines()
    assert text == ["tenant-0 135", "tenant-1 145", "tenant-2 155", "1 set aside"]


def test_handlers_run_on_a_cluster(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["handlers_on_cluster.py"])
    runpy.run_path(str(EXAMPLES / "handlers_on_cluster.py"), run_name="__main__")
    text = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in text] == ["completed"] * 4 + ["dead"] * 2
    assert text[-1] == "acme dead ValueError: photo 6000 is 6000 wide"
