"""`lonnymq lake sync`, as its user runs it."""

from __future__ import annotations

import logging
import signal
import subprocess
from pathlib import Path

import pytest

from commands import PROGRAM, environment, run
from lake.history_fixture import HistoryFixture, settle
from support import eventually

LOCAL = ("--master", "local[1]", "--conf", "spark.ui.enabled=false")


def test_sync_says_what_it_brought(
    spark, history_fixture: HistoryFixture, found, tmp_path: Path
) -> None:
    history_fixture.add(3)
    settle(history_fixture.dsn)
    ran = run(
        "lake", "sync", "--lake", tmp_path / "lake", "--source", "shop", dsn=history_fixture.dsn
    )
    assert ran.code == 0, ran.err
    assert ran.out.startswith("3 rows of shop in 1 file, ")
    again = run(
        "lake", "sync", "--lake", tmp_path / "lake", "--source", "shop", dsn=history_fixture.dsn
    )
    assert again.out == "no new history of shop\n"
    history_fixture.add(2)
    settle(history_fixture.dsn)
    ran = run(
        "lake",
        "sync",
        "--lake",
        tmp_path / "lake",
        "--source",
        "shop",
        "--json",
        dsn=history_fixture.dsn,
    )
    assert (ran.json["rows"], ran.json["source"]) == (2, "shop")
    assert found() == history_fixture.made
    assert spark.range(3).count() == 3  # a session that was there is not stopped


def test_what_the_lake_s_commands_say_has_no_payload(
    spark, history_fixture: HistoryFixture, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="lonnymq")
    history_fixture.add(3, content=b"payload-canary-0815")
    settle(history_fixture.dsn)
    lake, output = ("--lake", tmp_path / "lake"), []
    for words in (("sync", "--source", "shop"), ("status",), ("status", "--json"), ("compact",)):
        ran = run("lake", *words, *lake, dsn=history_fixture.dsn)
        assert ran.code == 0, ran.err
        output += [ran.out, ran.err]
    [row] = (
        spark.read.parquet(str(tmp_path / "lake" / "history"))
        .select("content")
        .distinct()
        .collect()
    )
    assert bytes(row.content) == b"payload-canary-0815"
    assert "canary" not in "".join(output) + caplog.text


@pytest.mark.long
@pytest.mark.timeout(900)
def test_sync_follows_until_sigterm(history_fixture: HistoryFixture, found, tmp_path: Path) -> None:
    history_fixture.add(3)
    hidden = ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET", "SPARK_LOCAL_DIRS")
    known = {
        key: value for key, value in environment(history_fixture.dsn).items() if key not in hidden
    }
    words = ("lake", "sync", "--follow", "--interval", "100ms", "--lake", tmp_path / "lake", *LOCAL)
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            [*PROGRAM, *map(str, words), "--source", "shop"], env=known, stdout=log, stderr=log
        )
        try:
            eventually(lambda: has(tmp_path, 3) or process.poll() is not None, within=300)
            history_fixture.add(2)
            eventually(lambda: has(tmp_path, 5) or process.poll() is not None, within=300)
            process.send_signal(signal.SIGTERM)
            code = process.wait(120)
        finally:
            if process.poll() is None:
                process.kill()
    assert code == 0, (tmp_path / "log").read_text()
    assert "2 rows of shop in 1 file" in (tmp_path / "log").read_text()
    assert found() == history_fixture.made


def has(folder: Path, rows: int) -> bool:
    """Whether the lake has so many rows by now."""
    import lonnymq.lake

    try:
        return sum(each.rows for each in lonnymq.lake.read_status(folder / "lake").sources) == rows
    except lonnymq.lake.LakeMissing:
        return False


@pytest.mark.parametrize(
    ("words", "output"),
    [
        (("--interval", "soon"), "--interval"),
        (("--storage-option", "region"), "write key=value"),
        (("--source", "x" * 64), "the name of a source must have 1 to 63 bytes"),
        (("--schema", "nowhere"), "Run: lonnymq install --schema nowhere"),
    ],
)
def test_what_makes_no_sense_is_refused_before_spark_starts(
    dsn_18: str, tmp_path: Path, words: tuple[str, ...], output: str
) -> None:
    ran = run("lake", "sync", "--lake", tmp_path / "lake", *words, dsn=dsn_18)
    assert ran.code != 0
    assert output.lower() in ran.err.lower()
    assert not (tmp_path / "lake").exists()


def test_a_database_that_does_not_answer_is_told_of_as_by_other_commands(tmp_path: Path) -> None:
    dsn = "postgresql://nobody:secret@127.0.0.1:1/none"
    ran = run("lake", "sync", "--lake", tmp_path / "lake", dsn=dsn)
    assert ran.code == 3
    assert "The database cannot be reached" in ran.err
    assert "Check that the server runs. Check the DSN" in ran.err
    assert "secret" not in ran.err
    assert not (tmp_path / "lake").exists()


def test_a_store_that_is_unknown_is_told_of(dsn_18: str) -> None:
    ran = run("lake", "status", "--lake", "gopher://somewhere/lake", dsn=dsn_18)
    assert ran.code == 1
    assert "The table gopher://somewhere/lake/history cannot be read" in ran.err
