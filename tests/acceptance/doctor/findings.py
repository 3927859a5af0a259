"""What the doctor finds, and the fixes that it names, which are run as they are."""

import subprocess

from commands import run as command
from lonnymq.doctor import Problem, run_checks
from lonnymq.embedded_postgres.cluster import embedded_binaries
from lonnymq.testing import run as execute

IGNORED = {"maintenance"}  # nobody has swept a fresh install


def find_problems(dsn: str, **options) -> list[Problem]:
    return [each for each in run_checks(dsn, **options).problems if each.check not in IGNORED]


def found(dsn: str, check: str, **options) -> Problem:
    """The first problem of a check, which must be there."""
    report = run_checks(dsn, **options)
    [first, *_] = [each for each in report.problems if each.check == check]
    assert first.message.endswith(".")
    assert report.healthy == all(each.level == "note" for each in report.problems)
    return first


def apply_fix(dsn: str, problem: Problem) -> None:
    """Run the fix, in psql or in a shell."""
    assert problem.fix is not None
    if problem.fix.startswith("lonnymq "):
        words = problem.fix.removeprefix("lonnymq ").split()
        assert command(*words, *(["--yes"] if "--repair" in words else []), dsn=dsn).code in (0, 1)
        return
    psql = [str(embedded_binaries() / "psql"), "-qX", "-v", "ON_ERROR_STOP=1", dsn]
    subprocess.run(psql, input=problem.fix, text=True, check=True, capture_output=True, cwd="/")


def is_fixed(dsn: str, check: str, **options) -> bool:
    return check not in {each.check for each in run_checks(dsn, **options).problems}


def change(dsn: str, statement: str) -> None:
    execute(dsn, statement)
    execute(dsn, "select pg_reload_conf()")
