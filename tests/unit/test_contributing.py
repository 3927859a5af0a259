"""The map in CONTRIBUTING.md names every package and module of the library."""

from __future__ import annotations

import re
from pathlib import Path

import lonnymq

SOURCE = Path(lonnymq.__file__).parent
CONTRIBUTING = SOURCE.parents[1] / "CONTRIBUTING.md"


def named(text: str) -> set[str]:
    """What stands in the first column of the table below "Map"."""
    section = text.partition("## Map\n")[2].partition("\n## ")[0]
    rows = (line.split("|")[1] for line in section.splitlines() if line.startswith("| `"))
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row)}


def test_the_map_names_every_package() -> None:
    present = {each.name for each in SOURCE.iterdir() if each.suffix == ".py" or each.is_dir()}
    assert named(CONTRIBUTING.read_text()) == present - {"__init__.py", "__pycache__"}


def test_a_package_that_is_missing_is_noticed() -> None:
    text = "## Map\n\n| package | contains |\n| --- | --- |\n| `sql`, `text.py` | both |\n\n## Next\n| `cli` | no |\n"
    assert named(text) == {"sql", "text.py"}
