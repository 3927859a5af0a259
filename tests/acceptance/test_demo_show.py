"""`lonnymq demo`: the show ends well, keeps its promises, and leaves nothing behind."""

import os
import re
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from psycopg.conninfo import conninfo_to_dict

from commands import PROGRAM, environment, process, terminal
from support import eventually

SHOWN = [
    r"acme: 10 at once allowed, at most \d+ were",
    r"the queue: 16 at once allowed, at most \d+ were",
    r"cedar: 1 each 200 ms with 2 in a burst, 0 spans of time held more",
    r"the urgent job overtook [\d,]+ older ones of acme",
    r"the upload was deferred 2 times and completed at attempt 1",
    r"the broken video was tried 3 times, and is dead and kept",
    r"the schedule ticked \d+ times, 0 twice",
    r"the killed worker had ([1-9]\d*) jobs in hand: the leases of \1 ran out, others completed \1",
    r"created ([\d,]+), completed [\d,]+, dead 1, lost 0",
    r"completed twice: 0",
    r"left in the queue: 0",
    r"workers told to stop ended with \[0, 0\]",
    r"faults that queue_check finds: 0",
]


@pytest.mark.heavy
def test_the_show_keeps_every_promise() -> None:
    ran = process("demo")
    assert ran.code == 0, ran.out + ran.err
    flat = re.sub(r"\s+", " ", ran.out)
    for words in SHOWN:
        assert re.search(rf"kept {words}", flat), flat
    assert "BROKEN" not in flat
    quiet = re.findall(r"(?:bloom|cedar|delta|ember) +\d+ ", ran.out)
    assert len(quiet) == 4
    assert "worker process" in ran.out


def workers(show: int) -> list[int]:
    """The workers of a show, by its process id."""
    found = []
    for each in psutil.process_iter():
        with suppress(psutil.Error):
            if each.environ().get("LONNYMQ_DEMO_PARENT") == str(show):
                found.append(each.pid)
    return found


@pytest.mark.heavy
def test_a_show_that_is_killed_takes_its_workers_along() -> None:
    show = subprocess.Popen(
        [*PROGRAM, "demo"],
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


@pytest.mark.heavy
@pytest.mark.long
def test_in_a_terminal_it_goes_on_until_ctrl_c_if_it_is_kept() -> None:
    with terminal("demo", "--keep", dsn="postgresql://127.0.0.1:1/x", lines=40) as shown:
        shown.sees("A video service")
        eventually(lambda: "It goes on until Ctrl-C" in shown.text, within=120)
        assert "BROKEN" not in shown.text
        dsn = re.search(r"LONNYMQ_DSN='([^']+)'", shown.text.replace("\n", ""))
        assert dsn
        folder = Path(conninfo_to_dict(dsn[1])["host"]).parent
        assert folder.exists()
        assert process("status", dsn=dsn[1]).code == 0
        os.kill(shown.process.pid, signal.SIGINT)
        assert shown.ends() == 0
    assert workers(shown.process.pid) == []
    assert not folder.exists()


def test_it_does_not_touch_a_server_of_yours() -> None:
    ran = process("demo", "--dsn", "postgresql://127.0.0.1:1/x")
    assert (ran.code, "private server of its own" in ran.err) == (2, True)


def test_a_report_without_spark_is_refused() -> None:
    ran = process("demo", "--report", "report.html")
    assert (ran.code, "say both" in ran.err) == (2, True)
