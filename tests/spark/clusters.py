"""A real standalone cluster on loopback, a master and two workers as processes; and a Python that lacks the library."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark

from support import eventually

SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
MASTER, WORKER = "org.apache.spark.deploy.master.Master", "org.apache.spark.deploy.worker.Worker"
HERE = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")


@contextmanager
def cluster(folder: Path, *, workers: int = 2, memory: str = "600m") -> Iterator[str]:
    """A cluster of one-core workers with so much memory each; yields the address of its master."""
    with ExitStack() as stack:
        log = stack.enter_context(running(folder, "master", MASTER, *HERE))
        found = eventually(
            lambda: re.search(r"spark://127\.0\.0\.1:\d+", log.read_text()), within=180
        )
        for number in range(workers):
            name = f"worker-{number}"
            own = ("--cores", "1", "--memory", memory, "--work-dir", str(folder / name))
            # Spark starts a second copy of a slow task on another host only.
            host = ("--host", f"127.0.0.{number + 1}" if sys.platform == "linux" else "127.0.0.1")
            stack.enter_context(running(folder, name, WORKER, *HERE, *own, *host, found[0]))
        joined = re.compile("Registering worker")
        eventually(lambda: len(joined.findall(log.read_text())) == workers, within=180)
        yield found[0]


@contextmanager
def running(folder: Path, name: str, *command: str) -> Iterator[Path]:
    """One of its processes, ended with those that it has started; yields its log."""
    log = folder / f"{name}.log"
    hidden = ("PYTHONPATH", "PYSPARK_PYTHON", "PYSPARK_GATEWAY_PORT", "SPARK_LOCAL_DIRS")
    known = {key: value for key, value in os.environ.items() if key not in hidden}
    limits = {"SPARK_DAEMON_MEMORY": "256m", "SPARK_LOCAL_IP": "127.0.0.1"}
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(SPARK_CLASS), *command],
            env={**known, **limits},
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        yield log
    finally:
        process.terminate()  # a worker ends its executors
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def bare_python(folder: Path) -> Path:
    """A Python that has what the library needs, and not the library."""
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", folder],
        check=True,
    )
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    own = folder / "lib" / version / "site-packages"
    # A path in a .pth file is searched for modules, but its own .pth files, which make the library known, are not read.
    (own / "others.pth").write_text(str(Path(pyspark.__file__).parents[1]) + "\n")
    return folder / "bin" / "python"
