"""What tenants wrote is shown as text: nothing runs, nothing breaks out, the policy is never broken.

Every window fails its test on a dialog, an error or a broken rule of the policy (conftest.py).
"""

import re
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.async_api import Page, expect

from browser.conftest import Open, Site
from browser.hostile import CHANNELS, IMAGE, SCRIPT
from support import first_quick

STATIC = Path(__file__).parents[2] / "src/lonnymq/dashboard/static"


async def is_only_text(page: Page) -> None:
    """No element came out of the data, and the window is no wider than it was."""
    made = page.locator("main :is(script, img, b, i:not(:empty))")
    assert await made.evaluate_all("all => all.map(one => one.outerHTML)") == []
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")


async def test_hostile_channel_names_are_text_in_the_list(show: Open):
    page = await show("hostile/channels?sort=name")
    table = page.get_by_role("table", name="Channels")
    for name in CHANNELS:
        await expect(
            table.locator("bdi", has_text=re.compile("^" + re.escape(name) + "$")).first
        ).to_be_visible()
    await is_only_text(page)


@pytest.mark.parametrize("number", first_quick(*range(len(CHANNELS))))
async def test_a_hostile_channel_has_its_own_page(show: Open, number: int):
    name = CHANNELS[number]
    page = await show("hostile/channels?sort=name")
    await (
        page.get_by_role("table")
        .locator("a", has_text=re.compile("^" + re.escape(name) + "$"))
        .click()
    )
    assert await page.locator("h1 bdi").text_content() == name
    await expect(
        page.get_by_role("table", name="Messages").get_by_role("row").nth(1)
    ).to_be_visible()
    await page.reload()
    await expect(
        page.get_by_role("table", name="Messages").get_by_role("row").nth(1)
    ).to_be_visible()
    await is_only_text(page)


@pytest.mark.parametrize("key", ["html", "bytes", "large", "dead"])
async def test_a_hostile_message_is_only_text(show: Open, site: Site, key: str):
    page = await show(f"hostile/message/{site.hostile[key]}")
    await expect(page.get_by_role("region", name="Content")).to_be_visible()
    await expect(page.get_by_role("heading", name=re.compile("Message"))).to_be_visible()
    if key == "html":
        await expect(page.get_by_role("region", name="Content")).to_contain_text(
            "<script>alert('content')</script>"
        )
        await expect(page.get_by_role("region", name="Headers")).to_contain_text("onerror=alert(1)")
        await expect(page.get_by_role("region", name="Error of attempt 1")).to_contain_text(
            "onerror=alert('error')"
        )
    if key == "bytes":
        await expect(page.get_by_role("region", name="Content")).to_contain_text("00 ff fe 3c")
    await is_only_text(page)


async def test_a_large_content_is_cut_and_can_be_had_whole(show: Open, site: Site):
    page = await show(f"hostile/message/{site.hostile['large']}")
    await expect(page.get_by_text(re.compile("88 KiB, first 16 KiB shown"))).to_be_visible()
    async with page.expect_download() as loading:
        await page.get_by_role("link", name="Download").click()
    loaded = await (await loading.value).path()
    assert loaded.read_bytes() == b"<i>" * 30_000


@pytest.mark.parametrize("place", ["overview", "dead", "workers", "schedules"])
@pytest.mark.parametrize("width", first_quick(1280, 390))
async def test_other_pages_show_hostile_texts_as_text(show: Open, place: str, width: int):
    page = await show(f"hostile/{place}", width=width)
    await expect(page.locator("main bdi").first).to_be_visible()
    await is_only_text(page)


async def test_times_that_no_calendar_has_are_shown_all_the_same(show: Open):
    page = await show("hostile/channel/times")
    rows = page.get_by_role("table", name="Messages").get_by_role("row")
    await expect(rows.filter(has_text="urgent")).to_have_count(1)
    await expect(rows.filter(has_text="in the far future")).to_have_count(1)
    await page.get_by_role("row", name=re.compile("urgent")).get_by_role("link").click()
    await expect(page.get_by_label("About the message")).to_contain_text("urgent (-5)")


async def test_a_search_for_something_hostile_is_only_a_search(show: Open):
    page = await show("hostile/channels")
    await page.get_by_label("Search by name").fill(SCRIPT)
    await expect(page.get_by_role("table").get_by_role("row")).to_have_count(2)
    await page.get_by_label("Search by name").fill(IMAGE + "nobody")
    await expect(page.get_by_text("No channel name contains")).to_contain_text(IMAGE)
    await is_only_text(page)


async def test_a_hostile_address_is_only_an_address(show: Open):
    page = await show(f"hostile/channel/{quote(SCRIPT + '?', safe='')}")
    await expect(page.get_by_role("alert").filter(has_text="Not found")).to_be_visible()
    await page.goto(page.url.split("#")[0] + "#/hostile/%E0%A4%A/%")
    await expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    await is_only_text(page)


async def test_the_policy_forbids_what_is_not_ours(site: Site, window: Open):
    """The check that no rule is broken can fail: a script and a style put in by hand are rejected and noticed."""
    page = await window(site.serving.url, watched=False)
    await page.evaluate(
        """() => new Promise((done) => {
          document.addEventListener("securitypolicyviolation", () => window.broken.length > 1 && done());
          const script = document.createElement("script");
          script.textContent = "window.ran = true";
          document.body.append(script);
          document.body.insertAdjacentHTML("beforeend", '<p style="color: red" onclick="alert(1)"></p>');
        })"""
    )
    assert await page.evaluate("window.ran") is None
    await page.evaluate("window.broken = []")


def test_our_scripts_never_make_elements_of_text():
    """All elements are made by Preact; nothing of ours hands markup or code to the browser."""
    forbidden = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|srcdoc"
    )
    ours = [path for path in STATIC.rglob("*.js") if path.parent.name not in ("vendor", "bundle")]
    assert len(ours) > 20
    assert [path.name for path in ours if forbidden.search(path.read_text())] == []
    assert not re.search(r"<script>|\son\w+=|style=", (STATIC / "index.html").read_text())


def test_nothing_is_fetched_from_elsewhere():
    """No address of another host is in what the browser loads, but for the names of XML."""
    found = [
        (path.name, address)
        for path in STATIC.rglob("*")
        if path.suffix in (".html", ".js", ".css", ".svg")
        for address in re.findall(r"(?:https?:)?//[a-z0-9.-]+\.[a-z]{2,}", path.read_text())
        if "www.w3.org" not in address
    ]
    assert found == []
