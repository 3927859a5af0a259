"""A sync killed with -9 at any point, and begun again: every row once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest

import lonnymq.lake
from lake.history_fixture import HistoryFixture, settle
from lonnymq.lake.tables import list_files

PROGRAM = Path(__file__).with_name("killed_sync.py")
pytestmark = pytest.mark.timeout(900)  # a second Spark, on a machine that may be busy


@pytest.mark.long
@pytest.mark.parametrize(
    ("point", "reached", "confirmed_rows", "orphans"),
    [
        ("settings", 0, 0, False),
        pytest.param("writing", 8, 8, True, marks=pytest.mark.long),
        ("written", 8, 8, True),
        ("committed", 16, 8, False),
    ],
)
def test_a_sync_killed_on_the_way_loses_nothing_and_repeats_nothing(
    sync, history_fixture: HistoryFixture, found, watcher: psycopg.Connection, tmp_path: Path,
    point: str, reached: int, confirmed_rows: int, orphans: bool,
) -> None:  # fmt: skip
    history_fixture.add_each(30)
    xids = [
        row[0]
        for row in watcher.execute("select xid::text::bigint from lonnymq.history order by xid")
    ]
    settle(history_fixture.dsn)
    assert run(point, history_fixture.dsn, tmp_path) == -signal.SIGKILL
    assert found() == history_fixture.made[:reached]
    confirmed = watcher.execute(
        "select confirmed::text::bigint from lonnymq.history_reader"
    ).fetchone()
    assert confirmed == (xids[confirmed_rows] if confirmed_rows else 0,)
    assert bool(strangers(tmp_path / "lake")) == orphans

    history_fixture.add_each(5)
    # What PostgreSQL has not heard of is brought again, in the place of what the lake had.
    assert sync().rows == 35 - confirmed_rows
    assert found() == history_fixture.made
    assert sync().rows == 0
    if point == "committed":  # the replaced files stay for a week, for those who read them
        return
    left = strangers(tmp_path / "lake")
    age(left)
    gone = [file for each in lonnymq.lake.vacuum(tmp_path / "lake") for file in each.files]
    assert len(gone) == len(left)
    assert strangers(tmp_path / "lake") == []
    assert found() == history_fixture.made


def test_files_that_are_young_are_not_taken_away(
    sync, history_fixture: HistoryFixture, tmp_path: Path
) -> None:
    history_fixture.add(1)
    sync()
    own = next(tmp_path.glob("lake/history/source=*/*/*.parquet"))
    stranger = own.with_name("part-of-a-sync-that-goes-on.parquet")
    stranger.write_bytes(own.read_bytes())
    lonnymq.lake.vacuum(tmp_path / "lake", older_than=timedelta(hours=1))
    assert stranger.exists()


def strangers(lake: Path) -> list[Path]:
    """The files that no table knows of."""
    from deltalake import DeltaTable

    table = DeltaTable(lake / "history")
    known = {lake / "history" / each.path for each in list_files(table)}
    return sorted({*lake.glob("history/source=*/*/*.parquet")} - known)


def age(files: list[Path]) -> None:
    """Make files look as if they had been there for long."""
    long_ago = time.time() - 30 * 86_400
    for each in files:
        os.utime(each, (long_ago, long_ago))


def run(point: str, dsn: str, folder: Path) -> int:
    """Run the program in a group of its own until it has died."""
    hidden = ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET", "SPARK_LOCAL_DIRS")
    known = {key: value for key, value in os.environ.items() if key not in hidden}
    path = os.pathsep.join([str(PROGRAM.parents[1]), *filter(None, [known.get("PYTHONPATH")])])
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, PROGRAM, point, dsn, folder / "lake"],
            env={**known, "DYING_FOLDER": str(folder), "PYTHONPATH": path},
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            code = process.wait(400)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    assert code == -signal.SIGKILL, (folder / "log").read_text()
    return code
