"""True of every run of the tests: which tests are in it, and that programs obey signals which the shell ignores."""

import re
import subprocess
import sys
import tomllib
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


def test_every_test_is_in_make_test_or_in_make_test_all() -> None:
    settings = tomllib.loads((TESTS.parent / "pyproject.toml").read_text())["tool"]["pytest"]
    quick = settings["ini_options"]["addopts"][-1]
    assert re.findall("-m '(.+)'", (TESTS.parent / "Makefile").read_text()) == [
        quick.removeprefix("not (").removesuffix(")")
    ]
