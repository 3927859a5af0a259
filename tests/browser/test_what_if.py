"""The page of `lonnymq simulate --picture`, in a browser: light and dark, whole, and without a look elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import expect

from browser.conftest import Open
from lonnymq.simulate import (
    RecordedWorkload,
    ReplayTimes,
    Scenario,
    WorkloadShape,
    make_trials,
    make_workload,
    parse_setting,
    render_page,
    run_trials,
)

FETCHED = "performance.getEntriesByType('resource').length"
PAPER = "getComputedStyle(document.querySelector('.paper')).fill"
CUT_OFF = """
(() => {
  const sheet = document.querySelector("svg").getBoundingClientRect();
  return [...document.querySelectorAll("svg text, svg circle")].filter((each) => {
    const box = each.getBoundingClientRect();
    return box.left < sheet.left || box.right > sheet.right || box.top < sheet.top || box.bottom > sheet.bottom;
  }).map((each) => each.textContent);
})()
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    work = make_workload(WorkloadShape(messages=3_000, tenants=30, workers=4, load=1.3, noisy=0.5))
    changes = [
        [parse_setting("tenant-01.max_concurrency=1")],
        [parse_setting("*.min_interval_ms=50")],
    ]
    asked = make_trials(Scenario(4), workers=[4, 8], changes=changes, growth=[1, 1.5])
    found = run_trials(RecordedWorkload(work, ReplayTimes([], []), 0), asked)
    made = tmp_path_factory.mktemp("what if") / "page.html"
    made.write_text(
        render_page(list(zip(asked, found, strict=True)), about="made up"), encoding="utf-8"
    )
    return made


@pytest.mark.parametrize(
    ("theme", "paper"), [("light", "rgb(255, 254, 251)"), ("dark", "rgb(26, 29, 32)")]
)
async def test_the_page_is_whole_in_both_themes_and_fetches_nothing(
    window: Open, file: Path, theme: str, paper: str
) -> None:
    shown = await window(file.as_uri(), theme=theme)
    await expect(shown.get_by_role("heading", name="What if")).to_be_visible()
    await expect(
        shown.locator("svg").get_by_text("8 workers, 1.5 times the messages")
    ).to_have_count(2)
    await expect(shown.get_by_role("cell", name="tenant-01", exact=True)).to_be_visible()
    assert await shown.evaluate(PAPER) == paper
    assert await shown.evaluate(CUT_OFF) == []
    assert await shown.evaluate(FETCHED) == 0
