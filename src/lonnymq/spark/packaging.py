"""The library for executors that do not have it: a zip of it, sent to them by Spark."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from lonnymq.spark.spark_session import register

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
