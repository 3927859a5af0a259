"""The worker among the examples, run as its reader would."""

import os
import subprocess
import sys
from pathlib import Path

from lonnymq import Queue
from support import eventually

VIDEOS = Path(__file__).parents[3] / "examples" / "videos.py"


def test_the_video_worker_handles_what_comes_and_reports(dsn_18: str, tmp_path: Path) -> None:
    output = tmp_path / "output"
    environment = {**os.environ, "LONNYMQ_DSN": dsn_18}
    with Queue(dsn_18) as queue, output.open("wb") as sink:
        for name, seconds in (("cats", 60), ("nothing", 0), ("everything", 4000)):
            content = f'{{"name": "{name}", "seconds": {seconds}}}'.encode()
            queue.create("acme", content, kind="encode")
        process = subprocess.Popen(
            [sys.executable, "-W", "error", VIDEOS], env=environment, stdout=sink, stderr=sink
        )
        try:
            eventually(lambda: "'thumbnail completed': 2" in output.read_text())
            [dead] = queue.dead_list()
        finally:
            process.terminate()
            code = process.wait(timeout=60)
    assert (code, dead.content) == (0, b'{"name": "nothing", "seconds": 0}')
    assert {"acme: a thumbnail of cats", "acme: a thumbnail of everything"} <= set(
        output.read_text().splitlines()
    )
