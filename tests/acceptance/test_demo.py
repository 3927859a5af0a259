"""`make demo`: the demo ends well, keeps its promises, and leaves nothing behind."""

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from psycopg.conninfo import conninfo_to_dict

from commands import Ran, environment, process, terminal
from support import eventually

ROOT = Path(__file__).parents[2]
DEMO = ["-W", "error", "-m", "examples.demo"]

SHOWN = [
    r"acme: 10 at once allowed, at most \d+ were",
    r"the queue: 16 at once allowed, at most \d+ were",
    r"cedar: 1 each 200 ms with 2 in a burst, 0 spans of time held more",
    r"of 4 quiet tenants, 0 waited as long as by age alone",
    r"leased before their time: 0",
    r"one key, two creates: created, duplicate, 1 message",
    r"the urgent job overtook [\d,]+ older ones of acme",
    r"the upload was deferred 2 times and completed at attempt 1",
    r"the broken video was tried 3 times, dead 1 time, kept, and completed 1 time after its redrive",
    r"the schedule advanced \d+ times, 0 twice",
    r"the killed worker had ([1-9]\d*) jobs in hand: the leases of \1 ran out, others completed \1",
    r"created ([\d,]+), completed \1, dead 1, lost 0",
    r"completed twice: 0",
    r"left in the queue: 0",
    r"workers told to stop ended with \[0, 0\]",
    r"faults that queue_check finds: 0",
]


def demo(*arguments: str, **variables: str) -> Ran:
    """Run the demo, or a variant of the demo, as a process of its own."""
    ran = subprocess.run(
        [sys.executable, *(arguments or DEMO)],
        cwd=ROOT,
        env=environment(None, **variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
    )
    return Ran(ran.returncode, ran.stdout, ran.stderr)


@pytest.mark.long
def test_the_demo_keeps_every_promise_and_leaves_no_files(tmp_path: Path) -> None:
    ran = demo(TMPDIR=str(tmp_path), LONNYMQ_DSN="postgresql://nowhere.invalid")
    assert ran.code == 0, ran.out + ran.err
    flat = re.sub(r"\s+", " ", ran.out)
    for words in SHOWN:
        assert re.search(rf"kept {words}", flat), flat
    assert "BROKEN" not in flat
    quiet = re.findall(r"(?:bloom|cedar|delta|ember) +\d+ ", ran.out)
    assert len(quiet) == 4
    assert "worker process" in ran.out
    assert re.search(r"why does it wait\? The message is scheduled for .* UTC\.", flat)
    assert re.search(r"delta creates 20 at once and may hold 8: \d+ are rejected", flat)
    assert list(tmp_path.iterdir()) == []


BROKEN = """
import sys
from examples.demo import promises, run
promises.AT_ONCE = 3
sys.exit(run.run())
"""


@pytest.mark.long
def test_the_demo_ends_badly_when_a_limit_was_exceeded(tmp_path: Path) -> None:
    ran = demo("-c", BROKEN)
    assert ran.code == 1
    assert re.findall(r"BROKEN +(.*?) *$", ran.out, re.MULTILINE) == [
        "the queue: 3 at once allowed, at most 16 were"
    ]


def workers(show: int) -> list[int]:
    """The workers of a show, by its process id."""
    found = []
    for each in psutil.process_iter():
        with suppress(psutil.Error):
            if each.environ().get("LONNYMQ_DEMO_PARENT") == str(show):
                found.append(each.pid)
    return found


@pytest.mark.long
def test_a_show_that_is_killed_takes_its_workers_along() -> None:
    show = subprocess.Popen(
        [sys.executable, *DEMO],
        cwd=ROOT,
        env=environment(None),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert show.stdout
    for line in show.stdout:
        if "floods the queue" in line:
            break
    assert len(workers(show.pid)) == 3
    os.kill(show.pid, signal.SIGKILL)
    show.wait()
    show.stdout.close()
    eventually(lambda: workers(show.pid) == [])


@pytest.mark.long
def test_in_a_terminal_it_goes_on_until_ctrl_c_if_it_is_kept() -> None:
    nowhere = "postgresql://127.0.0.1:1/x"
    with terminal("--keep", program=[sys.executable, *DEMO], dsn=nowhere, lines=40) as shown:
        shown.sees("A video service")
        eventually(lambda: "It goes on until Ctrl-C" in shown.text, within=120)
        assert "BROKEN" not in shown.text
        dsn = re.search(r"LONNYMQ_DSN='([^']+)'", shown.text.replace("\n", ""))
        assert dsn
        folder = Path(str(conninfo_to_dict(dsn[1])["host"])).parent
        assert folder.exists()
        assert process("status", dsn=dsn[1]).code == 0
        os.kill(shown.process.pid, signal.SIGINT)
        assert shown.ends() == 0
    assert workers(shown.process.pid) == []
    assert not folder.exists()


def test_a_report_without_spark_is_refused() -> None:
    ran = demo(*DEMO, "--report", "report.html")
    assert (ran.code, "--report needs --spark" in ran.err) == (2, True)
