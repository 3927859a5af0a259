"""`spark-submit` to a real cluster, as docs/guides/run-on-spark.md says, where nobody has installed the library."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from importlib.metadata import files
from pathlib import Path
from typing import Any

import psycopg
import pyspark
import pytest

import lonnymq
from lonnymq import NewMessage, Queue
from lonnymq.spark import package_library
from spark.clusters import bare_python, cluster
from spark.streams import left
from support import message_id

JOB = Path(__file__).with_name("submit_program.py")
SUBMIT = Path(pyspark.__file__).parent / "bin" / "spark-submit"
CONF = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.executor.memory": "512m",
    "spark.sql.shuffle.partitions": "2",
}
pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with cluster(tmp_path_factory.mktemp("cluster")) as address:
        yield address


def submit(
    master: str, dsn: str, folder: Path, *options: str, **environment: str
) -> dict[str, Any]:
    """Submit the job from a folder, and read what it saw."""
    hidden = ("PYTHONPATH", "VIRTUAL_ENV")
    known = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith("PYSPARK") and key not in hidden
    }
    conf = [word for each in CONF.items() for word in ("--conf", "=".join(each))]
    ran = subprocess.run(
        [SUBMIT, "--master", master, *conf, *options, JOB, dsn, str(folder)],
        env={**known, "PYTHONPATH": str(JOB.parents[1]), **environment},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert ran.returncode == 0, ran.stderr[-8_000:]
    return json.loads(ran.stdout.splitlines()[-1])


def check(seen: dict[str, Any], dsn: str, ids: list[int]) -> None:
    """Everything was done once."""
    assert seen["ids"] == ids
    assert seen["answers"] == {"completed": 2_000}
    assert seen["history"] == len(ids) + 2_000
    assert left(dsn) == []
    with psycopg.connect(dsn, autocommit=True) as connection:
        found = connection.execute(
            "select count(*), count(distinct message_id) from lonnymq.history"
        )
        assert found.fetchone() == (len(ids) + 2_000, len(ids) + 2_000)


@pytest.fixture
def ids(dsn_18: str) -> list[int]:
    with Queue(dsn_18) as queue:
        made = queue.create_many([NewMessage(b"%d" % each, f"c{each % 5}") for each in range(100)])
    return [message_id(each) for each in made]


def test_the_packed_library_goes_along_as_a_py_file(
    master: str, dsn_18: str, ids: list[int], tmp_path: Path
) -> None:
    """Neither the executors' Python nor the driver's has the library, and both have what it needs."""
    python = bare_python(tmp_path / "bare")
    library = package_library(tmp_path / "lonnymq.zip")
    seen = submit(master, dsn_18, tmp_path, "--py-files", str(library), PYSPARK_PYTHON=str(python))
    for prefix, home in [seen["driver"], *seen["executors"]]:
        assert prefix == str(tmp_path / "bare")
        assert "lonnymq.zip" in home
    check(seen, dsn_18, ids)


def test_a_whole_environment_goes_along_as_an_archive(
    master: str, dsn_18: str, ids: list[int], tmp_path: Path
) -> None:
    """The executors have a Python and no package; the driver has the environment unpacked where the job is started."""
    environment = make_environment(tmp_path / "environment")
    with tarfile.open(tmp_path / "environment.tar.gz", "w:gz", compresslevel=1) as archive:
        archive.add(environment, ".")
    seen = submit(
        *(master, dsn_18, tmp_path, "--archives", "environment.tar.gz#environment"),
        PYSPARK_DRIVER_PYTHON="environment/bin/python",
        PYSPARK_PYTHON="./environment/bin/python",
    )
    assert seen["driver"][0] == str(tmp_path / "environment")
    for prefix, home in seen["executors"]:
        assert prefix.endswith("/environment")
        assert not prefix.startswith(str(tmp_path / "environment"))
        assert home.startswith(prefix)
    check(seen, dsn_18, ids)


def make_environment(folder: Path) -> Path:
    """What `python -m venv` and pip would make for an executor, from what is installed here."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = folder / "lib" / version / "site-packages"
    home = Path(pyspark.__file__).parents[1]
    for name in needed():
        for file in files(name) or []:
            if ".." not in file.parts and (home / file).is_file():
                (packages / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(home / file, packages / file)
    for package in ("lonnymq", "pyspark_lonnymq"):
        shutil.copytree(Path(lonnymq.__file__).parents[1] / package, packages / package)
    return folder


def needed() -> list[str]:
    """The distributions that an executor needs: Spark itself is there already."""
    return [
        *("psycopg", "psycopg-binary", "typing_extensions", "pyarrow", "pandas", "numpy", "pytz"),
        *("python-dateutil", "tzdata", "adbc-driver-manager", "adbc-driver-postgresql"),
        "importlib_resources",
        *("pgpq", "cronsim", "msgspec"),
    ]
