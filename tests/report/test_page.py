"""The page in a real browser: it needs no network, harms nobody, and can be read by everybody."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, BrowserContext, Page, ViewportSize, expect

from lonnymq.report.page import MAX_BYTES, render_page
from report.sample_document import HOSTILE, document, nothing

WATCH = """
window.broken = [];
document.addEventListener("securitypolicyviolation", (event) => window.broken.push(event.violatedDirective));
"""
WIDE, NARROW = ViewportSize(width=1400, height=900), ViewportSize(width=390, height=844)
COLOUR = "getComputedStyle(document.body).backgroundColor"
Open = Callable[..., Awaitable[Page]]


@pytest_asyncio.fixture(loop_scope="session")
async def opened(browser: Browser, tmp_path: Path) -> AsyncIterator[Open]:
    """Opens a document's page without any network; whatever goes wrong in it fails the test."""
    troubles: list[str] = []
    contexts: list[BrowserContext] = []

    async def open_one(content: dict[str, Any], *, theme: Any = "light", size: Any = WIDE) -> Page:
        path = tmp_path / f"report-{len(contexts)}.html"
        path.write_text(render_page(content), encoding="utf-8")
        context = await browser.new_context(
            offline=True, viewport=size, color_scheme=theme, reduced_motion="reduce"
        )
        contexts.append(context)
        window = await context.new_page()
        window.set_default_timeout(60_000)
        window.on("pageerror", lambda error: troubles.append(f"error: {error}"))
        window.on("console", lambda text: troubles.append(f"{text.type}: {text.text}"))
        window.on("dialog", lambda dialog: troubles.append(f"dialog: {dialog.message}"))
        window.on(
            "request",
            lambda asked: troubles.append(asked.url) if asked.url != path.as_uri() else None,
        )
        await window.add_init_script(WATCH)
        await window.goto(path.as_uri())
        await window.wait_for_selector("html[data-ready]")
        return window

    yield open_one
    for context in contexts:
        for window in context.pages:
            troubles += await window.evaluate("window.broken")
        await context.close()
    assert troubles == []


async def grave(window: Page) -> list[str]:
    """What axe finds that is serious or critical."""
    found = await Axe().run(window, options={"resultTypes": ["violations"]})
    return [
        f"{each['id']}: {[node['target'] for node in each['nodes']][:3]}"
        for each in found.response["violations"]
        if each["impact"] in ("serious", "critical")
    ]


async def test_a_report_opens_without_network_and_axe_finds_nothing_serious(opened: Open):
    window = await opened(document(), theme="dark")
    await expect(window.locator("h1")).to_contain_text("Queue report")
    await expect(window.locator(".highlight")).to_have_count(3)
    assert await window.locator(".picture svg").count() >= 12
    assert await grave(window) == []
    dark = await window.evaluate(COLOUR)
    await window.get_by_label("Light", exact=True).check()
    assert await window.evaluate(COLOUR) != dark
    await window.set_viewport_size(NARROW)
    assert await grave(window) == []
    assert await window.evaluate("document.documentElement.scrollWidth") == 390


async def test_every_picture_has_a_table_and_every_name_is_text(opened: Open):
    window = await opened(document())
    for place in await window.locator(".picture").all():
        beside = place.locator("xpath=ancestor::*[self::section or self::figure][1]")
        await expect(
            beside.locator("table").or_(beside.locator("details.as-table")).first
        ).to_be_attached()
    first = window.locator("#backlog details.as-table")
    await first.locator("summary").click()
    await expect(first.locator("tbody tr")).to_have_count(72)
    assert await window.locator("#app script, #app img").count() == 0
    shown = await window.locator("#tenants tbody th").all_inner_texts()
    await window.locator("#search").fill("script>alert")
    await expect(window.locator("#tenants tbody tr")).to_have_count(1)
    assert await window.locator("#tenants tbody th").all_inner_texts() == [HOSTILE[0]]
    assert len(shown) == 25


async def test_a_tenant_is_found_and_shown_in_full(opened: Open):
    window = await opened(document())
    await window.get_by_label("Find a tenant").fill("TENANT-00002")
    await window.locator("#tenants").get_by_role("button", name="tenant-00002").click()
    await expect(window.locator("#tenant h2")).to_have_text("tenant-00002")
    await expect(window.locator("#tenant h2")).to_be_focused()
    await expect(window.locator("#tenant .picture svg")).to_have_count(4)
    await window.get_by_label("Find a tenant").fill("tenant-00033")
    await window.locator("#tenants").get_by_role("button", name="tenant-00033").click()
    await expect(window.locator("#tenant")).to_contain_text("of 40 tenants, 30 are shown in full")


@pytest.mark.long
async def test_ten_thousand_tenants_are_readable_and_small_enough(opened: Open):
    content = document(tenants=10_000, hours=31 * 24, detailed=120)
    assert len(render_page(content).encode()) < MAX_BYTES
    window = await opened(content)
    await expect(window.locator("#tenants .pager")).to_contain_text("1 to 25 of 10,000")
    await window.locator("#tenants").get_by_role("button", name="Next").click()
    await expect(window.locator("#tenants .pager")).to_contain_text("26 to 50 of 10,000")
    await window.locator("#tenants").get_by_role("button", name="p99").click()
    assert await window.locator("#tenants [aria-sort=descending]").inner_text() == "p99"
    assert await window.locator("#waits-by-tenant svg").count() == 1


@pytest.mark.long
async def test_on_paper_it_is_light_and_without_buttons(opened: Open):
    window = await opened(document(), theme="dark")
    paper = await window.pdf(prefer_css_page_size=True, print_background=True)
    assert paper.startswith(b"%PDF")
    assert paper.count(b"/Type /Page\n") > 3
    await window.emulate_media(media="print", color_scheme="dark")
    assert await window.evaluate(COLOUR) == "rgb(255, 255, 255)"
    await expect(window.locator(".side")).to_be_hidden()
    await expect(window.locator("#search")).to_be_hidden()


async def test_a_period_without_anything_says_so(opened: Open):
    window = await opened(nothing())
    await expect(window.locator("main")).to_contain_text("No attempts in this period")
    assert await window.locator(".picture").count() == 0
    assert await grave(window) == []


@pytest.mark.long
async def test_one_tenant_and_no_backlog_are_said_in_words(opened: Open):
    content = document(tenants=1, hours=1, detailed=1, hostile=False)
    content["backlog"] = {**content["backlog"], "waiting_after": [0], "top": []}
    window = await opened(content, size=NARROW)
    await expect(window.locator("#backlog")).to_contain_text("There was no backlog at the end")
    await expect(window.locator("#waits-by-tenant")).to_contain_text("There is a single tenant.")
    await expect(window.locator("#tenants .said")).to_have_text("1 tenant.")
    assert await window.locator("#backlog .picture").count() == 0
