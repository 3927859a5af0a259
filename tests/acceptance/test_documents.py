"""What the pages show is so: every block of theirs is run, and what it is said to give is what it gives.

How a page is run is told in tests/documents.py.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from documents import ROOT, blocks_of

FOLDERS = ("docs", "docs/guides", "docs/coming-from")
PAGES = [
    ROOT / "README.md",
    *(page for each in FOLDERS for page in sorted((ROOT / each).glob("*.md"))),
]
LONG = {
    "run-on-spark.md",
    "keep-history-in-a-lake.md",
    "what-happened-last-week.md",
    "testing.md",
    "what-if.md",
}
LANGUAGES = {"python", "sql", "sh", "console", "text", "ini", "toml"}
LINK = re.compile(r"\]\((?!https?:)([^)#]+)(#[^)]+)?\)")
OWN_LINK = re.compile(
    r"https://github\.com/lonnymq/lonnymq-python/(blob|tree|raw)/main/([^\s)#>]+)"  # works on PyPI
)


def is_long(page: Path) -> bool:
    return page.name in LONG or page.parent.name == "coming-from"


def run(page: Path, dsn: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, ROOT / "tests" / "documents.py", page],
        env={**os.environ, "LONNYMQ_PAGE_DSN": dsn, "XDG_DATA_HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=840,
    )


@pytest.mark.timeout(900)  # a page may start a Spark, on a machine that may be busy
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.name, marks=[pytest.mark.long] if is_long(page) else [])
        for page in PAGES
    ],
)
def test_every_block_of_a_page_runs_and_gives_what_it_says(
    page: Path, dsn_18: str, tmp_path: Path
) -> None:
    ran = run(page, dsn_18, tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_every_block_of_a_page_has_a_language(page: Path) -> None:
    blocks = list(blocks_of(page.read_text()))
    assert {block.language for block in blocks} <= LANGUAGES
    assert page.read_text().count("\n```") + page.read_text().startswith("```") == 2 * len(blocks)


def dead_links(page: Path) -> list[str]:
    """The links of a page to files of this repository that are not there."""
    text = page.read_text()
    dead = [path for path, _ in LINK.findall(text) if not (page.parent / path).exists()]
    for kind, path in OWN_LINK.findall(text):
        if not ((ROOT / path).is_dir() if kind == "tree" else (ROOT / path).is_file()):
            dead.append(path)
    return dead


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    assert dead_links(page) == []


def test_a_dead_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    own = "https://github.com/lonnymq/lonnymq-python"
    page.write_text(
        f"[a](gone.md) [b]({own}/blob/main/docs/gone.md) [c]({own}/tree/main/README.md)"
    )
    assert dead_links(page) == ["gone.md", "docs/gone.md", "README.md"]


def test_the_links_of_the_readme_lead_somewhere_on_pypi_too() -> None:
    text = (ROOT / "README.md").read_text()
    assert LINK.findall(text) == []
    assert OWN_LINK.findall(text)


def test_the_pages_hold_programs() -> None:
    shown = {page.name: {block.language for block in blocks_of(page.read_text())} for page in PAGES}
    assert {"python", "sh"} <= shown["README.md"]
    assert "python" in shown["start.md"]
    assert "sql" in shown["plain-sql.md"]
    assert "python" in shown["testing.md"]


WRONG = {
    "an exception": ("python", "1 / 0"),
    "an exception in what is awaited": ("python", "import asyncio\nawait asyncio.sleep('long')"),
    "another value": ("python", "1 + 1  # -> 3"),
    "another print": ("python", "print('a', 1)  # -> a 2"),
    "a print that is not reached": ("python", "if False:\n    print('a')  # -> a"),
    "a test that fails": (
        "python",
        "def test_it(lonnymq_queue):\n    assert lonnymq_queue.dequeue()",
    ),
    "an error in SQL": ("sql", "select 1 / 0;"),
    "another row": ("sql", "select 1, 2;\n-- -> 1 | 3"),
    "too few rows": ("sql", "select 1 where false;\n-- -> 1"),
    "too many rows": ("sql", "values (1), (2);\n-- -> 1"),
    "a statement without an end": ("sql", "select 1"),
    "a command that fails": ("sh", "python -c 'raise SystemExit(2)'"),
    "a target that is not there": ("sh", "make haste"),
    "an extra that is not there": ("sh", 'pip install "lonnymq[wings]"'),
    "a command of a console": ("console", "$ false"),
}


@pytest.mark.parametrize(("language", "text"), WRONG.values(), ids=WRONG)
def test_a_page_that_is_wrong_is_found_out(
    language: str, text: str, dsn_18: str, tmp_path: Path
) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Wrong\n\n```{language}\n{text}\n```\n")
    assert run(page, dsn_18, tmp_path).returncode == 1
    page.write_text(f"# Wrong\n\n<!-- not run: wrong -->\n```{language}\n{text}\n```\n")
    assert run(page, dsn_18, tmp_path).returncode == 0


RIGHT = r"""
```python
import lonnymq
server = lonnymq.embedded()
queue = lonnymq.AsyncQueue(server.dsn)
await queue.install()
await queue.create("acme", b"1")  # -> Created(id=...)
```

```sql
select content, kind
  from lonnymq.message;  -- what there is
-- -> \x31 |...
select answer, id, token from lonnymq.message_dequeue() \gset
select lonnymq.message_complete(:id, :'token');
-- -> completed
do $$
begin
  perform 1;
end
$$;
copy lonnymq.message (channel, content) from stdin;
acme	\\x32
\.
select count(*) from lonnymq.message;
-- -> 1
```

```python
print([each.content for each in await queue.peek("acme")])  # -> [b'2']
```
"""


def test_a_page_that_is_right_passes_and_its_blocks_share_what_they_made(
    dsn_18: str, tmp_path: Path
) -> None:
    page = tmp_path / "page.md"
    page.write_text(RIGHT)
    ran = run(page, dsn_18, tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
