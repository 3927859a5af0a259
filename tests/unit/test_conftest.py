"""Programs that the tests start obey signals, whatever the shell that started the tests ignores."""

import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
SHOW = "from signal import *; print([getsignal(each) == SIG_IGN for each in (SIGINT, SIGHUP)])"
START = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {SHOW!r}], check=True)"
IGNORING = ["env", "--ignore-signal=INT,HUP", sys.executable, "-c"]  # as `nohup make test &` does


def ignored(program: str) -> str:
    command = [*IGNORING, program]
    return subprocess.run(command, cwd=TESTS, stdout=subprocess.PIPE, text=True, check=True).stdout


def test_a_program_of_the_tests_inherits_no_ignored_signal() -> None:
    assert ignored(f"import conftest; {START}") == "[False, False]\n"


def test_without_conftest_it_would() -> None:
    assert ignored(START) == "[True, True]\n"
