"""Starts a Spark session that suits the queue, and sends the library to executors."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from lonnymq.spark.data_source import LonnySource
from lonnymq.spark.java import find_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


HOME = Path(__file__).parents[2]  # where the library lies: a folder, or a zip that was sent along
# Can be set on a running session as well, and are by `register`.
RUNTIME = {
    "spark.sql.python.filterPushdown.enabled": "true",  # what the option pushDownPredicate needs
}
SETTINGS = {
    **RUNTIME,
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.ui.showConsoleProgress": "false",
}


def session(
    master: str | None = None,
    *,
    app: str = "lonnymq",
    config: Mapping[str, object] | None = None,
) -> SparkSession:
    """Start Spark, or take the session that runs, with the format registered; `config` has the last word.

    Without a master it is what `spark-submit` or `config` says, else this machine, `local[*]`.
    """
    from pyspark.sql import SparkSession

    java = find_java()
    if java:
        os.environ["JAVA_HOME"] = java
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    given = {key: str(value) for key, value in (config or {}).items()}
    if "spark.pyspark.python" in given:  # which only spark-submit would read
        os.environ["PYSPARK_PYTHON"] = given["spark.pyspark.python"]
        # Spark plans a format on this machine with that Python too, which need not have the library.
        paths = [str(HOME), os.environ.get("PYTHONPATH", "")]
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(app)
    if master is not None:
        builder = builder.master(master)
    for key, value in {**SETTINGS, **given}.items():
        builder = builder.config(key, value)
    return register(builder.getOrCreate())


def register(spark: SparkSession) -> SparkSession:
    """Make `format("lonnymq")` known to a session, and give the session back."""
    for key, value in RUNTIME.items():
        spark.conf.set(key, value)
    if HOME.suffix == ".zip":
        reach_planners(spark)
    spark.dataSource.register(LonnySource)
    return spark


def reach_planners(spark: SparkSession) -> None:
    """Let the library be found where Spark plans and streams: in processes of its own, which know no `--py-files`."""
    environment = spark.sparkContext.environment
    paths = environment.get("PYTHONPATH", "").split(os.pathsep)
    if str(HOME) not in paths:
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(HOME), *paths]))


PACKAGES = ("lonnymq", "pyspark_lonnymq")


def pack(path: Path | str) -> Path:
    """Write the library into a zip, for `spark-submit --py-files` or `spark.submit.pyFiles`; say where."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for package in PACKAGES:
            spec = find_spec(package)
            folder = Path(spec.origin).parent if spec and spec.origin else None
            for file in sorted(folder.rglob("*")) if folder else ():
                if (
                    file.is_file()
                    and "__pycache__" not in file.parts
                    and "static" not in file.parts
                ):
                    archive.write(file, Path(package) / file.relative_to(str(folder)))
    return Path(path)


def ship(spark: SparkSession) -> SparkSession:
    """Send the library to the executors of a running session, and give the session back.

    What the library needs itself must be there: psycopg, pyarrow, adbc-driver-postgresql, and for handlers cronsim
    and msgspec.
    """
    folder = Path(tempfile.mkdtemp(prefix="lonnymq-ship-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    spark.sparkContext.addPyFile(str(pack(folder / "lonnymq.zip")))
    return register(spark)  # a format is sent with what was there when it was registered
