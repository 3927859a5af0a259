"""A Prometheus of Debian's, as a process of its own that is asked what it knows; and promtool, which judges files."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import yaml

from support import eventually, missing

UNPACKED = Path(sys.prefix) / "debian" / "usr" / "bin"  # by scripts/system-packages

EACH_SECOND = {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"}


def program(name: str) -> str:
    """One of Prometheus's programs, installed or unpacked."""
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:{UNPACKED}")
    if found is None:
        missing("prometheus")
    return found


def promtool(*words: str | Path, stdin: str | None = None) -> str:
    """What promtool says to something that is right in its eyes."""
    ran = subprocess.run(
        [program("promtool"), *words], input=stdin, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout + ran.stderr


class Prometheus:
    """One that runs."""

    def __init__(self, address: str) -> None:
        self.client = httpx.Client(base_url=f"http://{address}/api/v1/", timeout=60)

    def ask(self, path: str, **parameters: str) -> Any:
        """What its API answers."""
        answer = self.client.get(path, params=parameters).json()
        assert answer["status"] == "success", answer
        return answer["data"]

    def values(self, query: str) -> list[float]:
        """The values of a query now."""
        return [float(each["value"][1]) for each in self.ask("query", query=query)["result"]]


@contextmanager
def prometheus(folder: Path, config: dict[str, Any]) -> Iterator[Prometheus]:
    """Run one with this configuration, which scrapes and judges once a second."""
    (folder / "prometheus.yml").write_text(yaml.safe_dump({"global": EACH_SECOND, **config}))
    log = folder / "prometheus.log"
    command = [
        program("prometheus"),
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        "--web.listen-address=127.0.0.1:0",
    ]
    with log.open("w") as errors:
        process = subprocess.Popen(command, cwd=folder, stdout=errors, stderr=errors)
    try:
        listening = eventually(lambda: re.search(r"Listening on\" address=(\S+)", log.read_text()))
        yield Prometheus(listening[1])
    finally:
        process.terminate()
        process.wait(60)
