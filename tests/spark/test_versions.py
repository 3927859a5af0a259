"""Each version of Spark that the library supports runs a small program, in an environment of its own."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyspark
import pytest

from lonnymq.spark.versions import ADDED, SparkOutdated, check_version, describe_missing

ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).with_name("each_version.py")
REFUSED = {
    "4.0": {
        "filtered_read": "filters in PostgreSQL",
        "stream_write": "stream writes",
        "stream_read": "stream reads",
    },
    "4.1": {"stream_read": "stream reads"},
    "4.2": {},
    "4.3": {},
}
EXPECTED = {
    "batch_write": 1000,
    "batch_read": 499_500,
    "filtered_read": 143,
    "workers": {"completed": 1000},
    "stream_write": 100,
    "stream_read": 100,
}


def environment(version: str) -> Path:
    """The Python of an environment with this Spark: this one, or one kept in build until pyproject.toml changes."""
    if pyspark.__version__.startswith(f"{version}."):
        return Path(sys.executable)
    project = (ROOT / "pyproject.toml").read_bytes()
    stamp = hashlib.sha256(project + str(ROOT).encode() + sys.version.encode()).hexdigest()
    folder = ROOT / "build" / f"spark-{version}"
    installed = folder / "installed"
    python = folder / "bin" / "python"
    if not installed.exists() or installed.read_text() != stamp:
        shutil.rmtree(folder, ignore_errors=True)
        run = [sys.executable, "-m", "venv", str(folder)]
        subprocess.run(run, check=True, capture_output=True)
        wanted = ["--editable", f"{ROOT}[binary,worker,spark]", f"pyspark=={version}.*"]
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *wanted], check=True, capture_output=True)
        installed.write_text(stamp)
    return python


@pytest.mark.long
@pytest.mark.timeout(600)  # the first run installs Spark
@pytest.mark.parametrize("version", REFUSED)
def test_a_version_of_spark_does_what_it_can_and_refuses_the_rest(
    version: str, dsn_18: str, tmp_path: Path
) -> None:
    command = [str(environment(version)), str(PROGRAM), dsn_18, str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    assert found["version"].startswith(f"{version}.")
    missing = {
        step: describe_missing(found["version"], REFUSED[version][step])
        for step in REFUSED[version]
    }
    for step, expected in EXPECTED.items():
        if step in missing:
            assert missing[step] in found[step]
        else:
            assert found[step] == expected
    assert sorted(found["logged"]) == sorted(f"lonnymq: {each}" for each in missing.values())


def test_every_feature_that_a_version_lacks_is_tried() -> None:
    assert {*ADDED} == {each for refused in REFUSED.values() for each in refused.values()}


def test_a_spark_before_version_4_is_refused() -> None:
    spark: Any = SimpleNamespace(version="3.5.9")
    with pytest.raises(
        SparkOutdated, match=r"needs Spark 4\.0 or newer, and this is Spark 3\.5\.9"
    ):
        check_version(spark)
