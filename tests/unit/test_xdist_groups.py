"""Tests that share something costly share it: xdist sends a group to one process, and a second one is told."""

import subprocess
import sys
from pathlib import Path

from support import only_here

HERE = Path(__file__).parents[1]
HOLD = "import sys; from pathlib import Path; from support import only_here; only_here(Path(sys.argv[1]), 'spark')"


def hold_elsewhere(folder: Path) -> subprocess.CompletedProcess[str]:
    """Ask for it in another process, which ends at once."""
    command = [sys.executable, "-c", HOLD, str(folder)]
    return subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False)


def test_a_second_process_of_a_run_is_told_that_groups_have_no_effect(tmp_path: Path) -> None:
    only_here(tmp_path, "spark")
    only_here(tmp_path, "spark")  # the same process may ask again
    other = hold_elsewhere(tmp_path)
    assert other.returncode != 0
    assert "the groups of pytest-xdist have no effect" in other.stderr


def test_what_a_process_that_is_gone_had_can_be_had_again(tmp_path: Path) -> None:
    assert hold_elsewhere(tmp_path).returncode == 0
    only_here(tmp_path, "spark")
