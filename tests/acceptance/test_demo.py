"""The tour that `make demo` gives, run as a process of its own."""

import os
import re
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from support import eventually

ROOT = Path(__file__).parents[2]
PROMISES = [
    r"acme: 4 at once allowed, at most [1-4] were",
    r"cedar: 50 ms between leases, at least \d+ were",
    r"leased before their time: 0",
    r"created ([\d,]+), completed \1, lost 0",
    r"completed twice: 0",
    r"left in the queue: 0",
    r"faults that queue_check finds: 0",
]
pytestmark = pytest.mark.xdist_group("demo")  # the tour is given once


def run(program: Path, temporary: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", program],
        env={**os.environ, "TMPDIR": str(temporary), "LONNYMQ_DSN": "postgresql://nowhere.invalid"},
        capture_output=True,
        text=True,
        timeout=120,
    )


def lines_after(word: str, output: str) -> list[str]:
    """The letters of each strip that begins with this word."""
    return re.findall(rf"^  {word}\s+([A-E](?: [A-E])+)$", output, re.MULTILINE)


@pytest.fixture(scope="module")
def temporary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def demo(temporary: Path) -> subprocess.CompletedProcess[str]:
    return run(ROOT / "examples" / "demo.py", temporary)


def test_the_demo_ends_well_and_complains_of_nothing(demo) -> None:
    assert (demo.returncode, demo.stderr) == (0, "")


@pytest.mark.parametrize("promise", PROMISES)
def test_the_demo_finds_that_each_promise_was_kept(demo, promise: str) -> None:
    assert re.search(rf"^  kept    {promise}$", demo.stdout, re.MULTILINE), demo.stdout


def test_the_demo_shows_turns_where_arrival_shows_one_tenant(demo) -> None:
    [arrived], [served] = lines_after("arrived", demo.stdout), lines_after("served", demo.stdout)
    assert set(arrived.split()) == {"A"}
    turns = served.split()[:30]
    assert [turns[at : at + 5] for at in range(0, 30, 5)] == [turns[:5]] * 6
    assert sorted(turns[:5]) == list("ABCDE")


def test_the_demo_shows_what_limits_let_through(demo) -> None:
    [leased] = lines_after("leased", demo.stdout)
    assert leased.count("A") == 4
    assert "B B B" in leased
    assert "delta   creates 12: 8 created, 4 refused" in demo.stdout
    assert "ChannelFull: channel 'delta' is full: 8 of 8" in demo.stdout


def test_the_demo_explains_why_a_message_waits(demo) -> None:
    assert "(saturated) Its channel is at its limit: 4 of 4 are running." in demo.stdout
    assert re.search(r"delay_ms=2000: It is scheduled for .* UTC\.", demo.stdout)


def test_the_demo_fails_a_message_until_it_is_dead_and_redrives_it(demo) -> None:
    fates = re.findall(r"^  attempt (\d).*?: (\w+)", demo.stdout, re.MULTILINE)
    assert fates == [
        ("1", "deferred"),
        ("1", "retrying"),
        ("2", "retrying"),
        ("3", "dead"),
        ("1", "completed"),
    ]


def test_the_demo_leaves_neither_folders_nor_processes(demo, temporary: Path) -> None:
    def processes() -> list[int]:
        lines = [(each.pid, each.info["cmdline"]) for each in psutil.process_iter(["cmdline"])]
        return [pid for pid, line in lines if str(temporary) in " ".join(line or [])]

    assert list(temporary.iterdir()) == []
    eventually(lambda: not processes())


BROKEN = """
import sys
sys.path.insert(0, {examples!r})
import demo
demo.CHAPTERS.append(lambda tour: demo.LIMITS["acme"].update(max_concurrency=3))
demo.CHAPTERS.append(lambda tour: tour.created.add(-1))
sys.exit(demo.main())
"""


def test_the_demo_ends_badly_when_a_limit_was_exceeded_and_a_message_is_lost(tmp_path) -> None:
    program = tmp_path / "broken.py"
    program.write_text(BROKEN.format(examples=str(ROOT / "examples")))
    ran = run(program, tmp_path)
    assert (ran.returncode, ran.stderr) == (1, "")
    broken = re.findall(r"^  BROKEN  (.*)$", ran.stdout, re.MULTILINE)
    assert broken[0] == "acme: 3 at once allowed, at most 4 were"
    assert re.fullmatch(r"created [\d,]+, completed [\d,]+, lost 1", broken[1])
    assert len(broken) == 2
