from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

EXAMPLE = Path(__file__).parents[2] / "examples" / "files_into_queue.py"


def test_files_go_into_the_queue_once(
    spark: SparkSession,
    connect,
    dsn_18: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("LONNYMQ_DSN", dsn_18)
    monkeypatch.setattr("sys.argv", [EXAMPLE.name, str(tmp_path)])
    (tmp_path / "monday.csv").write_text("tenant,video,minutes\nacme,1,5\nglobex,2,7\n,3,9\n")
    for file in ("tuesday.csv", "wednesday.csv"):
        runpy.run_path(str(EXAMPLE), run_name="__main__")
        (tmp_path / file).write_text("tenant,video,minutes\nacme,4,5\n")
    text = capsys.readouterr().out.splitlines()
    assert text == ["acme 1", "globex 1", "acme 2", "globex 1"]
    connection = connect(dsn_18)
    first = connection.execute(
        "select kind, convert_from(content, 'UTF8') from lonnymq.message order by id limit 1"
    )
    assert first.fetchone() == ("transcode", '{"video":1,"minutes":5}')
    rejected = connection.execute("select detail from rejected_lines").fetchall()
    assert rejected == [("channel must be given",)]
