"""`lonnymq worker --metrics`: several processes, each with an address of its own."""

import re
import subprocess
from pathlib import Path

import httpx

from commands import PROGRAM, environment
from lonnymq import Queue
from support import eventually

JOBS = """
import lonnymq

worker = lonnymq.Worker()

@worker.handler()
async def done(content: bytes) -> None: ...
"""


def test_each_process_of_a_worker_answers_at_a_port_of_its_own(tmp_path: Path, dsn_18: str) -> None:
    (tmp_path / "jobs.py").write_text(JOBS)
    log = tmp_path / "log"
    command = [*PROGRAM, "worker", "jobs:worker", "--processes", "2", "--metrics", "23461"]
    with log.open("w") as errors:
        worker = subprocess.Popen(command, cwd=tmp_path, env=environment(dsn_18), stderr=errors)
    try:

        def addresses() -> list[str]:
            return re.findall(r"http://\S+/metrics", log.read_text())

        eventually(lambda: len(addresses()) == 2)
        found = set(addresses())
        assert len(found) == 2
        with Queue(dsn_18) as queue:
            queue.create_many([b"x"] * 50, channel="acme")
            eventually(lambda: queue.stats().waiting + queue.stats().leased == 0)

        def counted() -> int:
            texts = [httpx.get(each).text for each in found]
            pattern = r'settled_total\{answer="completed"\} (\d+)'
            return sum(int(each) for text in texts for each in re.findall(pattern, text))

        eventually(lambda: counted() == 50)
    finally:
        worker.terminate()
        assert worker.wait(60) == 0
