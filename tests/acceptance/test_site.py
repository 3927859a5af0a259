"""The documentation site builds without a dead link, and a dead link or a forgotten page fails the build."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytest.importorskip("material", reason="needs the dependency group docs")


def build(folder: Path, site: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", site],
        cwd=folder,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.long
def test_the_site_builds_and_its_links_to_files_lead_into_the_repository(tmp_path: Path) -> None:
    ran = build(ROOT, tmp_path)
    assert ran.returncode == 0, ran.stderr
    page = (tmp_path / "reliability" / "index.html").read_text()
    linked = re.findall(
        r'href="https://github\.com/[\w-]+/[\w-]+/(?:blob|tree)/main/([^"#]+)', page
    )
    assert linked
    assert [path for path in linked if not (ROOT / path).exists()] == []


WRONG = {
    "a dead link": "# Quickstart\n\n[gone](gone.md)\n",
    "a dead anchor": "# Quickstart\n\n[gone](guide.md#no-such-heading)\n",
    "a dead link to a file": "# Quickstart\n\n[gone](../src/gone.py)\n",
}


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A site of two pages with the settings of the real site."""
    (tmp_path / "scripts").mkdir()
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / "scripts" / "site_links.py", tmp_path / "scripts")
    settings = (ROOT / "mkdocs.yml").read_text().split("\nnav:\n")[0]
    (tmp_path / "mkdocs.yml").write_text(f"{settings}\nnav: [index.md, guide.md]\n")
    (tmp_path / "docs" / "guide.md").write_text("# Guide\n")
    return tmp_path


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG)
def test_a_link_that_leads_nowhere_fails_the_build(small: Path, text: str) -> None:
    (small / "docs" / "index.md").write_text(text)
    assert build(small, small / "site").returncode == 1


def test_a_page_outside_the_navigation_fails_the_build(small: Path) -> None:
    (small / "docs" / "index.md").write_text("# Fine\n")
    assert build(small, small / "site").returncode == 0
    (small / "docs" / "forgotten.md").write_text("# Forgotten\n")
    assert build(small, small / "site").returncode == 1
