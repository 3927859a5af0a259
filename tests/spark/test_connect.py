"""Spark Connect: a client without a JVM uses the queue through a real server."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark
import pytest

from support import eventually

PROGRAM = Path(__file__).with_name("each_version.py")
SUBMIT = Path(pyspark.__file__).parent / "bin" / "spark-submit"
SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
CONFIG = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.connect.grpc.binding.address": "127.0.0.1",
}
EXPECTED = {
    "version": pyspark.__version__,
    "logged": [],
    "batch_write": 1000,
    "batch_read": 499_500,
    "filtered_read": 143,
    "workers": {"completed": 1000},
    "stream_write": 100,
    "stream_read": 100,
    "outcomes": 4,
    "lake": 1110,
    "report": True,
    "sweep": "a sweep does not work with Spark Connect: call run_trials, or use lonnymq simulate --spark never",
}


@contextmanager
def connect_server(folder: Path) -> Iterator[str]:
    """A Spark Connect server on loopback; yields its address."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    config = {**CONFIG, "spark.connect.grpc.binding.port": str(port)}
    options = [part for key, value in config.items() for part in ("--conf", f"{key}={value}")]
    where = ["--master", "local[2]", "--driver-memory", "1g", *options]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [str(SUBMIT), "--class", SERVER, *where, "spark-internal"],
            env=environment,
            cwd=folder,
            stdout=log,
            stderr=log,
        )
    try:
        eventually(lambda: is_open(port), within=180)
        yield f"sc://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(60)


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_client_without_a_jvm_does_everything_through_a_connect_server(
    dsn_18: str, tmp_path: Path
) -> None:
    without_java = {**os.environ, "JAVA_HOME": "/nowhere"}
    with connect_server(tmp_path) as address:
        command = [sys.executable, str(PROGRAM), dsn_18, str(tmp_path), address]
        ran = subprocess.run(command, env=without_java, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout.splitlines()[-1]) == EXPECTED
